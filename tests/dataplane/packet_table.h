// Packet tables: a small rack, packets in, and for each the verdict and the packet that must come out.
//
// A table says nothing of what runs it. A Runner turns a packet into an outcome, however it does so: the
// program in memory (program_runner.h), a switch process behind sockets, a kernel hook. One decision,
// everywhere: the same tables run on each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/memory.h"
#include "dataplane/packet.h"
#include "dataplane/packet_builder.h"
#include "dataplane/programs.h"
#include "dataplane/tables.h"

namespace rain::packet_table {

/// What the control plane installs before the first packet. Slices and workers are numbered as they are
/// added.
struct Rack {
  std::vector<dataplane::SliceEntry> slices;
  std::vector<dataplane::WorkerEntry> workers;
  std::vector<std::pair<TaskType, SliceId>> types;
  std::uint32_t hold_slots = 0;
  std::uint32_t token_ring = 0;  ///< 0: room for every token of every worker

  struct SliceOptions {
    std::uint32_t capacity = 4, spill = 0;
    std::uint16_t drain = 0;
    std::uint8_t depth = 1;    ///< r2p2
    bool recirculate = false;  ///< racksched
    std::optional<unsigned> master_slice{}, host{};
  };
  Rack& slice(const SliceOptions& options);
  Rack& absent_slice();
  Rack& type(unsigned type, unsigned slice);
  Rack& worker(unsigned slice, unsigned weight = 1);
  Rack& absent_worker();
  Rack& holds(std::uint32_t slots) { return hold_slots = slots, *this; }
  Rack& tokens(std::uint32_t ring) { return token_ring = ring, *this; }

  dataplane::MemoryShape shape() const;
};

/// One slice that serves type 0, and `workers` workers.
Rack small_rack(unsigned workers, const Rack::SliceOptions& options = {});

/// Slice 0 serves type 0 with `workers` workers; the next worker is its master, alone in slice 1.
Rack rack_with_master(unsigned workers, Rack::SliceOptions options = {});

/// A task that waited too long, and whose client heard DROP.
struct Expiry {
  Endpoint client{};
  RequestId request_id{};
  wire::Layout layout{};
};

/// What became of a packet, as far as anybody outside the program can tell.
struct Outcome {
  dataplane::Action action = dataplane::Action::kIgnore;  ///< kRecirculate: it passed kMaxPasses times
  unsigned recirculations = 0;
  std::vector<Expiry> expired;            ///< before the packet found what it came for
  DropReason reason = DropReason::kNone;  ///< kReplyDrop, kIgnore; kReplySync: of its recall
  Endpoint receiver{};                    ///< of the packet that came out, if one did

  // kForward, kDispatch, kReplyDrop
  RequestId request_id{};
  wire::Layout layout{};

  // kForward, kDispatch
  Endpoint client{};
  TaskType task_type{};
  std::uint32_t deadline_us = 0;
  std::uint16_t packet_count = 0;
  bool last = false;
  std::vector<std::byte> payload;
  std::uint32_t fetch_bytes = 0;  ///< draconis: payload that did not come along, the worker must fetch it
  WorkerId worker{};
  Level level = kNoLevel;
  Generation generation{};
  std::uint32_t switch_delay_ns = 0;
  std::uint16_t queue_length = 0;

  // kReplySync
  wire::SyncAckFields sync{};
};

/// The gate of program `rain` or the balance of `rain-paper`.
struct Counts {
  std::int64_t balance = 0;
  std::uint64_t spare = 0;
  bool operator==(const Counts&) const = default;
};

/// Passes after which a Runner gives a packet up. More than there are dead tokens in any table.
inline constexpr unsigned kMaxPasses = 100;

/// A substrate with one program and one rack. Packets come one at a time; recirculation happens inside.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual Outcome inject(const dataplane::PacketView& packet, Nanos now) = 0;
  virtual void set_worker(WorkerId id, const dataplane::WorkerEntry& entry) = 0;
  virtual void set_slice(SliceId id, const dataplane::SliceEntry& entry) = 0;
  virtual void forget_dead_tokens(SliceId slice) = 0;
  /// nullopt where it cannot be seen from outside.
  virtual std::optional<Counts> counts(SliceId slice) = 0;
};

using RunnerFactory =
    std::function<std::unique_ptr<Runner>(dataplane::ProgramId program, unsigned levels, const Rack& rack)>;

/// What must become of a packet. Fields that are not named are not compared, but the request that leaves is
/// always held against the one that came in, byte by byte.
class Expected {
 public:
  explicit Expected(dataplane::Action action) : action_(action) {}
  Expected& level(unsigned level) { return level_ = level, *this; }
  Expected& generation(std::uint32_t value) { return generation_ = value, *this; }
  Expected& queue_length(unsigned tasks) { return queue_length_ = tasks, *this; }
  Expected& after_recirculations(unsigned count) { return recirculations_ = count, *this; }

  /// These requests were found expired, in this order, each in a pass of its own.
  Expected& after_expired(std::vector<unsigned> requests) { return expired_ = std::move(requests), *this; }

