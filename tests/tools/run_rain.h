// Runs the built `rain` command for tests, as a user would, and keeps what it says.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rain::tools::testing {

struct Finished {
  int status = -1;  ///< exit status; 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

/// Of a file; "" when there is none.
std::string content_of(const std::filesystem::path& path);

/// A running `rain`. Killed when the test leaves it running.
class Running {
 public:
  /// `out`: a file for standard output, instead of one of its own.
  explicit Running(const std::vector<std::string>& arguments, const std::string& out = "");
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  pid_t pid() const { return pid_; }
  /// What it has printed so far.
  std::string out() const;
  std::string err() const;
  /// Waits until standard output and error together contain `text`; false when it ended or a minute passed before.
  bool wait_for(const std::string& text);
  void send_signal(int signal) const { kill(pid_, signal); }
  Finished finish();

 private:
  std::filesystem::path folder_;
  pid_t pid_ = -1;
};

Finished run_rain(const std::vector<std::string>& arguments, const std::string& out = "");

/// A file of this content in a fresh folder, removed with the object.
class ScratchFile {
 public:
  ScratchFile(const std::string& name, const std::string& content);
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();
  std::string path() const { return path_.string(); }
  std::filesystem::path folder() const { return path_.parent_path(); }

 private:
  std::filesystem::path path_;
};

/// The first of `count` UDP ports in a row that nobody uses on 127.0.0.1 just now.
std::uint16_t free_ports(unsigned count);
/// True when nobody uses these ports.
bool all_free(std::uint16_t first, unsigned count);

/// A UDP socket bound on 127.0.0.1 for as long as it lives: a port in use.
class TakenPort {
 public:
  TakenPort();
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  ~TakenPort();
  std::uint16_t port() const { return port_; }

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
};

/// A rack file on free ports: [switch] listens on `port`, servers follow. `%s` in `rest` are replaced by ports: the
/// n-th by port + n.
struct RackOnPorts {
  explicit RackOnPorts(std::string rest, unsigned ports = 8);
  std::uint16_t port;
  ScratchFile file;
};

/// One refusal: exit status 2, nothing on standard output, and exactly this line on standard error.
void expect_refused(const std::vector<std::string>& arguments, const std::string& line);

}  // namespace rain::tools::testing
