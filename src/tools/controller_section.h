// [controller] of a rack file: where the controller is and how it is spoken to. The controller, the switch, the servers,
// clients and `rain ctl` read the same lines, each on its machine.
#pragma once

#include <string>

#include "base/time.h"
#include "control/rpc/security.h"
#include "tools/toml_reader.h"

namespace rain::tools {

struct ControllerSection {
  control::ControllerAddress address{Endpoint::v4(127, 0, 0, 1, 9700), {}};
  std::string state_file{};  ///< "": nothing is kept
  Nanos lease = seconds(3);  ///< a server or client that is silent for longer is taken out
  std::uint32_t line = 0;

  /// Throws InputError. `folder`: of the rack file; relative paths start there.
  static ControllerSection read(TomlReader& reader, const std::string& folder);
};

}  // namespace rain::tools
