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

#include "apps/app.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"
#include "softswitch/switch_options.h"
#include "tools/agent_section.h"
#include "tools/controller_section.h"
#include "tools/load_section.h"

namespace rain::tools {

/// The schedulers that run on sockets.
std::vector<std::string_view> scheduler_names();
/// Throws InputError when `name`, given as a flag, is none of them.
void check_scheduler(std::string_view name);

/// [[server]]: one process, one worker thread per worker, or one thread for all when they are emulated.
struct ServerSection {
  std::string name;
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< of the first worker; the others follow. Emulated workers share this one
  std::uint16_t workers = 1;
  WorkerId first_id{};
  SliceId slice{};
  bool master = false;  ///< its one worker takes the STICKY requests of its slice
  unsigned quota = 4;   ///< for schedulers with tokens; the others push to workers without a bound
  std::uint32_t token_key = 0;
  std::string app = "echo";
  bool emulate = false;
  bool busy_poll = false;
  Nanos sync_interval = milliseconds(100);
  std::uint8_t weight = 1;  ///< scheduler pallas: slots in a round
  apps::AppOptions app_options{};
  /// Where the file has the keys that another section may contradict; the section's line where one is left out.
  struct Lines {
    std::uint32_t name = 0, first_id = 0, port = 0, master = 0;
  };
  Lines lines{};

  unsigned ports() const { return emulate ? 1 : workers; }
  Endpoint endpoint(unsigned worker) const;  ///< where this worker listens
};

struct RackFile {
  std::string path;
  softswitch::SwitchOptions in_switch;  ///< [switch] and [[slice]], with the workers of all servers
  std::vector<ServerSection> servers;
  std::optional<LoadSection> load;
  std::optional<AgentSection> agent;            ///< absent: quotas stay as the file says
  std::optional<ControllerSection> controller;  ///< absent: the rack is as the file says, for good

  /// Reads, checks and completes. Throws InputError with one line that says what is wrong, where, and what is
  /// allowed.
  static RackFile read(const std::string& path);

  /// Another scheduler than the file's. Throws InputError when `name`, given as a flag, is none.
  void set_scheduler(std::string_view name);

  unsigned worker_count() const;
  /// Workers that can run at the same time when all servers share `cores` processors; emulated ones need none.
  unsigned workers_at_once(unsigned cores) const;
  /// The quota that the workers of `server` run with under this rack's scheduler; 0: unbounded.
  unsigned effective_quota(const ServerSection& server) const;
  /// Throws InputError when there is none of that name.
  const ServerSection& server_named(std::string_view name) const;
  /// The one that `--server name` means; without a name the only one. Throws InputError.
  const ServerSection& chosen_server(const std::string& name) const;

 private:
  void list_workers();
  void add_master_slice(const ServerSection& server);
  void make_room();  ///< for what a controller may add
  // What concerns several sections at once.
  void check_slices() const;
  void check_servers() const;
  void check_load() const;
  [[noreturn]] void refuse(std::uint32_t line, const std::string& problem) const;

  std::vector<std::uint32_t> slice_lines_;
  std::uint32_t load_line_ = 0;
};

}  // namespace rain::tools
