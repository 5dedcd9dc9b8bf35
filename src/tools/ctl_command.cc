// `rain ctl`: asks the controller and orders changes. Each verb is a subcommand; all take the rack file, which says where
// the controller is.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "control/names.h"
#include "control/rpc/admin_client.h"
#include "tools/command.h"
#include "tools/ctl_status.h"
#include "tools/input_error.h"
#include "tools/rack_file.h"
#include "tools/suggest.h"
#include "tools/units.h"

namespace rain::tools {
namespace {

using control::Order;

constexpr Nanos kCallLimit = seconds(5);

struct Flags {
  std::string config = "rack.toml";
  std::uint64_t if_version = 0;
  bool json = false;
  bool force = false;
  bool move = false;
  std::string worker, slice, type, number, client;  // as given: checked here, where the message is ours
  std::vector<std::string> settings;
};

template <typename Int>
Int number(const std::string& what, const std::string& text, std::int64_t min, std::int64_t max) {
  const std::optional<double> value = parse_number(text);
  if (!value || *value < static_cast<double>(min) || *value > static_cast<double>(max) ||
      *value != static_cast<double>(static_cast<std::int64_t>(*value)))
    throw InputError(fmt::format("{} = {}: an integer from {} to {}", what, text, min, max));
  return static_cast<Int>(*value);
}

WorkerId worker_of(const Flags& flags) {
  return {number<std::uint16_t>("WORKER", flags.worker, 0, dataplane::kMaxWorkers - 1)};
}

TaskType type_of(const Flags& flags) { return {number<std::uint16_t>("TYPE", flags.type, 0, UINT16_MAX)}; }

/// Names go to the controller, in messages that carry UTF-8 alone.
void check_names(const Flags& flags) {
  for (const auto& [what, name] : {std::pair("SLICE", flags.slice), std::pair("CLIENT", flags.client)}) {
    if (name.empty() || control::is_name(name)) continue;  // the controller refuses the empty one
    throw InputError(fmt::format("{} = {}: {}", what, control::shown_name(name), control::kNameAllowed));
  }
}

/// "key=value" of set-slice and add-slice.
struct Settings {
  control::SlicePatch patch;
  bool other_types = false;
};

Settings settings_of(const Flags& flags, bool for_new) {
  constexpr std::string_view kKeys[] = {"spill", "drain", "capacity", "types"};
  Settings settings;
  std::set<std::string> given;
  for (const std::string& text : flags.settings) {
    const std::size_t equals = text.find('=');
    const std::string key = text.substr(0, equals);
    if (!given.insert(key).second) throw InputError(fmt::format("'{}': {} is given twice", text, key));
    const std::string value = equals == text.npos ? "" : text.substr(equals + 1);
    if (key == "spill" && value == "default") {
      settings.patch.default_spill = true;
    } else if (key == "spill") {
      settings.patch.spill = number<std::uint32_t>(key, value, 0, dataplane::kMaxQueueCapacity);
    } else if (key == "drain") {
      settings.patch.drain = number<std::uint16_t>(key, value, 0, UINT16_MAX);
    } else if (key == "capacity") {
      settings.patch.queue_capacity = number<std::uint32_t>(key, value, 1, dataplane::kMaxQueueCapacity);
    } else if (for_new && text == "types=others") {
      settings.other_types = true;
    } else {
      throw InputError(fmt::format("'{}': spill=N or spill=default, drain=N, capacity=N{} is allowed{}", text,
                                   for_new ? ", types=others" : "", did_you_mean(key, kKeys)));
    }
  }
  if (!for_new && flags.settings.empty())
    throw InputError("set-slice: nothing to set: spill=N or spill=default, drain=N, capacity=N is allowed");
  return settings;
}

Order new_slice(const Flags& flags) {
  const Settings settings = settings_of(flags, true);
  control::AddSliceOrder order;
  order.slice.name = flags.slice;
  order.slice.other_types = settings.other_types;
  order.slice.queue_capacity = settings.patch.queue_capacity.value_or(0);  // 0: the controller's default
  order.slice.spill = settings.patch.spill;
  order.slice.drain = settings.patch.drain.value_or(order.slice.drain);
  return order;
}

std::unique_ptr<control::AdminClient> connect(const Flags& flags) {
  const RackFile rack = RackFile::read(flags.config);
  if (!rack.controller)
    throw InputError(flags.config + ": there is no [controller]; it says where the controller listens");
  auto client = control::AdminClient::open(rack.controller->address);
  if (!client) throw InputError(client.error());
  return std::move(*client);
}

[[noreturn]] void fail(const control::CallProblem& problem) {
  if (problem.bad_input) throw InputError(problem.text);
  throw std::runtime_error(problem.text);
}

int print_status(const Flags& flags) {
  const auto status = connect(flags)->status(kCallLimit);
  if (!status) fail(status.error());
  fmt::print("{}", flags.json ? status_json(*status).dump(2) + '\n' : status_text(*status));
  return kExitOk;
}

int send(const Flags& flags, const Order& order) {
  const auto done = connect(flags)->order(order, flags.if_version, kCallLimit);
  if (!done) fail(done.error());
  if (flags.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"version", done->version}, {"note", done->note}}.dump());
  } else {
    fmt::print("done: version {}{}{}\n", done->version, done->note.empty() ? "" : "; ", done->note);
  }
  return kExitOk;
}

