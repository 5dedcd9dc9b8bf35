// The memory that workers and their agent share: what workers measure, and what the agent wants of them.
//
// A file (mapped by both), or memory of one process when worker and agent are threads of it. No locks: every word has
// one writer, the worker or the agent, and is an atomic that the other one only reads. So either side may crash at any
// instruction, be restarted and go on from what the block says: the last quota wanted stays in force.
//
//   header, one cache line    magic, version, count of workers, heartbeat of the agent, its process
//   per worker                a line that it writes, a line that the agent writes, a ring of samples that it writes
//
// The ring is overwritten, never full: the worker does not wait for an agent that is slow or gone. A sample is two words,
// published by raising `head`. The reader copies, then looks at `head` again, and throws away what the worker may have
// overwritten meanwhile: a word is stored with release after the head that allows its slot, so whoever has read a newer
// word sees that head too.
//
// Each word has one writer only if each side is one process: claim_worker() and claim_agent() see to it by locks on the
// file, which the kernel drops with the process, however it ends. A file that is there is never written to unless it is a
// block of the right size; a new one gets its name when it is complete. Not guarded against: another program that cuts the
// file while it is mapped ends its users by SIGBUS. Only our own user can (the file's mode is 0600), a lock would not keep
// it from doing so, and files that have a name cannot be sealed.
//
// Rejected: a sequence lock on the status line (its fields are used apart, each is right by itself); a ring with the
// reader's index (a dead agent would stop it).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "agent/task_window.h"
#include "base/descriptor.h"
#include "base/ids.h"
#include "base/spsc_ring.h"
#include "base/time.h"

namespace rain::agent {

inline constexpr std::size_t kSampleRing = 1024;         ///< a little more than the paper's K
inline constexpr unsigned kMaxControlledWorkers = 1024;  ///< of one block

/// What the agent wants of a worker.
struct Wanted {
  unsigned quota = 0;     ///< 0: give up all tokens, serve what is held
  std::uint32_t ask = 0;  ///< another number than before: ask the switch after all tokens
  bool operator==(const Wanted&) const = default;
};

/// What a worker says of itself, as of its last step.
struct WorkerStatus {
  std::uint64_t steps = 0;  ///< stands still when its thread does
  Nanos idle{};             ///< time without a task since it began, up to the `now` it was read with
  unsigned quota = 0;       ///< in force
  unsigned held = 0;
  bool drained = false;  ///< nothing held, no token out, none will be
  std::uint64_t served = 0;
};

namespace control_block {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8);

struct alignas(kCacheLineBytes) Header {
  Word magic;  // this and the next two are there before the file has its name
  Word version;
  Word workers;
  Word heartbeat;  // agent
  Word agent_process;
};

struct alignas(kCacheLineBytes) WorkerLine {
  Word steps;
  Word idle;   // (value << 1) | is idle: what idle time is so far, or, when idle, `now` less that
  Word state;  // quota | held << 8 | drained << 40
  Word served;
  Word head;  // samples ever published
  Word process;
};

struct alignas(kCacheLineBytes) AgentLine {
  Word wanted;  // quota | 1 << 8 (it was set) | ask << 32
};

struct Sample {
  Word waits;    // worker_wait_ns | switch_wait_ns << 32, saturated
  Word service;  // service_ns | switch_queue << 32 | token round trip in 64 ns << 48, saturated
};

struct WorkerPart {
  WorkerLine worker;
  AgentLine agent;
  std::array<Sample, kSampleRing> samples;
};
static_assert(sizeof(Header) == 64 && sizeof(WorkerLine) == 64 && sizeof(AgentLine) == 64);
static_assert(sizeof(Sample) == 16 && sizeof(WorkerPart) == 128 + 16 * kSampleRing);

}  // namespace control_block

/// A worker's side of its part. Copies share the part; one thread at a time uses them.
class WorkerPort {
 public:
  explicit WorkerPort(control_block::WorkerPart& part) : part_(&part) {}

  /// A step has been made.
  void publish(const WorkerStatus& status, bool idle, Nanos now);
  void add(const TaskSample& sample);
  /// Nothing: no agent has ever said anything.
  std::optional<Wanted> wanted() const;

 private:
  control_block::WorkerPart* part_;
};

/// The agent's side of a worker's part.
class AgentPort {
 public:
  explicit AgentPort(control_block::WorkerPart& part) : part_(&part) {}

  void want(const Wanted& wanted);
  std::optional<Wanted> wanted() const;
  WorkerStatus status(Nanos now) const;

  /// Calls `take(const TaskSample&)` for what was published since the last call, the oldest first; without what has
  /// been overwritten. A new port begins with what comes after it. Returns how many were lost.
  template <typename Take>
  std::uint64_t take_samples(Take&& take) {
    using control_block::Sample;
    const std::uint64_t head = part_->worker.head.load(std::memory_order_acquire);
    if (!next_ || *next_ > head) next_ = head;  // another life of the worker's block
    const std::uint64_t begin = *next_ + kSampleRing < head ? head - kSampleRing : *next_;
    copied_.clear();
    for (std::uint64_t at = begin; at < head; ++at) {
      const Sample& sample = part_->samples[at % kSampleRing];
      copied_.push_back(
          {sample.waits.load(std::memory_order_acquire), sample.service.load(std::memory_order_acquire)});
    }
    const std::uint64_t later = part_->worker.head.load(std::memory_order_acquire);
    // Sample `later` may be half written: it is where later - kSampleRing was.
    const std::uint64_t safe = later < kSampleRing ? 0 : later - kSampleRing + 1;
    std::uint64_t lost = begin - *next_;
    for (std::uint64_t at = begin; at < head; ++at) {
      if (at < safe) {
        ++lost;
      } else {
        take(unpack(copied_[at - begin]));
      }
    }
    next_ = head;
    return lost;
  }

 private:
  struct Packed {
    std::uint64_t waits;
    std::uint64_t service;
  };
  static TaskSample unpack(const Packed& packed);

  control_block::WorkerPart* part_;
  std::optional<std::uint64_t> next_{};
  std::vector<Packed> copied_{};
};

class ControlBlock {
 public:
  /// Memory of this process alone.
  static ControlBlock anonymous(unsigned workers);
  /// The file at `path`; made if it is not there. One that is there must be a block of this version for as many workers,
  /// and is taken over as it is. Errors: one line with the path and what is wrong.
  static tl::expected<ControlBlock, std::string> open(const std::string& path, unsigned workers);

  /// This process alone writes as that worker, or as the agent, until the block is closed. The error is one line with the
  /// process that does so already.
  tl::expected<void, std::string> claim_worker(unsigned index);
  tl::expected<void, std::string> claim_agent();

  unsigned workers() const { return workers_; }
  WorkerPort worker_port(unsigned index) const { return WorkerPort(part(index)); }
  AgentPort agent_port(unsigned index) const { return AgentPort(part(index)); }
  /// The agent, each time that it decides.
  void beat();
  std::uint64_t heartbeat() const;

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };
  ControlBlock(std::byte* memory, unsigned workers, Descriptor file, std::string path);
  tl::expected<void, std::string> claim(std::int64_t place, control_block::Word& process,
                                        const std::string& what);
  static std::size_t size_bytes(unsigned workers);
  control_block::Header& header() const;
  control_block::WorkerPart& part(unsigned index) const;

  std::unique_ptr<std::byte, Unmap> memory_;
  unsigned workers_;
  Descriptor file_;  // none: memory of this process alone
  std::string path_;
};

}  // namespace rain::agent
