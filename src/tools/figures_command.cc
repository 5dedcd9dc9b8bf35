// `rain figures`: the papers' figures and ours, simulated, drawn, and held against what the papers say.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sim/simulate.h"
#include "tools/command.h"
#include "tools/figures_catalogue.h"
#include "tools/input_error.h"
#include "tools/plotting.h"
#include "tools/rocksdb_figure.h"
#include "tools/sim_flags.h"
#include "tools/sim_report.h"
#include "tools/sim_runs.h"
#include "tools/suggest.h"

namespace rain::tools {
namespace {

constexpr double kRequests = 1e6;
constexpr double kQuickRequests = 5e4;
constexpr const char* kRocksDbFigure = "fig2";

struct Flags {
  std::vector<std::string> names;
  std::string out = "rain-figures";
  double requests = 0;
  unsigned threads = 0;
  bool quick = false;
};

/// The figures that were asked for, without doubles; all when none was.
std::vector<std::string> chosen_names(const Flags& flags, const std::vector<Figure>& figures) {
  std::vector<std::string> all;
  for (const Figure& figure : figures) all.push_back(figure.name);
  all.insert(all.begin() + 1, kRocksDbFigure);
  std::vector<std::string> chosen;
  for (const std::string& name : flags.names) {
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      const std::vector<std::string_view> names(all.begin(), all.end());
      throw InputError(fmt::format("'{}' is not a figure: one of {}", name, comma_list(names)));
    }
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
  }
  if (!chosen.empty()) return chosen;
  // Asked for by name it is refused where it cannot be made; among all it is left out.
  if (!rocksdb_figure_available()) std::erase(all, kRocksDbFigure);
  return all;
}

std::string csv_of(const Figure& figure, const std::map<std::string, std::string>& rows) {
  std::string csv =
      "panel,curve,load_krps," + result_columns(read_sim_flags(figure.points.front().flags)) + '\n';
  for (const FigurePoint& point : figure.points) {
    csv += fmt::format("{},\"{}\",{},{}\n", point.panel, point.curve, point.load_krps,
                       rows.at(key_of(point.flags)));
  }
  return csv;
}

/// The rows of the runs' time lines, one run after the other.
std::string time_csv_of(const Figure& figure) {
  std::string csv;
  for (const FigurePoint& run : figure.runs) {
    sim::RackSpec spec = read_sim_flags(run.flags);
    spec.timeline_interval = figure.interval;
    const auto result = sim::simulate(spec);
    if (!result) throw InputError(result.error());
    std::istringstream rows(timeline_csv(*result));
    std::string row;
    std::getline(rows, row);
    if (csv.empty()) csv = "curve," + row + '\n';
    while (std::getline(rows, row)) csv += fmt::format("\"{}\",{}\n", run.curve, row);
  }
  return csv;
}

int run_figures(const Flags& flags) {
  const double requests = flags.requests > 0 ? flags.requests : flags.quick ? kQuickRequests : kRequests;
  std::vector<Figure> figures = read_figures({.requests = requests, .quick = requests < kRequests});
  const std::vector<std::string> names = chosen_names(flags, figures);
  const auto is_chosen = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::erase_if(figures, [&](const Figure& figure) { return !is_chosen(figure.name); });
  if (is_chosen(kRocksDbFigure) && !rocksdb_figure_available())
    throw InputError("fig2: this build has no RocksDB (Debian: librocksdb-dev)");
  require_plotting();

  const std::filesystem::path folder = flags.out;
  const Nanos begin = monotonic_now();
  RunJournal journal(folder / "journal");
  std::vector<FlagTexts> runs;
  for (const Figure& figure : figures)
    for (const FigurePoint& point : figure.points) runs.push_back(point.flags);
  const auto rows = do_runs(runs, journal, {.command = "rain figures", .threads = flags.threads});
  std::map<std::string, std::string> by_key;
  for (std::size_t i = 0; i < runs.size(); ++i) by_key[key_of(runs[i])] = rows[i];
  for (const Figure& figure : figures) {
    write_whole(folder / (figure.name + ".csv"),
                figure.runs.empty() ? csv_of(figure, by_key) : time_csv_of(figure));
  }
  // After the simulations, whose threads would disturb what it measures.
  if (is_chosen(kRocksDbFigure))
    write_whole(folder / "fig2.csv", measure_rocksdb_figure(folder, flags.quick));

  std::vector<std::string> arguments{fmt::format("--requests={:.0f}", requests)};
  arguments.insert(arguments.end(), names.begin(), names.end());
  plot(folder, arguments);
  journal.remove();
  fmt::print("{}\n", (folder / "index.html").string());
  std::fputs(
      fmt::format("rain figures: {:.0f} s\n", static_cast<double>((monotonic_now() - begin).value) * 1e-9)
          .c_str(),
      stderr);
  return kExitOk;
}

}  // namespace

Run declare_figures(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("FIGURE", flags->names, "fig1 fig2 fig6 fig7 fig8 fig9 fig10 fig11 ours ablation (all)");
  app.add_option("--out", flags->out, "folder of the page, pictures and CSVs (" + flags->out + ")")
      ->type_name("DIR");
  app.add_flag("--quick", flags->quick, "so few requests a point that all takes less than two minutes");
  app.add_option("--requests", flags->requests,
                 "measured at each point, but no more than 10 s (1e6; quick: 5e4)")
      ->check(CLI::Range(1e3, 1e9))
      ->type_name("N");
  app.add_option("--threads", flags->threads, "runs at a time (one for each core)")
      ->check(CLI::Range(1U, 1024U))
      ->type_name("N");
  return [flags] { return run_figures(*flags); };
}

}  // namespace rain::tools
