// A load's share of the rack: told by the controller while the load runs, divided evenly among its connections.
//
// Until the controller has spoken the share is what the load was configured with; when it falls silent the last one
// stays. A load that finds no controller is a load all the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "control/rpc/client_link.h"

namespace rain::tools {

/// Where the share comes from, and who asks for it.
struct LoadController {
  control::ControllerAddress address{};
  std::string client{};  ///< name at the controller; "": made of host and process
  unsigned weight = 1;
};

class LoadShare {
 public:
  /// One connection's side, which other threads look at.
  struct Connection {
    std::atomic<std::uint32_t> outstanding{0};     ///< requests
    std::atomic<std::uint32_t> waiting{0};         ///< requests that the share keeps waiting
    std::atomic<std::uint64_t> refused{0};         ///< requests that the share has refused
    std::atomic<std::uint32_t> share{kUnlimited};  ///< what it may have open
  };
  static constexpr std::uint32_t kUnlimited = UINT32_MAX;

  /// `configured`: until the controller speaks; over all connections.
  LoadShare(std::size_t connections, std::optional<std::uint32_t> configured);
  LoadShare(const LoadShare&) = delete;
  LoadShare& operator=(const LoadShare&) = delete;

  /// Attaches, and waits a moment for the first word. "" or one line: the address cannot be used.
  std::string attach(const LoadController& controller);
  /// Gives the share back.
  void detach() { link_.reset(); }

  Connection& connection(std::size_t index) { return connections_[index]; }
  /// Over all connections; nullopt: unlimited.
  std::optional<std::uint32_t> total() const;
  bool told_by_controller() const { return told_.load(std::memory_order_relaxed); }

 private:
  void set(std::uint32_t share);
  control::ClientUsage usage();

  std::vector<Connection> connections_;
  std::atomic<std::uint32_t> total_;
  std::atomic<bool> told_{false};
  std::uint64_t refused_ = 0;                  // when it was counted last; of the link's thread
  std::unique_ptr<control::ClientLink> link_;  // last: its thread uses all else
};

}  // namespace rain::tools
