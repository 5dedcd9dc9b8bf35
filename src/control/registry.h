// The controller's tables as a pure state machine: (state, event, now) -> rows. Slices, task types, workers and the
// servers that run them; clients are client_shares.h's. What time it is and what is random comes from the caller, so a
// whole rack's history can be replayed in a test.
//
// - Every change takes the next version and marks its row with it; changes_since(v) is what somebody who knows version v
//   lacks, tombstones included. Applying it twice, or late, leads to the same tables.
// - A worker's epoch changes whenever its tokens must die: it moves, leaves the switch for whatever reason, or its server
//   begins a new life. Epochs of workers that are gone are kept, so that none comes back to an old one.
// - Leases belong to servers. A clock that goes backwards is refused; one that jumps ahead (the controller was stopped)
//   extends every lease by the jump, as nobody could renew meanwhile.
// - A state file and the servers' own claims can both rebuild it: who registers says what it has, and is believed where
//   the registry knows nothing: a controller that lost its file costs each worker no more than a new epoch. One whose file
//   is old has an older epoch than the server: the worker gets a newer one than either.
// - A server that owns no worker any more (others have taken over its ids) is forgotten when it has gone, so that names
//   which come and go do not add up.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "control/refusal.h"
#include "control/rows.h"
#include "control/spill_wishes.h"

namespace rain::control {

struct RegistryOptions {
  std::uint64_t instance = 1;  ///< another number for each registry that was not restored
  Epoch
      first_epoch{};  ///< of workers that say nothing of theirs; differs between instances, or tokens might outlive one
  Nanos lease = seconds(3);  ///< a server that is silent for longer is taken out, 100 ms .. 1 h
  std::uint32_t max_slices = dataplane::kMaxSlices;    ///< in the whole rack, one with a master counts as two
  std::uint32_t max_workers = dataplane::kMaxWorkers;  ///< what the switches have room for: ids are below it
  std::uint32_t max_queue_capacity = dataplane::kMaxQueueCapacity;  ///< likewise
  /// The switches' scheduler keeps tasks that find no worker, and a master takes part in the rest.
  /// False: it pushes, and a master takes sticky tasks alone.
  bool uses_tokens = true;
  std::function<std::uint32_t()> draw_key{};  ///< token keys; never called for workers that bring theirs
};

/// What a server says of one of its workers when it registers.
struct WorkerClaim {
  WorkerId id{};
  std::string slice{};  ///< by name; "": the only one
  Endpoint address{};
  std::uint8_t weight = 1;
  unsigned quota = 1;
  std::uint32_t token_key = 0;  ///< 0: the controller draws one
  bool has_state = false;       ///< it has served before: `slice`, `epoch` and `token_key` are what it uses
  Epoch epoch{};
};

struct ServerClaim {
  std::string name{};
  std::uint64_t incarnation = 0;  ///< differs for each life of the server's process
  std::vector<WorkerClaim> workers{};
};

/// What an agent reports of a worker. Kept for people and for the sum of quotas; no row changes with it.
struct WorkerReport {
  WorkerId id{};
  unsigned quota = 0;        ///< in force, 0..kMaxQuota
  std::uint32_t held = 0;    ///< unfinished tasks
  std::uint64_t served = 0;  ///< since it started
  double idleness = 0;       ///< of the last interval, 0..1
  double slowdown_p99 = 0;   ///< likewise
  bool alive = true;         ///< its thread still counts
  bool drained = false;      ///< quota 0, nothing held, no token out
};

struct ServerRow {
  std::string name{};
  std::uint64_t incarnation = 0;
  std::uint64_t session = 0;  ///< of its stream; a report of an older one is stale
  bool attached = false;      ///< the stream is open
  Nanos lease_end{};
};

/// What an operator may change of a slice.
struct SlicePatch {
  std::optional<std::uint32_t> queue_capacity{};
  std::optional<std::uint32_t> spill{};
  bool default_spill = false;  ///< back to what the agents came to, or the switch's default
  std::optional<std::uint16_t> drain{};
};

/// What is written to the state file.
struct RegistryState {
  std::uint64_t instance = 0;
  Version version = 0;
  std::vector<Versioned<SliceRow>> slices{};
  std::vector<Versioned<TypeRow>> types{};
  std::vector<Versioned<WorkerRow>> workers{};
  std::vector<ServerRow> servers{};  ///< name and incarnation
};

/// A change that was made, and what is worth saying about it.
struct Done {
  std::string note{};  ///< one line, or ""
};

class Registry {
 public:
  explicit Registry(RegistryOptions options);
  /// From a state file. Leases begin anew: nobody could renew meanwhile.
  static Result<Registry> restore(RegistryOptions options, const RegistryState& state, Nanos now);
  RegistryState state() const;

