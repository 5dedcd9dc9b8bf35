#include "softswitch/switch_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/assert.h"
#include "base/endpoint_text.h"
#include "base/range_check.h"

namespace rain::softswitch {
namespace {

using Result = tl::expected<void, std::string>;

template <typename... Args>
Result refuse(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(fmt::format(format, std::forward<Args>(args)...));
}

std::string program_names() {
  std::string names;
  for (const dataplane::ProgramInfo& info : dataplane::kPrograms) {
    if (!info.on_sockets) continue;
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

Result to_result(std::string problem) {
  if (problem.empty()) return {};
  return tl::unexpected(std::move(problem));
}

Result check_range(const std::string& key, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  return to_result(range_problem(key, value, low, high));
}

Result check_range(const std::string& key, Nanos value, Nanos low, Nanos high) {
  return to_result(range_problem(key, value, low, high));
}

Result check_scalars(const SwitchOptions& options) {
  constexpr std::uint64_t kMaxBuffer = std::uint64_t{1} << 30;
  const dataplane::ProgramInfo* program = dataplane::find_program(options.program);
  if (program == nullptr || !program->on_sockets) {
    return refuse(R"(program = "{}": one of {} is allowed)", options.program, program_names());
  }
  Result result = check_range("quota", options.quota, 1, kMaxQuota);
  if (result) result = check_range("hold_slots", options.hold_slots, 0, 1u << 20);
  if (result) result = check_range("receive_buffer_bytes", options.receive_buffer_bytes, 0, kMaxBuffer);
  if (result) result = check_range("send_buffer_bytes", options.send_buffer_bytes, 0, kMaxBuffer);
  if (result) result = check_range("kernel_busy_poll", options.kernel_busy_poll, Nanos{}, seconds(1));
  if (result) result = check_range("drain_limit", options.drain_limit, Nanos{}, seconds(3600));
  if (result) result = check_range("max_workers", options.max_workers, 0, dataplane::kMaxWorkers);
  if (result) result = check_range("max_slices", options.max_slices, 0, dataplane::kMaxSlices);
  if (result) {
    result = check_range("max_queue_capacity", options.max_queue_capacity, 0, dataplane::kMaxQueueCapacity);
  }
  return result;
}

Result check_slice(const SwitchSlice& slice) {
  const auto key = [&slice](const char* name) { return fmt::format(R"(slice "{}": {})", slice.name, name); };
  if (slice.name.empty()) return refuse(R"(slice {}: name = "": a name is needed)", slice.id.value);
  const std::uint32_t ids = slice.host ? 2 * dataplane::kMaxSlices : dataplane::kMaxSlices;
  Result result = check_range(key("id"), slice.id.value, 0, ids - 1);
  if (result) {
    result = check_range(key("queue_capacity"), slice.queue_capacity, 1, dataplane::kMaxQueueCapacity);
  }
  if (result && slice.spill) result = check_range(key("spill"), *slice.spill, 0, slice.queue_capacity);
  if (result) result = check_range(key("group"), slice.group, 0, kMaxGroups - 1);
  return result;
}

/// Of a master slice: whose it is.
Result check_host(const std::vector<SwitchSlice>& slices, const SwitchSlice& slice) {
  const std::string key = fmt::format(R"(slice "{}": host = {})", slice.name, slice.host->value);
  const auto host = std::find_if(slices.begin(), slices.end(),
                                 [&](const SwitchSlice& one) { return one.id == *slice.host; });
  if (host == slices.end()) return refuse("{}: no slice has this id", key);
  if (host->host || host->id == slice.id) {
    return refuse(R"({}: slice "{}" takes sticky tasks itself; one that serves task types is allowed)", key,
                  host->name);
  }
  if (host->group != slice.group) {
    return refuse(R"({}: group = {}: slice "{}" has group {}; both need the same)", key, slice.group,
                  host->name, host->group);
  }
  for (const SwitchSlice& other : slices) {
    if (other.id == slice.id || other.host != slice.host) continue;
    return refuse(R"({}: slice "{}" takes the sticky tasks of "{}" already; one slice may)", key, other.name,
                  host->name);
  }
  return {};
}

Result check_slices(const std::vector<SwitchSlice>& slices) {
  std::set<std::string> names;
  std::set<SliceId> ids;
  std::map<TaskType, std::string> owner_of;
  std::string takes_the_rest;
  for (const SwitchSlice& slice : slices) {
    if (Result result = check_slice(slice); !result) return result;
    // Those of masters are made here: no operator chose them.
    if (!slice.host && !names.insert(slice.name).second) {
      return refuse(R"(slice "{}": name: another slice has it; names differ)", slice.name);
    }
    if (!ids.insert(slice.id).second) {
      return refuse(R"(slice "{}": id = {}: another slice has it; ids differ)", slice.name, slice.id.value);
    }
    for (const TaskType type : slice.task_types) {
      const auto [at, is_new] = owner_of.try_emplace(type, slice.name);
      if (!is_new) {
        return refuse(R"(slice "{}": types = {}: slice "{}" has it; a type belongs to one slice)", slice.name,
                      type.value, at->second);
      }
    }
    if (!slice.takes_other_types()) continue;
    if (!takes_the_rest.empty()) {
      return refuse(R"(slice "{}": types is empty: slice "{}" takes all other types already; one slice may)",
                    slice.name, takes_the_rest);
    }
    takes_the_rest = slice.name;
  }
  for (const SwitchSlice& slice : slices) {
    if (!slice.host) continue;
    if (Result result = check_host(slices, slice); !result) return result;
  }
  return {};
}

Result check_groups(const SwitchOptions& options) {
  const unsigned count = options.slices.empty() ? 0 : options.group_count();
  for (unsigned group = 0; group < count; ++group) {
    if (std::none_of(options.slices.begin(), options.slices.end(),
                     [group](const SwitchSlice& slice) { return slice.group == group; })) {
      return refuse("group = {}: no slice has it; groups are numbered from 0 to {} without gaps", group,
                    count - 1);
    }
  }
  return {};
}

Result check_room(const SwitchOptions& options) {
  const std::uint32_t most = options.max_slices != 0 ? options.max_slices : dataplane::kMaxSlices;
  for (const SwitchSlice& slice : options.slices) {
    const auto on_its_thread = std::count_if(options.slices.begin(), options.slices.end(),
                                             [&](const auto& one) { return one.group == slice.group; });
    if (static_cast<std::uint32_t>(on_its_thread) <= most) continue;
    return refuse("{} slices on thread {}: {} is allowed (max_slices)", on_its_thread, slice.group, most);
  }
  for (const SwitchSlice& slice : options.slices) {
    if (options.max_queue_capacity == 0 || slice.queue_capacity <= options.max_queue_capacity) continue;
    return refuse(R"(slice "{}": queue_capacity is {}, but max_queue_capacity is {})", slice.name,
                  slice.queue_capacity, options.max_queue_capacity);
  }
  for (const SwitchWorker& worker : options.workers) {
    if (options.max_workers == 0 || worker.id.value < options.max_workers) continue;
    return refuse("worker {}: id: max_workers is {}, ids below it are allowed", worker.id.value,
                  options.max_workers);
  }
  return {};
}

Result check_workers(const SwitchOptions& options) {
  std::set<WorkerId> ids;
  const bool reaches_ipv4_only = options.listen.is_v4();
  for (const SwitchWorker& worker : options.workers) {
    const std::string key = fmt::format("worker {}", worker.id.value);
    Result result = check_range(key + ": id", worker.id.value, 0, dataplane::kMaxWorkers - 1);
    if (result) result = check_range(key + ": weight", worker.weight, 1, dataplane::kMaxWeight);
    if (!result) return result;
    if (!ids.insert(worker.id).second) return refuse("{}: id: another worker has it; ids differ", key);
    if (std::none_of(options.slices.begin(), options.slices.end(),
                     [&worker](const SwitchSlice& slice) { return slice.id == worker.slice; })) {
      return refuse("{}: slice = {}: no slice has this id", key, worker.slice.value);
    }
    const std::string address = format_endpoint(worker.address);
    if (worker.address.port == 0) return refuse("{}: address = {}: port 1 to 65535 is allowed", key, address);
    if (worker.address == options.listen) {
      return refuse("{}: address = {}: the switch listens there itself", key, address);
    }
    if (!reaches_ipv4_only && options.listen.address != Endpoint{}.address && worker.address.is_v4()) {
      return refuse("{}: address = {}: an IPv6 address is needed, as the switch listens on {}", key, address,
                    format_endpoint(options.listen));
    }
    if (reaches_ipv4_only && !worker.address.is_v4()) {
      return refuse("{}: address = {}: an IPv4 address is needed, as the switch listens on {}", key, address,
                    format_endpoint(options.listen));
    }
  }
  return {};
}

}  // namespace

SliceId master_slice_id(SliceId host) {
  return {static_cast<std::uint16_t>(dataplane::kMaxSlices + host.value)};
}

SwitchSlice master_slice(const SwitchSlice& host) {
  SwitchSlice slice = host;
  slice.name += " (master)";
  slice.id = master_slice_id(host.id);
  slice.task_types.clear();
  slice.other_types = false;
  slice.host = host.id;
  slice.spill.reset();
  return slice;
}

tl::expected<void, std::string> SwitchOptions::validate() const {
  Result result = check_scalars(*this);
  if (result && slices.empty() && max_slices == 0) {
    result = refuse("slices: none; at least one is needed, or a max_slices for those to come");
  }
  if (result) result = validate_slices();
  if (result) result = check_groups(*this);
  if (result) result = check_workers(*this);
  if (result) result = check_room(*this);
  return result;
}

tl::expected<void, std::string> SwitchOptions::validate_tables() const {
  Result result = check_slices(slices);
  if (result) result = check_workers(*this);
  return result;
}

tl::expected<void, std::string> SwitchOptions::validate_slices() const { return check_slices(slices); }

std::string SwitchOptions::warning() const {
  // With a quota of 1 there are no spare tokens, and nothing overtakes.
  if (program_info().id != dataplane::ProgramId::kRain || quota == 1) return {};
  for (const SwitchSlice& slice : slices) {
    if (slice.drain != 0 || spill_of(slice) == 0) continue;
    return fmt::format(
        "slice \"{0}\": with drain = 0 newer tasks may overtake the first {1} that wait (spill = {1}) for as "
        "long as no "
        "worker is idle; a drain above 0 serves them",
        slice.name, spill_of(slice));
  }
  return {};
}

unsigned SwitchOptions::group_count() const {
  unsigned last = 0;
  for (const SwitchSlice& slice : slices) last = std::max(last, slice.group);
  return last + 1;
}

const dataplane::ProgramInfo& SwitchOptions::program_info() const {
  const dataplane::ProgramInfo* info = dataplane::find_program(program);
  RAIN_ASSERT(info != nullptr);
  return *info;
}

std::uint32_t SwitchOptions::workers_of(SliceId slice) const {
  return static_cast<std::uint32_t>(std::count_if(
      workers.begin(), workers.end(), [slice](const SwitchWorker& worker) { return worker.slice == slice; }));
}

std::uint32_t SwitchOptions::spill_of(const SwitchSlice& slice) const {
  return slice.spill.value_or(std::min(workers_of(slice.id) / 4, slice.queue_capacity));
}

}  // namespace rain::softswitch
