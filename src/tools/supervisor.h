// Child processes of `rain rack`: started, listened to, stopped, never left behind.
//
// Every child runs this same program in a process group of its own, so a Ctrl-C at the terminal reaches only
// us and we decide the order of stopping. Should we be killed outright, the kernel ends the children for us
// (parent-death signal). What a child prints is passed on line by line under its name.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace rain::tools {

/// A child that is up says so by a line with this start; what follows is for people.
inline constexpr std::string_view kReadyPrefix = "ready: ";

class Supervisor {
 public:
  struct Child {
    std::string name;
    pid_t pid = -1;
    bool ready = false;              ///< printed its ready line
    std::optional<int> wait_status;  ///< as of waitpid(); unset while it runs
    std::string captured;            ///< standard output, when captured
    std::string last_line;           ///< of its standard error, but for the ready line: why it ended

    bool running() const { return !wait_status.has_value(); }
    bool succeeded() const { return wait_status == 0; }
    /// "exited with status 2", "was killed by signal 9".
    std::string ending() const;
    /// ending(), and its last line where that may explain it.
    std::string obituary() const;
    int exit_status() const;  ///< 0..255; 1 when a signal ended it
  };

  /// Prefixed lines go to `out`. Blocks SIGINT, SIGTERM and SIGCHLD for this process until destruction. A second SIGINT
  /// or SIGTERM kills the children and ends this process at once, with status 1 and one line that begins with `command`.
  Supervisor(std::string command, std::FILE* out);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();  ///< kills what still runs

  /// Runs this program with `arguments`. With `capture`, standard output is kept instead of passed on.
  /// Throws std::runtime_error when the system refuses. The index stays valid.
  std::size_t start(std::string name, const std::vector<std::string>& arguments, bool capture = false);

  /// Handles what children print, their ends and our signals; waits for them at most `timeout`.
  void step(Nanos timeout);

  const Child& child(std::size_t index) const { return children_[index].state; }
  std::size_t size() const { return children_.size(); }
  /// Set once SIGINT or SIGTERM arrived.
  bool interrupted() const { return interrupted_; }
  /// The first child that has ended, other than `except`; nullptr: all run.
  const Child* first_ended(std::size_t except = SIZE_MAX) const;

  /// SIGTERM to the child's group, if it had none yet.
  void tell_to_stop(std::size_t index);
  /// tell_to_stop(); SIGKILL after `patience`. True when it ended by itself.
  bool stop(std::size_t index, Nanos patience);

 private:
  struct Stream {
    int fd = -1;
    std::string partial;
  };
  struct Process {
    Child state;
    Stream out, err;
    bool capture = false;
    bool told_to_stop = false;
  };
  void read_stream(Process& process, Stream& stream);
  void take_line(Process& process, const Stream& stream, std::string_view line);
  void reap();
  void take_signals();
  void kill_children();

  std::string command_;
  std::FILE* out_;
  int signal_fd_ = -1;
  bool interrupted_ = false;
  Nanos interrupted_at_{};
  std::vector<Process> children_;
};

}  // namespace rain::tools