  // Slices and types.
  /// Its id is chosen here; a capacity of 0 is the default, or what the switches have room for. Its master may be to come.
  Result<Done> add_slice(SliceRow slice);
  Result<Done> remove_slice(const std::string& name);
  Result<Done> set_slice(const std::string& name, const SlicePatch& patch);
  /// A worker that serves there. It stays the master until another is named, or it is moved or removed.
  Result<Done> set_master(const std::string& slice, WorkerId worker);
  /// `move`: even when another slice has it.
  Result<Done> add_type(TaskType type, const std::string& slice, bool move);
  Result<Done> remove_type(TaskType type);

  // Servers. Each renews the lease.
  /// Returns the number of the session.
  Result<std::uint64_t> enter(const ServerClaim& claim, Nanos now);
  Result<void> report(const std::string& server, std::uint64_t session, std::span<const WorkerReport> reports,
                      Nanos now);
  /// The server says goodbye: its workers leave the switch.
  Result<Done> leave(const std::string& server, std::uint64_t session, Nanos now);
  /// An agent asks for a move of a worker of its own.
  Result<Done> request_move(const std::string& server, std::uint64_t session, WorkerId worker,
                            const std::string& slice, Nanos now);
  /// An agent says which spill threshold suits its workers of a slice. It counts until its next word or the end of the
  /// server's lease; spill_wishes.h makes one of all. An operator's threshold stays in force.
  Result<Done> request_spill(const std::string& server, std::uint64_t session, const std::string& slice,
                             std::uint32_t spill, Nanos now);
  /// The stream has ended; the lease goes on.
  void detach(const std::string& server, std::uint64_t session);

  // Workers. `force`: even the last one of its slice.
  Result<Done> drain(WorkerId worker, bool force);
  Result<Done> remove(WorkerId worker, bool force);
  Result<Done> resume(WorkerId worker);
  Result<Done> move(WorkerId worker, const std::string& slice, bool force);
  Result<Done> set_quota(WorkerId worker, unsigned quota);

  /// To be called several times in a lease. Takes out what has expired; refused when `now` is before an earlier one.
  Result<Done> tick(Nanos now);

  Version version() const { return version_; }
  std::uint64_t instance() const { return options_.instance; }
  /// Another number: whoever follows is sent everything with the next change. For when what was told could not be saved.
  void renew_instance();
  /// Everything when `instance` is another, or `version` is none of ours.
  Changes changes_since(std::uint64_t instance, Version version) const;
  /// Refused when `version` is not the present one: somebody else changed something meanwhile.
  Result<void> check_version(Version version) const;

  // For status and shares.
  std::vector<SliceRow> slices() const;
  std::vector<TypeRow> types() const;
  std::vector<WorkerRow> workers() const;  ///< those that are gone too
  std::vector<ServerRow> servers() const;
  const WorkerReport* report_of(WorkerId worker) const;
  /// Queue capacity and quotas: what the rack takes at once.
  std::uint64_t room() const;
  /// Slices whose tasks, or all but the sticky ones, nobody serves; one line each.
  std::vector<std::string> warnings() const;
  const std::array<std::uint64_t, kReasonCount>& refusals() const { return refusals_; }
  std::uint64_t clock_jumps() const { return clock_jumps_; }
  /// By how much the last tick extended the leases.
  Nanos last_jump() const { return last_jump_; }