/// The verbs, each declared where its arguments are named.
class Verbs {
 public:
  Verbs(CLI::App& app, std::shared_ptr<Flags> flags) : app_(app), flags_(std::move(flags)) {
    app_.require_subcommand(1);
    app_.add_option("--config", flags_->config, "the rack file, with a [controller] (rack.toml)")
        ->type_name("FILE");
  }

  template <typename Make>
  CLI::App& add(const char* name, const char* help, Make make) {
    CLI::App& verb = *app_.add_subcommand(name, help);
    verb.fallthrough();
    verb.add_flag("--json", flags_->json, "one JSON object on standard output");
    verb.add_option("--if-version", flags_->if_version, "only if the tables have this version")
        ->type_name("N");
    verb.callback([run = run_, flags = flags_, make] {
      *run = [flags, make] { return check_names(*flags), send(*flags, make(*flags)); };
    });
    return verb;
  }
  void status() {
    CLI::App& verb = *app_.add_subcommand("status", "print slices, workers, servers, switches and clients");
    verb.fallthrough();
    verb.add_flag("--json", flags_->json, "one JSON object on standard output");
    verb.callback([run = run_, flags = flags_] { *run = [flags] { return print_status(*flags); }; });
  }
  Run run() const {
    return [run = run_] { return (*run)(); };
  }

 private:
  CLI::App& app_;
  std::shared_ptr<Flags> flags_;
  std::shared_ptr<Run> run_ = std::make_shared<Run>();
};

void declare_worker_verbs(Verbs& verbs, Flags& flags) {
  const auto worker = [&flags](CLI::App& verb) {
    verb.add_option("WORKER", flags.worker, "worker id")->required();
  };
  const auto force = [&flags](CLI::App& verb) {
    verb.add_flag("--force", flags.force, "even if its slice is left without a worker");
  };
  CLI::App& drain = verbs.add("drain", "a worker serves what it holds, then leaves: no request is lost",
                              [](const Flags& f) {
                                return Order(control::DrainOrder{worker_of(f), f.force});
                              });
  worker(drain), force(drain);
  CLI::App& remove = verbs.add("remove", "a worker leaves at once", [](const Flags& f) {
    return Order(control::RemoveOrder{worker_of(f), f.force});
  });
  worker(remove), force(remove);
  worker(verbs.add("resume", "a worker that was drained or removed serves again",
                   [](const Flags& f) { return Order(control::ResumeOrder{worker_of(f)}); }));
  CLI::App& move = verbs.add("move", "a worker serves another slice", [](const Flags& f) {
    return Order(control::MoveOrder{worker_of(f), f.slice, f.force});
  });
  worker(move), force(move);
  move.add_option("SLICE", flags.slice, "name")->required();
  CLI::App& quota = verbs.add("set-quota", "how many tasks a worker may hold; its agent adapts it from there",
                              [](const Flags& f) {
                                const auto n = number<unsigned>("QUOTA", f.number, 1, kMaxQuota);
                                return Order(control::QuotaOrder{worker_of(f), n});
                              });
  worker(quota);
  quota.add_option("QUOTA", flags.number, "1 to 8")->required();
}

void declare_slice_verbs(Verbs& verbs, Flags& flags) {
  const auto slice = [&flags](CLI::App& verb) { verb.add_option("SLICE", flags.slice, "name")->required(); };
  const auto type = [&flags](CLI::App& verb) {
    verb.add_option("TYPE", flags.type, "task type")->required();
  };
  CLI::App& add = verbs.add("add-slice", "a new slice", new_slice);
  slice(add);
  add.add_option("SETTING", flags.settings, "spill=N, drain=N, capacity=N, types=others");
  slice(verbs.add("remove-slice", "a slice without workers and types goes",
                  [](const Flags& f) { return Order(control::RemoveSliceOrder{f.slice}); }));
  CLI::App& set = verbs.add("set-slice", "change a slice", [](const Flags& f) {
    return Order(control::SetSliceOrder{f.slice, settings_of(f, false).patch});
  });
  slice(set);
  set.add_option("SETTING", flags.settings, "spill=N or spill=default, drain=N, capacity=N");
  CLI::App& master =
      verbs.add("master", "name the worker that takes a slice's sticky tasks", [](const Flags& f) {
        return Order(control::MasterOrder{f.slice, worker_of(f)});
      });
  slice(master);
  master.add_option("WORKER", flags.worker, "worker id")->required();
  CLI::App& add_type = verbs.add("add-type", "a slice serves a task type", [](const Flags& f) {
    return Order(control::AddTypeOrder{type_of(f), f.slice, f.move});
  });
  type(add_type), slice(add_type);
  add_type.add_flag("--move", flags.move, "even if another slice has it");
  type(verbs.add("remove-type", "no slice names a task type any more",
                 [](const Flags& f) { return Order(control::RemoveTypeOrder{type_of(f)}); }));
  CLI::App& weight = verbs.add("weight", "a client's part of the rack's room", [](const Flags& f) {
    return Order(control::WeightOrder{
        f.client, number<std::uint32_t>("WEIGHT", f.number, 1, control::kMaxShareWeight)});
  });
  weight.add_option("CLIENT", flags.client, "name")->required();
  weight.add_option("WEIGHT", flags.number, "1 to 1000")->required();
}

}  // namespace

Run declare_ctl(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  Verbs verbs(app, flags);
  verbs.status();
  declare_worker_verbs(verbs, *flags);
  declare_slice_verbs(verbs, *flags);
  return verbs.run();
}

}  // namespace rain::tools
