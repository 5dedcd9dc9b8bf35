// What `rain ctl status` prints: tables for people, one JSON object for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "control/rpc/admin_client.h"

namespace rain::tools {

std::string status_text(const control::RackStatus& status);
nlohmann::ordered_json status_json(const control::RackStatus& status);

}  // namespace rain::tools
