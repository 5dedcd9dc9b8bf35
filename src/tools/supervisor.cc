// See supervisor.h.
#include "tools/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/clock.h"
#include "base/stop_signals.h"
#include "tools/input_error.h"

namespace rain::tools {
namespace {

constexpr std::size_t kLongestLine = 4096;

std::runtime_error system_error(std::string_view what) {
  return std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&signals, one);
  return signals;
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("cannot make a pipe");
  return ends;
}

/// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* arguments, int out, int err, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent was gone before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
      dup2(err, STDERR_FILENO) < 0) {
    _exit(127);
  }
  execv("/proc/self/exe", arguments);
  _exit(127);
}

}  // namespace

std::string Supervisor::Child::ending() const {
  if (running()) return "runs";
  if (WIFSIGNALED(*wait_status)) return fmt::format("was killed by signal {}", WTERMSIG(*wait_status));
  return fmt::format("exited with status {}", WEXITSTATUS(*wait_status));
}

std::string Supervisor::Child::obituary() const {
  const bool by_itself = wait_status && WIFEXITED(*wait_status);
  return name + ' ' + ending() + (by_itself && !last_line.empty() ? ": " + last_line : "");
}

int Supervisor::Child::exit_status() const {
  return wait_status && WIFEXITED(*wait_status) ? WEXITSTATUS(*wait_status) : 1;
}

Supervisor::Supervisor(std::string command, std::FILE* out) : command_(std::move(command)), out_(out) {
  const sigset_t signals = handled_signals();
  if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) throw system_error("cannot block signals");
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd_ < 0) throw system_error("cannot open a signal descriptor");
}

Supervisor::~Supervisor() {
  kill_children();
  for (const Process& process : children_) {
    if (process.out.fd >= 0) close(process.out.fd);
    if (process.err.fd >= 0) close(process.err.fd);
  }
  close(signal_fd_);
  const sigset_t signals = handled_signals();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

void Supervisor::kill_children() {
  for (const Process& process : children_) {
    if (process.state.running()) kill(-process.state.pid, SIGKILL);
  }
  for (const Process& process : children_) {
    if (process.state.running()) waitpid(process.state.pid, nullptr, 0);
  }
}

std::size_t Supervisor::start(std::string name, const std::vector<std::string>& arguments, bool capture) {
  std::vector<std::string> words{"rain"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::array<int, 2> out = make_pipe();
  const std::array<int, 2> err = make_pipe();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw system_error("cannot fork");
  if (pid == 0) become(argv.data(), out[1], err[1], parent);
  setpgid(pid, pid);  // the child does it too: whoever comes first
  close(out[1]);
  close(err[1]);
  for (const int fd : {out[0], err[0]}) fcntl(fd, F_SETFL, O_NONBLOCK);
  Process process;
  process.state.name = std::move(name);
  process.state.pid = pid;
  process.out.fd = out[0];
  process.err.fd = err[0];
  process.capture = capture;
  children_.push_back(std::move(process));
  return children_.size() - 1;
}

void Supervisor::step(Nanos timeout) {
  std::vector<pollfd> polled{{signal_fd_, POLLIN, 0}};
  for (const Process& process : children_) {
    polled.push_back({process.out.fd, POLLIN, 0});  // poll() skips closed ones: -1
    polled.push_back({process.err.fd, POLLIN, 0});
  }
  const auto timeout_ms =
      static_cast<int>(std::min<std::int64_t>((timeout.value + 999'999) / 1'000'000, 3'600'000));
  if (poll(polled.data(), polled.size(), timeout_ms) < 0 && errno != EINTR) throw system_error("cannot poll");
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (polled[1 + 2 * i].revents != 0) read_stream(children_[i], children_[i].out);
    if (polled[2 + 2 * i].revents != 0) read_stream(children_[i], children_[i].err);
  }
  take_signals();
  reap();
}

void Supervisor::take_signals() {
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGINT && info.ssi_signo != SIGTERM) continue;
    // timeout(1) and service managers signal a process and then its group: that is one wish, not two.
    if (interrupted_ && monotonic_now() - interrupted_at_ < kSameSignal) continue;
    if (interrupted_) {
      kill_children();
      std::fputs((command_ + ": a second signal: all processes were killed\n").c_str(), stderr);
      std::_Exit(kExitFailed);
    }
    interrupted_ = true;
    interrupted_at_ = monotonic_now();
  }
}

void Supervisor::read_stream(Process& process, Stream& stream) {
  std::array<char, 65536> buffer;
  while (stream.fd >= 0) {
    const ssize_t got = read(stream.fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;  // EAGAIN: all read
    const bool captured = process.capture && &stream == &process.out;
    if (captured && got > 0) {
      process.state.captured.append(buffer.data(), static_cast<std::size_t>(got));
      continue;
    }
    stream.partial.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t start = 0;
    for (std::size_t end; (end = stream.partial.find_first_of("\n\r", start)) != std::string::npos;
         start = end + 1) {
      take_line(process, stream, std::string_view(stream.partial).substr(start, end - start));
    }
    stream.partial.erase(0, start);
    if (got == 0 || stream.partial.size() > kLongestLine) {
      take_line(process, stream, stream.partial);
      stream.partial.clear();
    }
    if (got == 0) {
      close(stream.fd);
      stream.fd = -1;
    }
  }
}

void Supervisor::take_line(Process& process, const Stream& stream, std::string_view line) {
  if (line.empty()) return;
  if (line.starts_with(kReadyPrefix)) {
    process.state.ready = true;
  } else if (&stream == &process.err) {
    process.state.last_line = line;
  }
  std::fprintf(out_, "[%s] %.*s\n", process.state.name.c_str(), static_cast<int>(line.size()), line.data());
  std::fflush(out_);
}

void Supervisor::reap() {
  for (Process& process : children_) {
    int status = 0;
    if (!process.state.running() || waitpid(process.state.pid, &status, WNOHANG) != process.state.pid)
      continue;
    process.state.wait_status = status;
    read_stream(process, process.out);  // what it said last
    read_stream(process, process.err);
  }
}

const Supervisor::Child* Supervisor::first_ended(std::size_t except) const {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (i != except && !children_[i].state.running()) return &children_[i].state;
  }
  return nullptr;
}

void Supervisor::tell_to_stop(std::size_t index) {
  Process& process = children_[index];
  if (!process.state.running() || process.told_to_stop) return;
  process.told_to_stop = true;
  kill(-process.state.pid, SIGTERM);
}

bool Supervisor::stop(std::size_t index, Nanos patience) {
  const Child& child = children_[index].state;
  if (!child.running()) return true;
  tell_to_stop(index);
  const Nanos deadline = monotonic_now() + patience;
  for (Nanos now = monotonic_now(); child.running() && now < deadline; now = monotonic_now())
    step(deadline - now);
  if (!child.running()) return true;
  kill(-child.pid, SIGKILL);
  while (child.running()) step(milliseconds(100));
  return false;
}

}  // namespace rain::tools
