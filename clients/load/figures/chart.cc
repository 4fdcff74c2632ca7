#include "clients/load/figures/chart.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace eris::load {
namespace {

// In pixels.
constexpr double kWidth = 860, kTitleHeight = 34, kCaptionLine = 17;
constexpr double kLeft = 84, kRight = 130, kPlotWidth = kWidth - kLeft - kRight;
constexpr double kAbove = 30, kPlotHeight = 200, kBelow = 50;
constexpr double kChartHeight = kAbove + kPlotHeight + kBelow;
constexpr int kTicksWanted = 5;
// A value may exceed the last tick by this part of it, and is drawn there: a run of 10.01 s needs
// no axis to 15 s.
constexpr double kBeyond = 0.01;
// Colours that are different also for eyes without red or green (Okabe and Ito).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73",
                                    "#cc79a7", "#e69f00", "#000000"};

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

// "0.5", "20", "1.5 k", "3 M".
std::string ShortNumber(double value) {
  const char* unit = "";
  for (const char* larger : {" k", " M", " G"}) {
    if (std::abs(value) < 1000) break;
    value /= 1000;
    unit = larger;
  }
  return absl::StrFormat("%.4g%s", value, unit);
}

bool Fits(const Axis& axis, double value) {
  return std::isfinite(value) && (!axis.logarithmic || value > 0);
}

std::vector<Tick> LinearTicks(double high) {
  const double rough = high / (1 + kBeyond) / kTicksWanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double times : {5, 2, 1}) {
    if (rough <= times * power) step = times * power;
  }
  std::vector<Tick> ticks;
  for (int i = 0;; ++i) {
    ticks.push_back({i * step, ShortNumber(i * step)});
    if (ticks.back().at * (1 + kBeyond) >= high) return ticks;
  }
}

// The powers of ten around the values; if they are few, also their double and their fivefold.
std::vector<Tick> LogTicks(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(high) - 1e-9)));
  std::vector<Tick> ticks;
  for (int power = first; power <= last; ++power) {
    for (const int times : {1, 2, 5}) {
      if (times > 1 && (power == last || last - first > 2)) continue;
      const double at = times * std::pow(10, power);
      ticks.push_back({at, ShortNumber(at)});
    }
  }
  return ticks;
}

// An axis with its range, and places on it.
class Scale {
 public:
  // `values` are the points' coordinates on the axis; the axis is drawn from `from` to `to`.
  Scale(const Axis& axis, std::vector<double> values, double from, double to)
      : axis_(axis), ticks_(axis.ticks), from_(from), to_(to) {
    std::erase_if(values, [&](double value) { return !Fits(axis, value); });
    if (ticks_.empty()) {
      const double low = values.empty() ? 1 : *std::min_element(values.begin(), values.end());
      const double high = values.empty() ? 1 : *std::max_element(values.begin(), values.end());
      ticks_ = axis.logarithmic ? LogTicks(low, high) : LinearTicks(high > 0 ? high : 1);
    }
  }

  const std::vector<Tick>& ticks() const { return ticks_; }
  double Place(double value) const {
    const double low = Coordinate(ticks_.front().at), high = Coordinate(ticks_.back().at);
    const double part = high > low ? (Coordinate(value) - low) / (high - low) : 0.5;
    return from_ + std::clamp(part, 0.0, 1.0) * (to_ - from_);
  }

 private:
  double Coordinate(double value) const { return axis_.logarithmic ? std::log10(value) : value; }

  const Axis& axis_;
  std::vector<Tick> ticks_;
  const double from_, to_;
};

void AddText(double x, double y, const char* anchor, const std::string& text, std::string& out,
             const char* more = "") {
  absl::StrAppendFormat(&out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y,
                        anchor, more, Escaped(text));
}