  Expected& worker(unsigned id) { return worker_ = id, *this; }
  Expected& request(unsigned id) { return request_ = id, *this; }
  /// draconis: whether the payload stayed with the client.
  Expected& fetches(bool fetches) { return fetches_ = fetches, *this; }
  Expected& reason(DropReason reason) { return reason_ = reason, *this; }
  Expected& ledger(std::uint32_t seen, std::uint32_t consumed) {
    return seen_ = seen, consumed_ = consumed, *this;
  }
  Expected& recalled(bool recalled = true) { return recalled_ = recalled, *this; }
  Expected& epoch(unsigned epoch) { return epoch_ = epoch, *this; }

 private:
  friend void compare(const Outcome& outcome, const Expected& expected);
  dataplane::Action action_;
  DropReason reason_ = DropReason::kNone;
  unsigned recirculations_ = 0;
  bool fetches_ = false;
  bool recalled_ = false;
  std::vector<unsigned> expired_;
  std::optional<std::uint32_t> worker_, level_, generation_, queue_length_, request_, seen_, consumed_,
      epoch_;
};

inline Expected forwarded(unsigned worker) { return Expected(dataplane::Action::kForward).worker(worker); }
inline Expected dispatched(unsigned worker, unsigned request) {
  return Expected(dataplane::Action::kDispatch).worker(worker).request(request);
}
/// No room anywhere: it would pass for ever.
inline Expected circulating() {
  return Expected(dataplane::Action::kRecirculate).after_recirculations(kMaxPasses);
}
inline Expected buffered() { return Expected(dataplane::Action::kBuffered); }
inline Expected consumed() { return Expected(dataplane::Action::kConsume); }
inline Expected dropped(DropReason reason) { return Expected(dataplane::Action::kReplyDrop).reason(reason); }
inline Expected ignored(DropReason reason) { return Expected(dataplane::Action::kIgnore).reason(reason); }
inline Expected synced(std::uint32_t seen, std::uint32_t consumed) {
  return Expected(dataplane::Action::kReplySync).ledger(seen, consumed);
}

/// Reports each field that differs as a GoogleTest failure.
void compare(const Outcome& outcome, const Expected& expected);

class PacketTable {
 public:
  /// `name`: function__case. `levels` matters to program `rain` alone.
  PacketTable(std::string name, dataplane::ProgramId program, Rack rack, unsigned levels = 4,
              const char* file = __builtin_FILE())
      : name_(std::move(name)), program_(program), rack_(std::move(rack)), levels_(levels), file_(file) {}

  // Steps, in order. `line` is where a failure points to.
  PacketTable& send(const Packet& packet, const Expected& expected, int line = __builtin_LINE());
  /// `count` times; the request id, or the generation of a token, grows by one from each to the next.
  PacketTable& repeat(unsigned count, const Packet& packet, const Expected& expected,
                      int line = __builtin_LINE());
  PacketTable& at(Nanos now, int line = __builtin_LINE());
  PacketTable& counts(unsigned slice, const Counts& expected, int line = __builtin_LINE());
  PacketTable& move_worker(unsigned worker, unsigned slice, unsigned epoch, int line = __builtin_LINE());
  PacketTable& remove_worker(unsigned worker, int line = __builtin_LINE());
  PacketTable& set_slice(unsigned slice, const Rack::SliceOptions& options, int line = __builtin_LINE());
  PacketTable& remove_slice(unsigned slice, int line = __builtin_LINE());
  PacketTable& forget_dead_tokens(unsigned slice, int line = __builtin_LINE());

  /// Stops after the first step in which something differs, each difference a GoogleTest failure. Returns
  /// what came out, in order.
  std::vector<Outcome> run(const RunnerFactory& factory) const;

  const std::string& name() const { return name_; }
  dataplane::ProgramId program() const { return program_; }

 private:
  struct Run;
  struct Step {
    int line;
    std::function<void(Run&)> act;
  };
  PacketTable& add(int line, std::function<void(Run&)> act);

  std::string name_;
  dataplane::ProgramId program_;
  Rack rack_;
  unsigned levels_;
  const char* file_;
  std::vector<Step> steps_;
};

inline void PrintTo(const PacketTable& table, std::ostream* out) { *out << table.name(); }

/// "rain_paper__CASE": a table's name for a test that several programs share.
std::string table_name(dataplane::ProgramId program, std::string_view test);

// The tables. Every program has its match tables; those with tokens have queue and ledger tables, those that
// push have push tables; most have some of their own.
std::vector<PacketTable> match_tables(dataplane::ProgramId program);
std::vector<PacketTable> queue_tables(dataplane::ProgramId program);
std::vector<PacketTable> ledger_tables(dataplane::ProgramId program);
std::vector<PacketTable> rain_tables();
std::vector<PacketTable> rain_paper_tables();
std::vector<PacketTable> draconis_tables();
std::vector<PacketTable> sticky_tables(dataplane::ProgramId program);
bool pushes(dataplane::ProgramId program);
std::vector<PacketTable> push_tables(dataplane::ProgramId program);
std::vector<PacketTable> all_packet_tables();

}  // namespace rain::packet_table
