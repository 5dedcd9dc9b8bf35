// See run_rain.h.
#include "tools/run_rain.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rain::tools::testing {
namespace {

std::filesystem::path fresh_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "rain-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  return pattern;
}

bool bind_port(int fd, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

std::string on_ports(std::string text, std::uint16_t port) {
  unsigned next = port;
  for (std::size_t at; (at = text.find("%s")) != std::string::npos;)
    text.replace(at, 2, std::to_string(++next));
  return "[switch]\nlisten = \"127.0.0.1:" + std::to_string(port) + "\"\n" + text;
}

}  // namespace

Running::Running(const std::vector<std::string>& arguments, const std::string& out_file)
    : folder_(fresh_folder()) {
  std::vector<std::string> words{RAIN_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int out = open(out_file.empty() ? (folder_ / "out").c_str() : out_file.c_str(),
                       O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const int err = open((folder_ / "err").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(out);
  close(err);
  if (pid_ < 0) throw std::runtime_error("fork");
}

Running::~Running() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string content_of(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string Running::out() const { return content_of(folder_ / "out"); }
std::string Running::err() const { return content_of(folder_ / "err"); }

bool Running::wait_for(const std::string& text) {
  constexpr unsigned kPollsPerSecond = 100;
  for (unsigned i = 0; i < 60 * kPollsPerSecond; ++i) {
    if ((out() + err()).find(text) != std::string::npos) return true;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return false;
    if (info.si_pid != 0) return (out() + err()).find(text) != std::string::npos;
    usleep(1'000'000 / kPollsPerSecond);
  }
  return false;
}

Finished Running::finish() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return {
      .status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), .out = out(), .err = err()};
}

Finished run_rain(const std::vector<std::string>& arguments, const std::string& out) {
  return Running(arguments, out).finish();
}

ScratchFile::ScratchFile(const std::string& name, const std::string& content) : path_(fresh_folder() / name) {
  std::ofstream(path_) << content;
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  std::filesystem::remove_all(path_.parent_path(), ignored);
}

bool all_free(std::uint16_t first, unsigned count) {
  std::vector<int> sockets;
  bool free = true;
  for (unsigned i = 0; i < count && free; ++i) {
    for (const int type : {SOCK_DGRAM, SOCK_STREAM}) {  // switches and workers, controllers
      sockets.push_back(socket(AF_INET, type, 0));
      free = free && bind_port(sockets.back(), static_cast<std::uint16_t>(first + i));
    }
  }
  for (const int fd : sockets) close(fd);
  return free;
}

std::uint16_t free_ports(unsigned count) {
  // Below the range from which the kernel gives ports to clients; the process id spreads tests that run at once.
  constexpr unsigned kFirst = 10'000;
  constexpr unsigned kRange = 20'000;
  static unsigned next = static_cast<unsigned>(getpid()) * 97 % kRange;
  for (unsigned tries = 0; tries < kRange; ++tries) {
    const auto first = static_cast<std::uint16_t>(kFirst + next);
    next = (next + count) % kRange;
    if (all_free(first, count)) return first;
  }
  throw std::runtime_error("no free ports");
}

TakenPort::TakenPort() {
  while (fd_ < 0) {
    port_ = free_ports(1);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (bind_port(fd, port_)) {
      fd_ = fd;
    } else {
      close(fd);
    }
  }
}

TakenPort::~TakenPort() { close(fd_); }

RackOnPorts::RackOnPorts(std::string rest, unsigned ports)
    : port(free_ports(ports)), file("rack.toml", on_ports(std::move(rest), port)) {}

void expect_refused(const std::vector<std::string>& arguments, const std::string& line) {
  const Finished finished = run_rain(arguments);
  EXPECT_EQ(finished.status, 2) << line;
  EXPECT_EQ(finished.out, "") << line;
  EXPECT_EQ(finished.err, line + "\n");
}

}  // namespace rain::tools::testing
