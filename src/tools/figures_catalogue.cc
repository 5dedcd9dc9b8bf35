// See figures_catalogue.h.
#include "tools/figures_catalogue.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/assert.h"
#include "base/duration_text.h"
#include "tools/plotting.h"
#include "tools/sim_flags.h"

namespace rain::tools {
namespace {

constexpr double kMeasuredSeconds = 10;  // section 5.2 of the paper
constexpr double kWarmupShare = 0.1;
constexpr double kAdaptiveWarmupShare = 1;  // agents need intervals to settle

void add_flags(FlagTexts& flags, const toml::table& from) {
  const toml::table* table = from["flags"].as_table();
  if (table == nullptr) return;
  for (const auto& [key, value] : *table) {
    std::string text = value.is_string() ? value.ref<std::string>() : std::string();
    if (value.is_integer()) text = fmt::format("{}", value.ref<std::int64_t>());
    if (value.is_floating_point()) text = fmt::format("{}", value.ref<double>());
    flags.emplace_back(std::string(key.str()), std::move(text));
  }
}

FigurePoint make_point(FlagTexts flags, const std::string& load, const FigureTime& time) {
  flags.emplace_back("load", load);
  const sim::RackSpec spec = read_sim_flags(flags);
  const double rate = spec.workload.phases[0].rate;
  const double seconds = std::min(kMeasuredSeconds, time.requests / rate);
  const double warmup = spec.adaptive ? kAdaptiveWarmupShare : kWarmupShare;
  flags.emplace_back("warmup", fmt::format("{:.0f}ns", seconds * warmup * 1e9));
  flags.emplace_back("duration", fmt::format("{:.0f}ns", seconds * 1e9));
  FigurePoint point;
  point.load_krps = fmt::format("{:.3f}", rate / 1000);
  point.flags = std::move(flags);
  return point;
}

/// The flags of tables that stand one within the other; the innermost counts.
FlagTexts flags_of(std::initializer_list<const toml::table*> tables) {
  FlagTexts flags;
  for (const toml::table* table : tables) {
    FlagTexts more;
    add_flags(more, *table);
    for (auto& flag : more) {
      std::erase_if(flags, [&](const auto& old) { return old.first == flag.first; });
      flags.push_back(std::move(flag));
    }
  }
  std::sort(flags.begin(), flags.end());  // the same run of two figures has the same key
  return flags;
}

std::string text_of(const toml::table& table, const char* key) {
  const auto* value = table[key].as_string();
  RAIN_ASSERT(value != nullptr);
  return value->get();
}

}  // namespace

std::vector<Figure> read_figures(const FigureTime& time) {
  const toml::table file = toml::parse(figures_file());
  const toml::table& common = *file["common"].as_table();
  std::vector<std::pair<std::uint32_t, Figure>> figures;  // with their lines: tables are sorted by name
  for (const auto& [name, node] : file) {
    const toml::table& from = *node.as_table();
    if (name.str() == "common") continue;
    Figure figure;
    figure.name = std::string(name.str());
    if (const toml::table* over_time = from["over_time"].as_table()) {
      const toml::table& times = *(*over_time)[time.quick ? "quick" : "full"].as_table();
      figure.interval = parse_duration(text_of(times, "interval")).value();
      for (const auto& curve_node : *from["curve"].as_array()) {
        const toml::table& curve = *curve_node.as_table();
        figure.runs.push_back({.panel = {},
                               .curve = text_of(curve, "name"),
                               .load_krps = {},
                               .flags = flags_of({&common, &from, &times, &curve})});
      }
      figures.emplace_back(node.source().begin.line, std::move(figure));
      continue;
    }
    for (const auto& panel_node : *from["panel"].as_array()) {
      const toml::table& panel = *panel_node.as_table();
      for (const auto& curve_node : *from["curve"].as_array()) {
        const toml::table& curve = *curve_node.as_table();
        const FlagTexts flags = flags_of({&common, &from, &panel, &curve});
        for (const auto& load : *panel["loads"].as_array()) {
          FigurePoint point = make_point(flags, load.ref<std::string>(), time);
          point.panel = text_of(panel, "name");
          point.curve = text_of(curve, "name");
          figure.points.push_back(std::move(point));
        }
      }
    }
    figures.emplace_back(node.source().begin.line, std::move(figure));
  }
  std::sort(figures.begin(), figures.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Figure> sorted;
  for (auto& [line, figure] : figures) sorted.push_back(std::move(figure));
  return sorted;
}

}  // namespace rain::tools
