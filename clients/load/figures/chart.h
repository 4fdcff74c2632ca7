// Line charts as one self-contained SVG image: no script, no font, no other file. Pure functions;
// any thread.
#ifndef ERIS_CLIENTS_LOAD_FIGURES_CHART_H_
#define ERIS_CLIENTS_LOAD_FIGURES_CHART_H_

#include <string>
#include <utility>
#include <vector>

namespace eris::load {

struct Line {
  std::string name;
  // x and y, in the order in which they are joined.
  std::vector<std::pair<double, double>> points;
};

struct Tick {
  double at = 0;
  std::string text;
};

struct Axis {
  std::string title;  // with its unit
  // By the logarithm; points that are not above 0 are left out. A linear axis begins at 0.
  bool logarithmic = false;
  std::vector<Tick> ticks{};  // in ascending order; empty: chosen by the points
};

struct Chart {
  std::string title;
  Axis x, y;
  std::vector<Line> lines{};
};

// The charts below each other, with a title above and the lines of the caption underneath. Texts
// are UTF-8; characters that XML has no place for become blanks. A chart without a point has axes
// only.
std::string ToSvg(const std::string& title, const std::vector<Chart>& charts,
                  const std::vector<std::string>& caption);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_FIGURES_CHART_H_
