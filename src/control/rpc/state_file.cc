#include "control/rpc/state_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/descriptor.h"
#include "control/rpc/messages.h"

namespace rain::control {
namespace {

constexpr std::size_t kLargestFileBytes = std::size_t{64} << 20;

std::string failed(const std::string& path, const char* what) {
  return fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno));
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool write_all(const Descriptor& file, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t written = ::write(file.get(), text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) at += static_cast<std::size_t>(written);
  }
  return true;
}

bool sync(const Descriptor& file) { return ::fsync(file.get()) == 0; }

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
    const Descriptor file(
        ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.valid()) return failed(beside, "be made");
    if (!write_all(file, text)) return failed(beside, "be written");
    if (!sync(file)) return failed(beside, "be brought to disk");
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) return failed(path, "be replaced");
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || !sync(folder)) return failed(path, "be brought to disk");
  return {};
}

std::string state_file_problem(const std::string& path) {
  std::string probe =
      path + ".probe-XXXXXX";  // not the name of write_state_file(): another controller may be writing
  const Descriptor file(::mkostemp(probe.data(), O_CLOEXEC));
  if (!file.valid()) {
    return fmt::format("state_file {}: no file can be made in {}: {}; the folder must be there and writable",
                       path, folder_of(path), std::strerror(errno));
  }
  ::unlink(probe.c_str());
  return {};
}

}  // namespace rain::control
