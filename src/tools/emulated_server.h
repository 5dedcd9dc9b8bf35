// The emulated workers of one server on a UDP socket: the rim around worker::EmulatedWorkers. Their service times come
// from the requests of the application synthetic and pass without burning a core.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/control_block.h"
#include "base/drop_reasons.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"

namespace rain::tools {

struct EmulatedServerOptions {
  Endpoint listen{};
  Endpoint switch_address{};
  WorkerId first_id{};
  unsigned count = 1;
  unsigned quota = 4;                       ///< 0: unbounded
  std::vector<std::uint32_t> token_keys{};  ///< of each; none: all 0
  Nanos sync_interval = milliseconds(100);
  bool busy_poll = false;
  Nanos longest_service = seconds(1);            ///< longer tasks are refused
  const agent::ControlBlock* control = nullptr;  ///< of an agent that adapts them; outlives the server
  std::function<void(const std::string&)>
      on_note{};  ///< as WorkerOptions::on_note, for the first worker concerned
};

class EmulatedServer {
 public:
  /// Throws InputError when the address cannot be bound.
  explicit EmulatedServer(const EmulatedServerOptions& options);
  EmulatedServer(const EmulatedServer&) = delete;
  EmulatedServer& operator=(const EmulatedServer&) = delete;
  ~EmulatedServer();

  /// Serves until stop(), then what is held.
  void run();
  /// From any thread.
  void stop() { stopping_.store(true, std::memory_order_relaxed); }

  // After run().
  std::uint64_t served() const;
  std::array<std::uint64_t, kDropReasonCount> drops() const;  ///< by DropReason, refused sends included
  std::uint64_t cut_packets() const;

 private:
  struct Agents;
  EmulatedServerOptions options_;
  std::unique_ptr<Agents> agents_;
  std::atomic<bool> stopping_{false};
};

}  // namespace rain::tools
