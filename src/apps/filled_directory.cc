#include "apps/filled_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/descriptor.h"

namespace rain::apps {
namespace {

namespace fs = std::filesystem;
using Done = tl::expected<void, std::string>;

tl::unexpected<std::string> failure(std::string_view what, const fs::path& path, int error) {
  return tl::unexpected(
      fmt::format("cannot {} {}: {}", what, path.string(), std::generic_category().message(error)));
}

Descriptor open_file(const fs::path& path, int flags) {
  return Descriptor(::open(path.c_str(), flags | O_CLOEXEC, 0644));
}

Done sync(const fs::path& path, int flags) {
  const Descriptor file = open_file(path, flags);
  if (!file.valid()) return failure("open", path, errno);
  if (::fsync(file.get()) != 0) return failure("write", path, errno);
  return {};
}

// The marker is empty: its being there is what counts. File and directory are synced, so that after a power failure it
// is there only if the data are.
Done write_marker(const fs::path& directory) {
  if (auto good = sync(directory / "complete", O_WRONLY | O_CREAT); !good) return good;
  return sync(directory, O_RDONLY | O_DIRECTORY);
}

Done take_lock(const Descriptor& lock, const fs::path& path, const std::function<void()>& waiting) {
  if (!lock.valid()) return failure("open", path, errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK) {
    waiting();
    int locked = 0;
    do {
      locked = ::flock(lock.get(), LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    if (locked == 0) return {};
  }
  return failure("lock", path, errno);
}

bool is_complete(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / "complete", error);
}

}  // namespace

tl::expected<fs::path, std::string> ensure_filled(const fs::path& directory, const Fill& fill,
                                                  const std::function<void()>& waiting) {
  const fs::path data = directory / "data";
  if (is_complete(directory)) return data;

  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return failure("create", directory, error.value());
  const fs::path lock_path = directory / "lock";
  const Descriptor lock = open_file(lock_path, O_RDWR | O_CREAT);
  if (auto good = take_lock(lock, lock_path, waiting); !good) return tl::unexpected(good.error());
  if (is_complete(directory)) return data;

  fs::remove_all(data, error);
  if (error) return failure("remove the remains of an interrupted fill in", data, error.value());
  if (auto good = fill(data); !good) return tl::unexpected(good.error());
  if (auto good = write_marker(directory); !good) return tl::unexpected(good.error());
  return data;
}

}  // namespace rain::apps
