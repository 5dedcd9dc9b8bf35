// A rack in one TOML file: switch, slices, servers and, optionally, a load.
//
// Every command that needs to know a rack reads this file, so that ids, ports, slices and keys are said once.
// What can be left out has a default: `[[server]]` alone is a rack of one switch and one echo worker.
// docs/operations.md lists every key; a test holds that list to this reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"
#include "dataplane/tables.h"
#include "tools/load_section.h"

namespace rain::tools {

inline constexpr unsigned kMaxGroups = 16;  ///< switch threads

/// The schedulers that run on sockets.
std::vector<std::string_view> scheduler_names();
/// Throws InputError when `name`, given as a flag, is none of them.
void check_scheduler(std::string_view name);

/// [switch]
struct SwitchSection {
  Endpoint listen = Endpoint::v4(127, 0, 0, 1, 9000);
  std::string scheduler = "rain";
  bool busy_poll = false;                        ///< the switch's threads spin instead of sleeping
  std::uint32_t hold_slots = 16384;              ///< large payloads that may wait at once, per thread
  std::uint64_t receive_buffer_bytes = 4 << 20;  ///< SO_RCVBUF of each socket; the kernel may grant less
  std::uint64_t seed = 1;                        ///< of the random scheduler
};

/// [[slice]]
struct SliceSection {
  std::string name = "default";
  std::vector<TaskType> types;  ///< empty: every type that no other slice names
  std::uint32_t queue_capacity = dataplane::kDefaultQueueCapacity;
  std::optional<std::uint32_t> spill;  ///< unset: a quarter of the slice's workers
  std::uint16_t drain = 4;
  unsigned group = 0;  ///< which switch thread serves the slice
  std::uint32_t line = 0;
};

/// [server.rocksdb]
struct RocksDbSection {
  std::string path;  ///< empty: rain-rocksdb-NAME in the system's temporary folder
  std::uint64_t keys = 1'000'000;
  std::uint32_t value_bytes = 64;
};

/// [[server]]: one process, one worker thread per worker, or one thread for all when they are emulated.
struct ServerSection {
  std::string name;
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< of the first worker; the others follow. Emulated workers share this one
  std::uint16_t workers = 1;
  WorkerId first_id{};
  SliceId slice{};
  unsigned quota = 4;  ///< for schedulers with tokens; the others push to workers without a bound
  std::uint32_t token_key = 0;
  std::string app = "echo";
  bool emulate = false;
  bool busy_poll = false;
  Nanos sync_interval = milliseconds(100);
  RocksDbSection rocksdb{};
  std::uint32_t line = 0;

  unsigned ports() const { return emulate ? 1 : workers; }
  Endpoint endpoint(unsigned worker) const;  ///< where this worker listens
};

struct RackFile {
  std::string path;
  SwitchSection in_switch;
  std::vector<SliceSection> slices;
  std::vector<ServerSection> servers;
  std::optional<LoadSection> load;
  std::uint32_t load_line = 0;

  /// Reads, checks and completes. Throws InputError with one line that says what is wrong, where, and what is
  /// allowed.
  static RackFile read(const std::string& path);

  unsigned worker_count() const;
  unsigned workers_of(SliceId slice) const;
  std::uint32_t spill_of(SliceId slice) const;  ///< with the default applied
  unsigned group_count() const;
  /// The quota that the workers of `server` run with under this rack's scheduler; 0: unbounded.
  unsigned effective_quota(const ServerSection& server) const;
  /// Throws InputError when there is none of that name.
  const ServerSection& server_named(std::string_view name) const;

 private:
  // What concerns several sections at once.
  void check_slices() const;
  void check_groups() const;
  void check_servers() const;
  void check_load() const;
  [[noreturn]] void refuse(std::uint32_t line, const std::string& problem) const;
};

}  // namespace rain::tools