void AddAxes(const Chart& chart, const Scale& x, const Scale& y, double top, std::string& out) {
  const double bottom = top + kPlotHeight, right = kLeft + kPlotWidth;
  AddText(kLeft, top - 10, "start", chart.title, out, " font-weight=\"bold\"");
  for (const Tick& tick : y.ticks()) {
    const double at = y.Place(tick.at);
    absl::StrAppendFormat(&out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#dddddd\" fill=\"none\"/>\n",
                          kLeft, at, right);
    AddText(kLeft - 8, at + 4, "end", tick.text, out);
  }
  for (const Tick& tick : x.ticks()) {
    const double at = x.Place(tick.at);
    absl::StrAppendFormat(&out, "<path d=\"M%.1f %.1fv5\" stroke=\"#555555\" fill=\"none\"/>\n", at,
                          bottom);
    AddText(at, bottom + 18, "middle", tick.text, out);
  }
  absl::StrAppendFormat(&out,
                        "<path d=\"M%.1f %.1fV%.1fH%.1f\" stroke=\"#555555\" fill=\"none\"/>\n",
                        kLeft, top, bottom, right);
  AddText(kLeft + kPlotWidth / 2, bottom + 36, "middle", chart.x.title, out);
  const double middle = top + kPlotHeight / 2;
  AddText(18, middle, "middle", chart.y.title, out,
          absl::StrFormat(" transform=\"rotate(-90 18 %.1f)\"", middle).c_str());
}

void AddLine(const Chart& chart, size_t index, const Scale& x, const Scale& y, double top,
             std::string& out) {
  const Line& line = chart.lines[index];
  const char* const colour = kColours[index % std::size(kColours)];
  std::string path, dots;
  for (const auto& [at_x, at_y] : line.points) {
    if (!Fits(chart.x, at_x) || !Fits(chart.y, at_y)) continue;
    const double right = x.Place(at_x), down = y.Place(at_y);
    absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : "L", right, down);
    absl::StrAppendFormat(&dots, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n", right,
                          down, colour);
  }
  if (!path.empty()) {
    absl::StrAppendFormat(
        &out, "<path d=\"%s\" stroke=\"%s\" stroke-width=\"1.5\" fill=\"none\"/>\n", path, colour);
  }
  // So many that they would hide the line are left out.
  if (line.points.size() <= 100) out += dots;
  const double key = kLeft + kPlotWidth + 12, down = top + 8 + 18 * static_cast<double>(index);
  absl::StrAppendFormat(
      &out, "<path d=\"M%.1f %.1fh16\" stroke=\"%s\" stroke-width=\"3\" fill=\"none\"/>\n", key,
      down, colour);
  AddText(key + 22, down + 4, "start", line.name, out);
}

void AddChart(const Chart& chart, double top, std::string& out) {
  std::vector<double> xs, ys;
  for (const Line& line : chart.lines) {
    for (const auto& [x, y] : line.points) {
      if (!Fits(chart.x, x) || !Fits(chart.y, y)) continue;
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  const Scale x(chart.x, std::move(xs), kLeft, kLeft + kPlotWidth);
  const Scale y(chart.y, std::move(ys), top + kPlotHeight, top);
  AddAxes(chart, x, y, top, out);
  for (size_t i = 0; i < chart.lines.size(); ++i) AddLine(chart, i, x, y, top, out);
}

}  // namespace

std::string ToSvg(const std::string& title, const std::vector<Chart>& charts,
                  const std::vector<std::string>& caption) {
  const double below = kTitleHeight + kChartHeight * static_cast<double>(charts.size());
  const double height = below + kCaptionLine * static_cast<double>(caption.size()) + 14;
  std::string out = absl::StrFormat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"0 0 %.0f %.0f\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      kWidth, height, kWidth, height, Escaped(title));
  AddText(kLeft, 22, "start", title, out, " font-size=\"15\" font-weight=\"bold\"");
  for (size_t i = 0; i < charts.size(); ++i) {
    AddChart(charts[i], kTitleHeight + kChartHeight * static_cast<double>(i) + kAbove, out);
  }
  for (size_t i = 0; i < caption.size(); ++i) {
    AddText(kLeft, below + kCaptionLine * static_cast<double>(i + 1), "start", caption[i], out,
            " fill=\"#444444\"");
  }
  return out + "</svg>\n";
}

}  // namespace eris::load
