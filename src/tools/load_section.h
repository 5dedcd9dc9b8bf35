// What a load is: [load] of a rack file, or the same keys as flags of `rain load`. One reader for both, so
// that both know the same keys, ranges and messages; flags are read over what the file says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "tools/toml_reader.h"
#include "tools/units.h"
#include "workload/workload.h"

namespace rain::tools {

/// What the generator does with a request for which its client has no room.
enum class LoadAdmission : std::uint8_t {
  kOff,   ///< neither share nor back-off: only the bound of open requests counts. It measures the rack.
  kFail,  ///< it ends at once. This and the next measure the rack with clients that heed admission.
  kWait,  ///< it waits for room, up to its timeout
};
std::string_view load_admission_name(LoadAdmission admission);

/// [load]
struct LoadSection {
  std::string app = "echo";
  Rate rate{.per_second = 1000, .capacity_share = 0};
  Nanos duration = seconds(10);  ///< measured, after the warm-up
  Nanos warmup = seconds(1);
  Nanos timeout = seconds(1);
  std::uint64_t seed = 1;
  unsigned connections = 2;
  double sticky = 0;  ///< part of the requests that are marked STICKY, 0..1
  workload::Arrival arrivals = workload::Arrival::kPoisson;
  bool busy_poll = false;
  LoadAdmission admission = LoadAdmission::kOff;
  std::optional<std::uint32_t>
      share{};                   ///< requests open at once, over all connections; at least one for each
  bool admission_named = false;  ///< else a rack's controller makes it kWait
  std::string client{};          ///< name at the rack's controller; "": made of host and process
  unsigned weight = 1;           ///< there
  /// What their demands are of depends on the application: synthetic: time that the task runs; rocksdb: keys
  /// touched; echo: bytes of payload. Complete after complete(): at least one, each with its type.
  std::vector<workload::ClassSpec> classes{};

  /// Reads the keys that are present over what this holds, and completes. Throws InputError.
  void read(TomlReader& reader);
  /// Mean service time of a request when the classes say it (synthetic); else nullopt.
  std::optional<double> mean_service_ns() const;
  /// The load at `rate` requests a second. The section must have been completed.
  workload::WorkloadSpec spec(double rate_per_second) const;

 private:
  void read_admission(TomlReader& reader);
  void read_classes(TomlReader& reader);
};

}  // namespace rain::tools
