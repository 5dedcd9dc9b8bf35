// The figures of figures/figures.toml as runs of the simulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "tools/command.h"

namespace rain::tools {

struct FigurePoint {
  std::string panel, curve;
  std::string load_krps;
  FlagTexts flags;
};

struct Figure {
  std::string name;
  std::vector<FigurePoint> points;  ///< over load
  std::vector<FigurePoint> runs;    ///< over time, with a row each `interval`; instead of points
  Nanos interval{};
};

/// How long each point runs: as long as the paper's (10 s after 1 s of warm-up), but not beyond so many requests, with a
/// tenth as many before.
struct FigureTime {
  double requests = 0;
  bool quick = false;  ///< figures over time: the description's short form
};

/// All figures that are simulated, in the file's order.
std::vector<Figure> read_figures(const FigureTime& time);

}  // namespace rain::tools
