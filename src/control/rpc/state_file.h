// The controller's memory on disk: JSON that people can read, replaced whole or not at all.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "control/controller.h"

namespace rain::control {

/// What the file holds; nothing when there is none. The error is one line: file and what is wrong with it.
tl::expected<std::optional<SavedState>, std::string> read_state_file(const std::string& path);

/// Writes a new file beside it, has it on disk, then gives it the name. "" or one line; the old file is whole either way.
/// It holds token keys: only its owner can read it.
std::string write_state_file(const std::string& path, const SavedState& state);

/// Whether that could be done now: "" or one line. Folders are not made: a path that was misspelt would make a controller
/// that knows nothing.
std::string state_file_problem(const std::string& path);

}  // namespace rain::control
