// Any history of events at a registry. What must hold after each: who follows by changes, from however long ago, has the
// registry's rows; a refused event changes nothing; a worker never comes back to an epoch it had; what is saved can be
// restored.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"
#include "control/registry.h"
#include "fuzz/fuzz.h"

namespace rain::fuzz {
namespace {

using namespace rain::control;

/// The input as numbers; zeros when it has ended.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool done() const { return at_ >= bytes_.size(); }
  std::uint8_t next() { return done() ? std::uint8_t{0} : static_cast<std::uint8_t>(bytes_[at_++]); }
  unsigned below(unsigned bound) { return next() % bound; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

/// Somebody who knows the tables only by changes.
struct Follower {
  std::uint64_t instance = 0;
  Version version = 0;
  std::map<SliceId, SliceRow> slices{};
  std::map<TaskType, TypeRow> types{};
  std::map<WorkerId, WorkerRow> workers{};

  template <typename Map, typename Row, typename Key>
  static void apply(Map& map, const std::vector<Versioned<Row>>& rows, Key key) {
    for (const Versioned<Row>& one : rows) {
      if (one.removed) {
        map.erase(key(one.row));
      } else {
        map[key(one.row)] = one.row;
      }
    }
  }
  void follow(const Registry& registry) {
    const Changes changes = registry.changes_since(instance, version);
    if (changes.reset) *this = {};
    instance = changes.instance;
    version = changes.version;
    apply(slices, changes.slices, [](const SliceRow& row) { return row.id; });
    apply(types, changes.types, [](const TypeRow& row) { return row.type; });
    apply(workers, changes.workers, [](const WorkerRow& row) { return row.id; });
  }
  template <typename Map, typename Row>
  static void check(const Map& map, const std::vector<Row>& rows) {
    RAIN_ASSERT(map.size() == rows.size());
    RAIN_ASSERT(std::equal(rows.begin(), rows.end(), map.begin(),
                           [](const Row& row, const auto& entry) { return row == entry.second; }));
  }
  void check(const Registry& registry) const {
    check(slices, registry.slices());
    check(types, registry.types());
    std::vector<WorkerRow> in_switch = registry.workers();
    std::erase_if(in_switch, [](const WorkerRow& row) { return !is_in_switch(row.state); });
    check(workers, in_switch);
  }
};

/// `keys`: also makes instance numbers, which no other registry of a history may have had.
RegistryOptions options(std::uint32_t& keys) {
  return {.instance = 1, .lease = seconds(2), .max_slices = 4, .max_workers = 8, .draw_key = [&keys] {
            return ++keys;
          }};
}

class History {
 public:
  explicit History(Numbers& numbers) : numbers_(numbers), registry_(options(keys_)) {}

  void run() {
    while (!numbers_.done()) {
      const RegistryState before = registry_.state();
      const std::vector<WorkerRow> workers = registry_.workers();
      if (!event()) {
        const RegistryState after = registry_.state();
        RAIN_ASSERT(after.version == before.version && after.slices == before.slices &&
                    after.types == before.types && after.workers == before.workers);
      }
      check(workers);
    }
    for (Follower& one : followers_) {
      one.follow(registry_);
      one.check(registry_);
    }
  }

 private:
  std::string slice() { return std::string(1, static_cast<char>('a' + numbers_.below(5))); }
  std::string server() { return std::string(1, static_cast<char>('s' + numbers_.below(3))); }
  WorkerId worker() { return {static_cast<std::uint16_t>(numbers_.below(9))}; }
  std::uint64_t session() { return sessions_[server_ = server()] - (numbers_.below(8) == 0 ? 1u : 0u); }

  bool enter() {
    ServerClaim claim{.name = server(), .incarnation = numbers_.below(3), .workers = {}};
    for (unsigned count = numbers_.below(4); count > 0; --count) {
      WorkerClaim one;
      one.id = worker();
      one.slice = slice();
      one.address = Endpoint::v4(10, 0, 0, 1, static_cast<std::uint16_t>(numbers_.below(10)));
      one.quota = numbers_.below(10);
      one.weight = static_cast<std::uint8_t>(1 + numbers_.below(9));
      one.has_state = numbers_.below(2) == 0;
      one.epoch = {numbers_.next()};
      claim.workers.push_back(one);
    }
    const auto session = registry_.enter(claim, now_);
    if (session) sessions_[claim.name] = *session;
    return session.has_value();
  }
  bool report() {
    WorkerReport one;
    one.id = worker();
    one.quota = numbers_.below(10);
    one.idleness = numbers_.below(3) / 1.5;
    one.alive = numbers_.below(3) != 0;
    one.drained = numbers_.below(2) == 0;
    const std::uint64_t number = session();
    return registry_.report(server_, number, std::span(&one, 1), now_).has_value();
  }
  bool request_spill() {
    const std::uint64_t number = session();
    return registry_.request_spill(server_, number, slice(), numbers_.below(24), now_).has_value();
  }
  bool add_slice() {
    SliceRow row;
    row.name = slice();
    row.other_types = numbers_.below(3) == 0;
    row.group = numbers_.below(5) == 0 ? 1 : 0;
    row.queue_capacity = numbers_.below(20);
    if (numbers_.below(2) == 0) row.spill = numbers_.below(20);
    return registry_.add_slice(row).has_value();
  }
  bool set_slice() {
    SlicePatch patch;
    if (numbers_.below(2) == 0) patch.queue_capacity = numbers_.below(20);
    if (numbers_.below(2) == 0) patch.spill = numbers_.below(20);
    patch.default_spill = numbers_.below(4) == 0;
    return registry_.set_slice(slice(), patch).has_value();
  }
  bool time() {
    now_ += milliseconds(100) * numbers_.next();
    if (numbers_.below(16) == 0) now_ -= seconds(5);
    return registry_.tick(now_).has_value();
  }
  /// Changes are told from now on that a restart forgets.
  bool disk_fails() {
    kept_ = registry_.state();
    registry_.renew_instance();
    return true;
  }
  bool disk_is_back() {
    kept_.reset();
    return true;
  }
  bool restart() {
    went_back_ = kept_.has_value();
    auto restored = Registry::restore(options(keys_), kept_ ? *kept_ : registry_.state(), now_);
    RAIN_ASSERT(restored.has_value());
    registry_ = std::move(*restored);
    kept_.reset();
    sessions_.clear();
    return true;
  }
  bool follow() {
    followers_[numbers_.below(3)].follow(registry_);
    return true;
  }

  /// False: refused.
  bool event() {
    const auto force = [this] { return numbers_.below(4) == 0; };
    const auto type = [this] { return TaskType{static_cast<std::uint16_t>(numbers_.below(4))}; };
    switch (numbers_.below(19)) {
      case 0:
        return add_slice();
      case 1:
        return set_slice();
      case 2:
        return registry_.remove_slice(slice()).has_value();
      case 3:
        return registry_.add_type(type(), slice(), force()).has_value();
      case 4:
        return registry_.remove_type(type()).has_value();
      case 5:
        return registry_.set_master(slice(), worker()).has_value();
      case 6:
        return enter();
      case 7:
        return report();
      case 8: {
        const std::uint64_t number = session();
        return registry_.leave(server_, number, now_).has_value();
      }
      case 9: {
        const std::uint64_t number = session();
        return registry_.request_move(server_, number, worker(), slice(), now_).has_value();
      }
      case 10:
        return registry_.drain(worker(), force()).has_value();
      case 11:
        return registry_.remove(worker(), force()).has_value();
      case 12:
        return registry_.resume(worker()).has_value();
      case 13:
        return registry_.move(worker(), slice(), force()).has_value();
      case 14:
        return registry_.set_quota(worker(), numbers_.below(10)).has_value();
      case 15:
        return numbers_.below(8) == 0 ? restart() : follow();
      case 16:
        return request_spill();
      case 17:
        return numbers_.below(2) == 0 && !kept_ ? disk_fails() : disk_is_back();
      default:
        return time();
    }
  }

  void check(const std::vector<WorkerRow>& before) {
    if (std::exchange(went_back_, false)) return;  // to an older state: the followers find out
    for (const WorkerRow& old : before) {
      const std::vector<WorkerRow> now = registry_.workers();
      const auto found =
          std::find_if(now.begin(), now.end(), [&old](const WorkerRow& row) { return row.id == old.id; });
      RAIN_ASSERT(found != now.end());
      // Never back; far ahead when a server has heard of a newer one.
      const auto ahead = static_cast<std::int16_t>(found->epoch.value - old.epoch.value);
      RAIN_ASSERT(ahead >= 0);
      // Whatever ends the life of a worker's tokens has given it another epoch.
      if (is_in_switch(old.state) &&
          (!is_in_switch(found->state) || found->slice != old.slice || found->address != old.address))
        RAIN_ASSERT(ahead > 0);
    }
    for (const SliceRow& one : registry_.slices()) {
      RAIN_ASSERT(one.spill.value_or(0) <= one.queue_capacity);
      RAIN_ASSERT(one.agents_spill.value_or(0) <= one.queue_capacity);
    }
    for (const WorkerRow& one : registry_.workers()) {
      for (const WorkerRow& other : registry_.workers()) {
        if (is_in_switch(one.state) && is_in_switch(other.state) && one.server != other.server)
          RAIN_ASSERT(one.address != other.address);
      }
    }
  }

  Numbers& numbers_;
  std::uint32_t keys_ = 0;
  Registry registry_;
  std::optional<RegistryState> kept_;  // the file, when it is older than what is told
  bool went_back_ = false;
  Nanos now_ = seconds(100);
  std::map<std::string, std::uint64_t> sessions_;
  std::string server_;
  std::array<Follower, 3> followers_;
};

}  // namespace

void one_input(std::span<const std::byte> input) {
  Numbers numbers(input);
  History(numbers).run();
}

std::vector<Input> seeds() {
  std::vector<Input> all;
  for (unsigned seed = 1; seed <= 16; ++seed) {
    Input input;
    std::uint32_t state = seed * 2654435761u;
    for (int i = 0; i < 150; ++i) {
      state = state * 1664525u + 1013904223u;
      input.push_back(static_cast<std::byte>(state >> 24));
    }
    // Two slices and a server with two workers, so that most of what follows is about something.
    const unsigned char start[] = {0, 0, 1, 1, 10, 1, 0, 1, 1, 1, 10, 1, 6, 0, 0,
                                   2, 0, 0, 1, 3,  0, 1, 0, 1, 1, 2,  3, 0, 1, 0};
    std::transform(std::begin(start), std::end(start), input.begin(),
                   [](unsigned char byte) { return std::byte{byte}; });
    all.push_back(input);
  }
  return all;
}

}  // namespace rain::fuzz
