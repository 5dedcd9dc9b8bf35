// See load_section.h.
#include "tools/load_section.h"

#include <fmt/format.h>

#include <array>

namespace rain::tools {
namespace {

using workload::ClassSpec;
using workload::Distribution;
using workload::Quantity;

constexpr std::array<std::string_view, 3> kApps{"echo", "synthetic", "rocksdb"};
constexpr unsigned kMaxConnections = 64;
constexpr std::string_view kRateAllowed =
    "requests a second from 0.1 to 10M such as 5000 or \"20k\", or a share of the workers' capacity from "
    "\"1%\" to "
    "\"200%\"";

std::string set_rate(Rate& rate, std::string_view text) {
  const auto parsed = parse_rate(text);
  const bool share_fits = parsed && parsed->capacity_share >= 0.01 && parsed->capacity_share <= 2;
  const bool rate_fits = parsed && parsed->per_second >= 0.1 && parsed->per_second <= 1e7;
  if (!share_fits && !rate_fits) return std::string(kRateAllowed);
  rate = *parsed;
  return {};
}

Quantity quantity_of(std::string_view app) { return app == "synthetic" ? Quantity::kTime : Quantity::kCount; }

std::string set_classes(std::vector<ClassSpec>& classes, std::string_view text, std::string_view app) {
  auto parsed = workload::parse_classes(text, quantity_of(app));
  if (!parsed) return parsed.error();
  classes = std::move(*parsed);
  return {};
}

/// `service`: one class. A plain time is a constant.
std::string set_service(std::vector<ClassSpec>& classes, std::string_view text) {
  const bool plain = !text.empty() && text.front() >= '0' && text.front() <= '9';
  auto parsed =
      Distribution::parse(plain ? "const:" + std::string(text) : std::string(text), Quantity::kTime);
  if (!parsed) return parsed.error();
  classes.assign(1, ClassSpec{.name = "task", .demand = std::move(*parsed)});
  return {};
}

}  // namespace

std::span<const std::string_view> app_names() { return kApps; }

void LoadSection::read(TomlReader& reader) {
  const std::string app_before = app;
  reader.choice("app", app, kApps);
  if (app != app_before) classes.clear();  // those were another application's requests
  reader.parsed("rate", kRateAllowed, [&](std::string_view text) { return set_rate(rate, text); });
  reader.duration("duration", duration, milliseconds(1), seconds(86'400));
  reader.duration("warmup", warmup, Nanos{}, seconds(86'400));
  reader.duration("timeout", timeout, milliseconds(1), seconds(60));
  reader.integer("seed", seed, 0, INT64_MAX);
  reader.integer("connections", connections, 1, kMaxConnections);
  reader.parsed("arrivals", "one of poisson, uniform, constant", [&](std::string_view text) {
    const auto parsed = workload::parse_arrival(text);
    if (parsed) arrivals = *parsed;
    return parsed ? std::string() : parsed.error();
  });
  reader.flag("busy_poll", busy_poll);
  const bool has_classes =
      reader.parsed("classes", "text such as \"get:0.9:const:1,scan:0.1:const:5000\"",
                    [&](std::string_view text) { return set_classes(classes, text, app); });
  const bool has_service = reader.parsed("service", "a time or distribution such as \"exp:10us\"",
                                         [&](std::string_view text) { return set_service(classes, text); });
  reader.finish();
  if (has_service && app != "synthetic") reader.refuse("service", "only with app = synthetic");
  if (has_service && has_classes) reader.refuse("service", "not together with classes");
  complete(reader);
}

void LoadSection::complete(TomlReader& reader) {
  if (classes.empty() && app == "synthetic")
    reader.refuse("service", "a time or distribution such as \"exp:10us\"");
  if (classes.empty()) {
    const std::string demand = app == "echo" ? "const:8" : "const:1";
    classes.push_back(
        {.name = app == "echo" ? "echo" : "get", .demand = *Distribution::parse(demand, Quantity::kCount)});
  }
  for (std::size_t i = 0; i < classes.size(); ++i) {
    ClassSpec& one = classes[i];
    if (!one.type) one.type = TaskType{static_cast<std::uint16_t>(i)};
    if (app == "rocksdb" && !one.name.starts_with("get") && !one.name.starts_with("scan")) {
      reader.refuse("classes",
                    fmt::format("class \"{}\": of rocksdb, a name starts with get or scan", one.name));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (classes[j].name == one.name)
        reader.refuse("classes", fmt::format("two are named \"{}\"", one.name));
    }
  }
}

std::optional<double> LoadSection::mean_service_ns() const {
  if (app != "synthetic") return std::nullopt;
  return spec(1).mean_demand();
}

workload::WorkloadSpec LoadSection::spec(double rate_per_second) const {
  return workload::WorkloadSpec::steady(rate_per_second, classes, arrivals);
}

}  // namespace rain::tools