 private:
  using SliceEntry = Versioned<SliceRow>;
  using WorkerEntry = Versioned<WorkerRow>;

  tl::unexpected<Refusal> refuse(Reason reason, std::string text) const;
  Result<void> advance(Nanos now);
  Result<SliceEntry*> slice_named(const std::string& name);
  tl::unexpected<Refusal> refuse_slice(const std::string& where, const std::string& name) const;
  Result<WorkerEntry*> worker_with(WorkerId id);
  Result<ServerRow*> session_of(const std::string& server, std::uint64_t session, Nanos now);
  Result<void> check_not_last(const WorkerRow& worker, bool force) const;
  Result<void> check_claim(const ServerClaim& claim) const;
  Result<SliceId> slice_of(const WorkerClaim& claim) const;
  Result<void> check_report(const std::string& server, const WorkerReport& report) const;

  template <typename Row>
  void touch(Versioned<Row>& entry) {
    entry.version = ++version_;
  }
  void put(const ServerClaim& server, const WorkerClaim& claim, SliceId slice, bool new_life);
  /// Out of the switch, with a new epoch.
  void take_out(WorkerEntry& entry, WorkerState state);
  /// It is dead, or its server is silent. An operator's order to leave is done with that.
  void lose(WorkerEntry& entry);
  void put_in(WorkerEntry& entry);
  bool has_slice(SliceId slice) const;
  Done moved(WorkerEntry& entry, SliceEntry& to);
  unsigned serving_in(SliceId slice) const;
  bool is_master(const WorkerRow& worker) const;
  /// Its tokens die: it changes places in the switch.
  void begin_epoch(WorkerEntry& entry);
  /// It is no slice's master any more.
  void forget_master(WorkerId worker);
  /// The worker leaves its slice for good: what that means for the slice's sticky tasks, "" when it is not the master.
  std::string end_mastership(const WorkerRow& worker);
  /// Servers that have gone and own no worker.
  void forget_servers(Nanos now);
  bool owns_worker(const std::string& server) const;
  /// Calls `visit(WorkerEntry&)` for those of the server's workers that are in the switch.
  template <typename Visit>
  void for_each_in_switch(const std::string& server, Visit visit) {
    for (auto& [id, entry] : workers_) {
      if (entry.row.server == server && is_in_switch(entry.row.state)) visit(entry);
    }
  }
  /// Why nobody serves the slice's tasks, or all but the sticky ones; "": somebody does.
  std::string unserved(SliceId slice) const;
  Result<void> check_sizes(const SliceRow& slice) const;
  Result<void> check_room(const std::string& slice, std::uint32_t more) const;
  unsigned serving_of(const std::string& server, SliceId slice) const;
  /// Takes over what the agents' wishes come to by now, unless an operator's threshold is in force.
  void agree_spill(SliceEntry& entry);
  std::string name_of(SliceId slice) const;

  RegistryOptions options_;
  Version version_ = 0;
  std::uint64_t next_session_ = 1;
  Nanos first_now_{};
  Nanos last_now_{};
  Nanos last_tick_{};
  Nanos last_jump_{};
  bool has_clock_ = false;
  std::uint64_t clock_jumps_ = 0;
  mutable std::array<std::uint64_t, kReasonCount> refusals_{};
  std::map<SliceId, SliceEntry> slices_;
  std::map<TaskType, Versioned<TypeRow>> types_;
  std::map<WorkerId, WorkerEntry> workers_;
  std::map<std::string, ServerRow> servers_;
  std::map<WorkerId, WorkerReport> reports_;
  std::map<SliceId, std::map<std::string, SpillWish>> spill_wishes_;  // by server
};

}  // namespace rain::control
