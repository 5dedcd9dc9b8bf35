#include "softswitch/switch_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/histogram.h"
#include "dataplane/programs.h"
#include "dataplane/soft_memory.h"
#include "softswitch/switch_counters.h"
#include "softswitch/switch_tables.h"

namespace rain::softswitch {

std::uint64_t memory_bytes(const SwitchOptions& options) {
  return dataplane::visit_program<dataplane::SoftMemory>(
      options.program_info().id, options.quota, [&]<typename Program>(dataplane::TypeTag<Program>) {
        std::uint64_t bytes = 0;
        for (unsigned group = 0; group < options.group_count(); ++group) {
          const dataplane::MemoryShape shape = memory_shape(options, group);
          bytes += dataplane::SoftMemory::storage_bytes(Program::kRegisters, shape);
          bytes += shape.slices * (sizeof(SliceCounters) + 2 * Histogram::kMemoryBytes);
        }
        return bytes;
      });
}

std::string memory_problem(const SwitchOptions& options, std::uint64_t machine_bytes) {
  const std::uint64_t bytes = memory_bytes(options);
  if (bytes <= machine_bytes) return {};
  return fmt::format(
      "the switch would take {} of memory, and this machine has {}: lower max_slices, max_queue_capacity, "
      "queue_capacity or hold_slots",
      memory_text(bytes), memory_text(machine_bytes));
}

std::uint64_t machine_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
}

std::string memory_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
  const std::uint64_t mebi = (bytes + kMebi - 1) / kMebi;
  if (mebi < 1024) return fmt::format("{} MiB", mebi);
  return fmt::format("{:.1f} GiB", static_cast<double>(mebi) / 1024);
}

}  // namespace rain::softswitch
