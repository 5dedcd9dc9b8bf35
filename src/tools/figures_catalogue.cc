// See figures_catalogue.h.
#include "tools/figures_catalogue.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "tools/plotting.h"
#include "tools/sim_flags.h"

namespace rain::tools {
namespace {

constexpr double kMeasuredSeconds = 10;  // section 5.2 of the paper
constexpr double kWarmupShare = 0.1;

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
  const double rate = read_sim_flags(flags).workload.phases[0].rate;
  const double seconds = std::min(kMeasuredSeconds, time.requests / rate);
  flags.emplace_back("warmup", fmt::format("{:.0f}ns", seconds * kWarmupShare * 1e9));
  flags.emplace_back("duration", fmt::format("{:.0f}ns", seconds * 1e9));
  FigurePoint point;
  point.load_krps = fmt::format("{:.3f}", rate / 1000);
  point.flags = std::move(flags);
  return point;
}

std::string text_of(const toml::table& table, const char* key) {
  const auto* value = table[key].as_string();
  RAIN_ASSERT(value != nullptr);
  return value->get();
}

}  // namespace

std::vector<Figure> read_figures(const FigureTime& time) {
  const toml::table file = toml::parse(figures_file());
  std::vector<std::pair<std::uint32_t, Figure>> figures;  // with their lines: tables are sorted by name
  for (const auto& [name, node] : file) {
    const toml::table& from = *node.as_table();
    if (name.str() == "common") continue;
    Figure figure{.name = std::string(name.str()), .points = {}};
    for (const auto& panel_node : *from["panel"].as_array()) {
      const toml::table& panel = *panel_node.as_table();
      for (const auto& curve_node : *from["curve"].as_array()) {
        const toml::table& curve = *curve_node.as_table();
        FlagTexts flags;
        add_flags(flags, *file["common"].as_table());
        for (const toml::table* table : {&from, &panel, &curve}) {
          FlagTexts more;
          add_flags(more, *table);
          for (auto& flag : more) {
            std::erase_if(flags, [&](const auto& old) { return old.first == flag.first; });
            flags.push_back(std::move(flag));
          }
        }
        std::sort(flags.begin(), flags.end());  // the same run of two figures has the same key
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
