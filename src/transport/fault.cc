#include "transport/fault.h"

namespace rain::transport {

bool FaultLine::passes(Nanos now, std::span<const std::byte> bytes, const Endpoint& peer,
                       FaultCounters& counters) {
  if (prng_.chance(options_.loss)) {
    ++counters.lost;
    return false;
  }
  if (prng_.chance(options_.delay) && put(now + draw_delay(), bytes, peer, counters, counters.delayed))
    return false;
  if (!one_waits_to_be_overtaken_ && prng_.chance(options_.reorder) &&
      put(now + options_.reorder_patience, bytes, peer, counters, counters.reordered)) {
    one_waits_to_be_overtaken_ = true;
    waiting_sequence_ = store_.last_sequence();
    return false;
  }
  if (prng_.chance(options_.duplicate)) put(now + draw_delay(), bytes, peer, counters, counters.duplicated);
  if (one_waits_to_be_overtaken_) {
    store_.make_due(waiting_sequence_, now);
    one_waits_to_be_overtaken_ = false;
  }
  return true;
}

bool FaultLine::put(Nanos due, std::span<const std::byte> bytes, const Endpoint& peer,
                    FaultCounters& counters, std::uint64_t& counter) {
  const bool stored = store_.put(due, bytes, peer);
  ++(stored ? counter : counters.storage_full);
  return stored;
}

Nanos FaultLine::draw_delay() {
  RAIN_ASSERT(options_.max_delay >= Nanos{});
  return {static_cast<std::int64_t>(prng_.below(static_cast<std::uint64_t>(options_.max_delay.value) + 1))};
}

}  // namespace rain::transport
