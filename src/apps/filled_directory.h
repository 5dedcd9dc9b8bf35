// A directory that is filled once and only read ever after, by any number of processes in any order, also when the
// one that fills it is killed half-way.
//
//   DIRECTORY/lock      held by whoever fills
//   DIRECTORY/data/     what is filled
//   DIRECTORY/complete  the marker, written and synced last: without it `data` is worth nothing
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <tl/expected.hpp>

namespace rain::apps {

/// Fills `data` (which does not exist yet). Error: one line for people.
using Fill = std::function<tl::expected<void, std::string>(const std::filesystem::path& data)>;

/// Makes sure that DIRECTORY/data is completely filled and returns its path. Takes no lock and writes nothing if it is.
/// Else creates what is missing, removes the remains of an interrupted fill, fills, and marks. If another process is
/// just filling it, calls `waiting` once and waits for its end. Errors name path and cause; the directory is left
/// unmarked.
tl::expected<std::filesystem::path, std::string> ensure_filled(const std::filesystem::path& directory,
                                                               const Fill& fill,
                                                               const std::function<void()>& waiting);

}  // namespace rain::apps
