#include "softswitch/switch_report.h"

#include <fmt/format.h>

#include <iterator>

namespace rain::softswitch {
namespace {

double to_us(Nanos duration) { return static_cast<double>(duration.value) / 1000; }

}  // namespace

void SwitchTotals::add(const SwitchCounters& thread) {
  for (std::size_t i = 0; i < counters.size(); ++i) counters[i] += thread.get(static_cast<SwitchCounter>(i));
  thread.drops().for_each(
      [this](DropReason reason, std::uint64_t count) { drops[static_cast<std::size_t>(reason)] += count; });
}

double SwitchReport::queued_ratio() const {
  const std::uint64_t buffered = totals.get(SwitchCounter::kBuffered);
  const std::uint64_t accepted = buffered + totals.get(SwitchCounter::kForwarded);
  return accepted == 0 ? 0 : static_cast<double>(buffered) / static_cast<double>(accepted);
}

std::uint64_t SwitchReport::queue_p99() const {
  Histogram all;
  for (const SliceHistograms& slice : slices) all.merge(slice.queue_length);
  return static_cast<std::uint64_t>(all.quantile(0.99).value);
}

std::uint64_t SwitchReport::waiting() const {
  std::uint64_t sum = 0;
  for (const SliceTotals& slice : totals.slices) sum += slice.waiting();
  return sum;
}

std::string SwitchReport::text() const {
  std::string out;
  const auto line = std::back_inserter(out);
  fmt::format_to(line, "switch counters, scheduler {}:\n", program);
  for (std::size_t i = 0; i < totals.counters.size(); ++i) {
    if (totals.counters[i] != 0)
      fmt::format_to(line, "  {:<28}{}\n", kSwitchCounters[i].name, totals.counters[i]);
  }
  for (std::size_t i = 1; i < totals.drops.size(); ++i) {
    const auto reason = static_cast<DropReason>(i);
    if (totals.drops[i] != 0) {
      fmt::format_to(line, "  {:<28}{}\n", std::string("drop.") + drop_reason_name(reason), totals.drops[i]);
    }
  }
  if (totals.receive_overflows != 0) {
    fmt::format_to(line, "  {:<28}{}  (larger receive buffers help)\n", "socket_overflows",
                   totals.receive_overflows);
  }
  if (cut_packets != 0) fmt::format_to(line, "  {:<28}{}\n", "cut_packets", cut_packets);
  fmt::format_to(line, "  {:<16}{:>12}{:>12}{:>12}{:>10}{:>14}{:>14}\n", "slice", "forwarded", "buffered",
                 "dispatched", "waiting", "queue p99", "delay p99 us");
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const SliceTotals& slice = totals.slices[i];
    fmt::format_to(line, "  {:<16}{:>12}{:>12}{:>12}{:>10}{:>14}{:>14.1f}\n", slice.name, slice.forwarded,
                   slice.buffered, slice.dispatched, slice.waiting(),
                   slices[i].queue_length.quantile(0.99).value, to_us(slices[i].queue_delay.quantile(0.99)));
  }
  if (!drained) fmt::format_to(line, "  not drained in time: {} tasks were left in the queue\n", waiting());
  return out;
}

}  // namespace rain::softswitch
