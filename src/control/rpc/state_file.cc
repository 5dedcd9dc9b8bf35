#include "control/rpc/state_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "control/rpc/messages.h"

namespace rain::control {
namespace {

constexpr std::size_t kLargestFileBytes = std::size_t{64} << 20;

std::string failed(const std::string& path, const char* what) {
  return fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno));
}

class File {
 public:
  File(const std::string& path, int flags, mode_t mode = 0)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool is_open() const { return fd_ >= 0; }
  bool write(const std::string& text) const {
    std::size_t at = 0;
    while (at < text.size()) {
      const ssize_t written = ::write(fd_, text.data() + at, text.size() - at);
      if (written < 0 && errno != EINTR) return false;
      if (written > 0) at += static_cast<std::size_t>(written);
    }
    return true;
  }
  bool sync() const { return ::fsync(fd_) == 0; }

 private:
  int fd_;
};

}  // namespace

tl::expected<std::optional<SavedState>, std::string> read_state_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    if (error && error != std::errc::no_such_file_or_directory)
      return tl::unexpected(fmt::format("{}: cannot be read: {}", path, error.message()));
    return std::nullopt;
  }
  std::string text(kLargestFileBytes + 1, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open() || stream.bad()) return tl::unexpected(path + ": cannot be read as a file");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kLargestFileBytes)
    return tl::unexpected(fmt::format("{}: larger than {} bytes", path, kLargestFileBytes));
  v1::State message;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // of newer controllers of the same format
  if (const auto parsed = google::protobuf::util::JsonStringToMessage(text, &message, options); !parsed.ok())
    return tl::unexpected(path + ": is not a controller's state: it is no JSON of that shape");
  auto state = from_message(message);
  if (!state) return tl::unexpected(path + ": is not a controller's state: " + state.error().text);
  return std::optional<SavedState>(std::move(*state));
}

std::string write_state_file(const std::string& path, const SavedState& state) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string text;
  if (const auto printed = google::protobuf::util::MessageToJsonString(to_message(state), &text, options);
      !printed.ok())
    return path + ": cannot be written: the state is no JSON";
  const std::string beside = path + ".new";
  {
    const File file(beside, O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
    if (!file.is_open()) return failed(beside, "be made");
    if (!file.write(text)) return failed(beside, "be written");
    if (!file.sync()) return failed(beside, "be brought to disk");
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) return failed(path, "be replaced");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const File directory(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
  if (!directory.is_open() || !directory.sync()) return failed(path, "be brought to disk");
  return {};
}

}  // namespace rain::control
