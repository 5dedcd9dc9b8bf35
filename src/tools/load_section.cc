// See load_section.h.
#include "tools/load_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "apps/app.h"
#include "control/shares.h"

namespace rain::tools {
namespace {

using workload::ClassSpec;
using workload::Distribution;
using workload::Quantity;

constexpr unsigned kMaxConnections = 64;
constexpr std::uint32_t kMaxShare = 1'000'000;
constexpr std::array<std::string_view, 3> kAdmissions{"off", "fail", "wait"};
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

/// `service`: one class. A plain time is a constant.
std::string set_service(std::vector<ClassSpec>& classes, std::string_view text) {
  const bool plain = !text.empty() && text.front() >= '0' && text.front() <= '9';
  auto parsed =
      Distribution::parse(plain ? "const:" + std::string(text) : std::string(text), Quantity::kTime);
  if (!parsed) return parsed.error();
  classes.assign(1, ClassSpec{.name = "task", .share = 1, .type = {}, .demand = std::move(*parsed)});
  return {};
}

}  // namespace

std::string_view load_admission_name(LoadAdmission admission) {
  return kAdmissions[static_cast<std::size_t>(admission)];
}

void LoadSection::read(TomlReader& reader) {
  const std::string app_before = app;
  reader.choice("app", app, apps::app_names());
  if (app != app_before) classes.clear();  // those were another application's requests
  reader.parsed("rate", kRateAllowed, [&](std::string_view text) { return set_rate(rate, text); });
  reader.duration("duration", duration, milliseconds(1), seconds(86'400));
  reader.duration("warmup", warmup, Nanos{}, seconds(86'400));
  reader.duration("timeout", timeout, milliseconds(1), seconds(60));
  reader.integer("seed", seed, 0, INT64_MAX);
  reader.integer("connections", connections, 1, kMaxConnections);
  reader.number("sticky", sticky, 0, 1, "part of the requests that are for their slices' masters");
  reader.parsed("arrivals", "one of poisson, uniform, constant", [&](std::string_view text) {
    const auto parsed = workload::parse_arrival(text);
    if (parsed) arrivals = *parsed;
    return parsed ? std::string() : parsed.error();
  });
  reader.flag("busy_poll", busy_poll);
  read_admission(reader);
  read_classes(reader);
  if (rate.capacity_share > 0 && mean_service_ns() == 0.0)
    reader.refuse("rate", "requests a second, as a share of capacity needs service times above 0");
  reader.finish();
}

void LoadSection::read_admission(TomlReader& reader) {
  std::string name(load_admission_name(admission));
  if (reader.choice("admission", name, kAdmissions)) {
    admission = static_cast<LoadAdmission>(std::ranges::find(kAdmissions, name) - kAdmissions.begin());
    admission_named = true;
  }
  std::uint32_t requests = 0;
  if (reader.integer("share", requests, 1, kMaxShare, "requests open at once")) share = requests;
  if (share && admission == LoadAdmission::kOff) reader.refuse("share", "only with admission = fail or wait");
  if (share && *share < connections) {
    reader.refuse("share", fmt::format("at least 1 for each of the {} connections", connections));
  }
  reader.name("client", client);
  reader.integer("weight", weight, 1, control::kMaxShareWeight);
}

void LoadSection::read_classes(TomlReader& reader) {
  const std::unique_ptr<apps::App> application = std::move(*apps::make_app(app));
  const bool has_classes = reader.parsed("classes", "text such as \"get:0.9:const:1,scan:0.1:const:500\"",
                                         [&](std::string_view text) -> std::string {
                                           auto parsed =
                                               workload::parse_classes(text, application->quantity());
                                           if (!parsed) return parsed.error();
                                           classes = std::move(*parsed);
                                           return {};
                                         });
  const bool has_service = reader.parsed("service", "a time or distribution such as \"exp:10us\"",
                                         [&](std::string_view text) { return set_service(classes, text); });
  if (has_service && application->quantity() != Quantity::kTime) {
    reader.refuse("service", "only with app = synthetic");
  }
  if (has_service && has_classes) reader.refuse("service", "not together with classes");
  if (classes.empty())
    classes = *workload::parse_classes(application->default_classes(), application->quantity());
  if (const auto adopted = application->adopt_classes(classes); !adopted)
    reader.refuse("classes", adopted.error());
}

std::optional<double> LoadSection::mean_service_ns() const {
  if (app != "synthetic") return std::nullopt;
  return spec(1).mean_demand();
}

workload::WorkloadSpec LoadSection::spec(double rate_per_second) const {
  return workload::WorkloadSpec::steady(rate_per_second, classes, arrivals);
}

}  // namespace rain::tools
