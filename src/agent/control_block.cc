#include "agent/control_block.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
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

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

tl::unexpected<std::string> failure(const std::string& path, const std::string& what) {
  return tl::unexpected("control block " + path + ": " + what);
}

tl::unexpected<std::string> system_failure(const std::string& path, const char* what) {
  return failure(path, std::string("cannot ") + what + ": " + std::system_category().message(errno));
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

ControlBlock::ControlBlock(std::byte* memory, unsigned workers)
    : memory_(memory, Unmap{size_bytes(workers)}), workers_(workers) {}

ControlBlock ControlBlock::anonymous(unsigned workers) {
  RAIN_ASSERT(workers >= 1 && workers <= kMaxControlledWorkers);
  void* const memory =
      mmap(nullptr, size_bytes(workers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(memory), workers};
}

tl::expected<ControlBlock, std::string> ControlBlock::open(const std::string& path, unsigned workers) {
  RAIN_ASSERT(workers >= 1 && workers <= kMaxControlledWorkers);
  const File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file.get() < 0) return system_failure(path, "open");
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return system_failure(path, "look at");
  const std::size_t bytes = size_bytes(workers);
  // Worker and agent may both find it empty: both make it as long, and its zeroes are a block without a header.
  if (status.st_size == 0 && ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return system_failure(path, "make room for");
  }
  const std::size_t found = status.st_size == 0 ? bytes : static_cast<std::size_t>(status.st_size);
  if (found < sizeof(Header))
    return failure(path, "is " + std::to_string(found) + " bytes long: not a control block");
  void* const memory =
      mmap(nullptr, std::min(found, bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return system_failure(path, "map");
  const auto unmap = [&] { munmap(memory, std::min(found, bytes)); };
  Header& header = *static_cast<Header*>(memory);
  const std::uint64_t magic = header.magic.load(std::memory_order_acquire);
  if (magic == 0) {
    header.version.store(kVersion, std::memory_order_relaxed);
    header.workers.store(workers, std::memory_order_relaxed);
    header.magic.store(kMagic, std::memory_order_release);
  } else if (magic != kMagic) {
    unmap();
    return failure(path, "is not a control block");
  }
  const std::uint64_t version = header.version.load(std::memory_order_relaxed);
  const std::uint64_t count = header.workers.load(std::memory_order_relaxed);
  if (version != kVersion) {
    unmap();
    return failure(path, "has version " + std::to_string(version) + ", this program writes version " +
                             std::to_string(kVersion) + ": remove the file");
  }
  if (count != workers || found != bytes) {
    unmap();
    return failure(path, "is for " + std::to_string(count) + " workers and " + std::to_string(found) +
                             " bytes long; for " + std::to_string(workers) + " it would be " +
                             std::to_string(bytes) + ": remove the file");
  }
  return ControlBlock(static_cast<std::byte*>(memory), workers);
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
