// A switch's link to the controller: attaches, applies the tables it is sent, and attaches again for as long as it lives.
// While the controller is away the switch goes on with what it has.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "base/ids.h"
#include "control/rpc/security.h"
#include "softswitch/table_change.h"

namespace rain::control {

struct SwitchLinkOptions {
  ControllerAddress controller{};
  std::string name{};  ///< as operators know the switch: its address
  BootId boot_id{};
};

struct SwitchLinkHooks {
  /// Makes all of these changes or none: "" or one line why not. On the link's thread.
  std::function<std::string(std::span<const softswitch::TableChange>)> apply{};
  /// One line when the controller was reached, lost, or cannot be reached, each once. On the link's thread.
  std::function<void(const std::string&)> note{};
};

class SwitchLink {
 public:
  /// Begins; does not wait for the controller. The error is one line: security_problem(), a build without links.
  static tl::expected<std::unique_ptr<SwitchLink>, std::string> open(const SwitchLinkOptions& options,
                                                                     SwitchLinkHooks hooks);
  virtual ~SwitchLink() = default;  ///< after it no hook is called
};

}  // namespace rain::control
