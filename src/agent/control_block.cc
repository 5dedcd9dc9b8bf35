#include "agent/control_block.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/assert.h"

namespace rain::agent {
namespace {

using control_block::Header;
using control_block::WorkerPart;

constexpr std::uint64_t kMagic = 0x524149'4E43'424C'4BULL;  // "RAINCBLK"
constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kSet = 1u << 8;
constexpr std::int64_t kRoundTripUnit = 64;

std::uint64_t saturate(Nanos duration, std::uint64_t most) {
  return duration <= Nanos{} ? 0 : std::min(static_cast<std::uint64_t>(duration.value), most);
}

/// Without fmt: the public library has no need of it.
template <typename... Parts>
tl::unexpected<std::string> failure(const std::string& path, const Parts&... what) {
  std::ostringstream text;
  text << "control block " << path << ": ";
  (text << ... << what);
  return tl::unexpected(text.str());
}

tl::unexpected<std::string> system_failure(const std::string& path, const char* what) {
  return failure(path, "cannot ", what, ": ", std::system_category().message(errno));
}

// Does not wait for the other end of a pipe.
Descriptor open_file(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
}

/// Worker and agent may both find that there is none: the first name wins, and each file is complete before it has one.
tl::expected<void, std::string> make(const std::string& path, unsigned workers, std::size_t bytes) {
  std::string draft = path + ".XXXXXX";
  const Descriptor file(mkostemp(draft.data(), O_CLOEXEC));
  if (!file.valid()) return system_failure(path, "make");
  const std::array<std::uint64_t, 3> head = {kMagic, kVersion, workers};
  const bool written = ftruncate(file.get(), static_cast<off_t>(bytes)) == 0 &&
                       pwrite(file.get(), head.data(), sizeof head, 0) == static_cast<ssize_t>(sizeof head);
  const bool named = written && (link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  unlink(draft.c_str());
  errno = error;
  if (!named) return system_failure(path, "make");
  return {};
}

/// Reads, and never writes: it may be anybody's file.
tl::expected<void, std::string> check(const std::string& path, const Descriptor& file, unsigned workers,
                                      std::size_t bytes) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return system_failure(path, "look at");
  if (!S_ISREG(status.st_mode)) return failure(path, "is no regular file");
  std::array<std::uint64_t, 3> head{};
  const ssize_t got = pread(file.get(), head.data(), sizeof head, 0);
  if (got < 0) return system_failure(path, "read");
  if (got < static_cast<ssize_t>(sizeof head) || head[0] != kMagic)
    return failure(path, "is not a control block");
  if (head[1] != kVersion) {
    return failure(path, "has version ", head[1], ", this program writes version ", kVersion,
                   ": remove the file");
  }
  if (head[2] != workers)
    return failure(path, "is for ", head[2], " workers, not for ", workers, ": remove the file");
  if (static_cast<std::size_t>(status.st_size) != bytes) {
    return failure(path, "is ", status.st_size, " bytes long, a block for ", workers, " workers has ", bytes,
                   ": remove the file");
  }
  return {};
}

}  // namespace

void WorkerPort::publish(const WorkerStatus& status, bool idle, Nanos now) {
  control_block::WorkerLine& line = part_->worker;
  const Nanos word = idle ? now - status.idle : status.idle;
  line.idle.store(static_cast<std::uint64_t>(word.value) << 1 | (idle ? 1u : 0u), std::memory_order_relaxed);
  line.state.store(status.quota | std::uint64_t{status.held} << 8 | std::uint64_t{status.drained} << 40,
                   std::memory_order_relaxed);
  line.served.store(status.served, std::memory_order_relaxed);
  line.steps.store(line.steps.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void WorkerPort::add(const TaskSample& sample) {
  const std::uint64_t head = part_->worker.head.load(std::memory_order_relaxed);
  control_block::Sample& slot = part_->samples[head % kSampleRing];
  const Nanos round_trip{(sample.token_round_trip.value + kRoundTripUnit - 1) / kRoundTripUnit};
  slot.waits.store(saturate(sample.worker_wait, UINT32_MAX) | saturate(sample.switch_wait, UINT32_MAX) << 32,
                   std::memory_order_release);
  slot.service.store(saturate(sample.service, UINT32_MAX) |
                         std::min<std::uint64_t>(sample.switch_queue, UINT16_MAX) << 32 |
                         saturate(round_trip, UINT16_MAX) << 48,
                     std::memory_order_release);
  part_->worker.head.store(head + 1, std::memory_order_release);
}

std::optional<Wanted> WorkerPort::wanted() const { return AgentPort(*part_).wanted(); }

void AgentPort::want(const Wanted& wanted) {
  RAIN_ASSERT(wanted.quota <= kMaxQuota);
  part_->agent.wanted.store(wanted.quota | kSet | std::uint64_t{wanted.ask} << 32, std::memory_order_relaxed);
}

// A file that somebody scribbled in must not stop a worker: what is not a quota is not wanted.
std::optional<Wanted> AgentPort::wanted() const {
  const std::uint64_t word = part_->agent.wanted.load(std::memory_order_relaxed);
  const auto quota = static_cast<unsigned>(word & 0xFF);
  if ((word & kSet) == 0 || quota > kMaxQuota) return std::nullopt;
  return Wanted{.quota = quota, .ask = static_cast<std::uint32_t>(word >> 32)};
}

WorkerStatus AgentPort::status(Nanos now) const {
  const control_block::WorkerLine& line = part_->worker;
  const std::uint64_t idle = line.idle.load(std::memory_order_relaxed);
  const std::uint64_t state = line.state.load(std::memory_order_relaxed);
  const Nanos word{static_cast<std::int64_t>(idle >> 1)};
  return {.steps = line.steps.load(std::memory_order_relaxed),
          .idle = std::max((idle & 1) != 0 ? now - word : word, Nanos{}),
          .quota = static_cast<unsigned>(state & 0xFF),
          .held = static_cast<unsigned>(state >> 8 & UINT32_MAX),
          .drained = (state >> 40 & 1) != 0,
          .served = line.served.load(std::memory_order_relaxed)};
}

TaskSample AgentPort::unpack(const Packed& packed) {
  const auto low = [](std::uint64_t word) { return Nanos{static_cast<std::int64_t>(word & UINT32_MAX)}; };
  return {.worker_wait = low(packed.waits),
          .switch_wait = low(packed.waits >> 32),
          .service = low(packed.service),
          .switch_queue = static_cast<std::uint32_t>(packed.service >> 32 & UINT16_MAX),
          .token_round_trip = Nanos{static_cast<std::int64_t>(packed.service >> 48) * kRoundTripUnit}};
}

ControlBlock::ControlBlock(std::byte* memory, unsigned workers, Descriptor file, std::string path)
    : memory_(memory, Unmap{size_bytes(workers)}),
      workers_(workers),
      file_(std::move(file)),
      path_(std::move(path)) {}

ControlBlock ControlBlock::anonymous(unsigned workers) {
  RAIN_ASSERT(workers >= 1 && workers <= kMaxControlledWorkers);
  void* const memory =
      mmap(nullptr, size_bytes(workers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(memory), workers, Descriptor(), ""};
}

tl::expected<ControlBlock, std::string> ControlBlock::open(const std::string& path, unsigned workers) {
  RAIN_ASSERT(workers >= 1 && workers <= kMaxControlledWorkers);
  const std::size_t bytes = size_bytes(workers);
  Descriptor file = open_file(path);
  if (!file.valid() && errno == ENOENT) {
    if (auto made = make(path, workers, bytes); !made) return tl::unexpected(made.error());
    file = open_file(path);
  }
  if (!file.valid()) return system_failure(path, "open");
  if (auto valid = check(path, file, workers, bytes); !valid) return tl::unexpected(valid.error());
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return system_failure(path, "map");
  return ControlBlock(static_cast<std::byte*>(memory), workers, std::move(file), path);
}

tl::expected<void, std::string> ControlBlock::claim_worker(unsigned index) {
  return claim(1 + std::int64_t{index}, part(index).worker.process,
               "worker " + std::to_string(index) + "'s place");
}

tl::expected<void, std::string> ControlBlock::claim_agent() {
  return claim(0, header().agent_process, "the agent's place");
}

tl::expected<void, std::string> ControlBlock::claim(std::int64_t place, control_block::Word& process,
                                                    const std::string& what) {
  if (!file_.valid()) return {};
  // One byte of the file for each place. A lock of the open file, not of the process: others of this process count too.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  if (fcntl(file_.get(), F_OFD_SETLK, &lock) == 0) {
    process.store(static_cast<std::uint64_t>(getpid()), std::memory_order_relaxed);
    return {};
  }
  if (errno != EAGAIN && errno != EACCES) return system_failure(path_, "lock");
  return failure(path_, "process ", process.load(std::memory_order_relaxed), " has ", what, ": end it first");
}

void ControlBlock::beat() { header().heartbeat.fetch_add(1, std::memory_order_relaxed); }
std::uint64_t ControlBlock::heartbeat() const { return header().heartbeat.load(std::memory_order_relaxed); }

void ControlBlock::Unmap::operator()(std::byte* memory) const { munmap(memory, bytes); }

std::size_t ControlBlock::size_bytes(unsigned workers) {
  return sizeof(Header) + workers * sizeof(WorkerPart);
}

// Zeroes are valid atomics, and mapped memory is zero until somebody writes.
Header& ControlBlock::header() const { return *reinterpret_cast<Header*>(memory_.get()); }

WorkerPart& ControlBlock::part(unsigned index) const {
  RAIN_ASSERT(index < workers_);
  return *reinterpret_cast<WorkerPart*>(memory_.get() + sizeof(Header) + index * sizeof(WorkerPart));
}

}  // namespace rain::agent
