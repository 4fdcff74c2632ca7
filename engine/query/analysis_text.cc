#include "engine/query/analysis_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace eris::engine {
namespace {

std::string Ms(uint64_t ns) { return absl::StrFormat("%.2f", static_cast<double>(ns) / 1e6); }

std::string BytesText(uint64_t bytes) {
  if (bytes < 10000) return absl::StrCat(bytes, " bytes");
  return absl::StrFormat("%.1f KiB", static_cast<double>(bytes) / 1024);
}

// How long each AEU that took part worked, ascending.
std::vector<uint64_t> TimesOf(const StepFigures& step) {
  std::vector<uint64_t> times;
  for (const std::optional<uint64_t>& ns : step.aeu_ns) {
    if (ns) times.push_back(*ns);
  }
  std::sort(times.begin(), times.end());
  return times;
}

std::string WhereText(const StepFigures& step, size_t took_part) {
  std::vector<std::string> places;
  if (step.read) places.emplace_back("read by the engine");
  const size_t all = step.aeu_ns.size();
  if (step.everywhere && all == 1) {
    places.emplace_back("at the only AEU");
  } else if (step.everywhere) {
    places.push_back(took_part == all ? absl::StrCat("at all ", all, " AEUs")
                                      : absl::StrCat("at ", took_part, " of ", all, " AEUs"));
  }
  if (step.at_home) places.emplace_back("at home");
  return places.empty() ? "did not run" : absl::StrJoin(places, ", then ");
}

std::string TimeText(const StepFigures& step, const std::vector<uint64_t>& times) {
  std::string text = absl::StrCat(Ms(step.wall_ns), " ms");
  if (times.size() == 1) {
    absl::StrAppend(&text, ", the AEU worked ", Ms(times[0]), " ms");
  } else if (!times.empty()) {
    absl::StrAppend(&text, ", AEUs worked ", Ms(times.front()), " to ", Ms(times.back()),
                    " ms, median ", Ms(times[times.size() / 2]));
  }
  return text;
}

std::string ExchangeText(const ExchangeFigures& exchange, uint32_t step) {
  std::string rows = absl::StrCat(exchange.rows, " rows");
  if (exchange.step != step) absl::StrAppend(&rows, " of step ", exchange.step);
  switch (exchange.kind) {
    case ExchangeFigures::Kind::kSent:
      return rows + " sent by hash";
    case ExchangeFigures::Kind::kReferred:
      return rows + " referred to by all AEUs";
    case ExchangeFigures::Kind::kGathered:
      return rows + " gathered at home";
    case ExchangeFigures::Kind::kSpread:
      return rows + " spread over all AEUs";
    case ExchangeFigures::Kind::kKeys:
      return "filtered by keys of " + rows;
  }
  return rows;
}

std::string FiguresText(const StepFigures& step, uint32_t number) {
  const std::vector<uint64_t> times = TimesOf(step);
  std::vector<std::string> parts = {absl::StrCat(step.rows, " rows"), WhereText(step, times.size()),
                                    TimeText(step, times)};
  for (const ExchangeFigures& exchange : step.exchanges) {
    parts.push_back(ExchangeText(exchange, number));
  }
  parts.push_back(absl::StrCat("kept ", BytesText(step.bytes_kept)));
  if (step.rows_crossed > 0) {
    parts.push_back(
        absl::StrCat("crossed ", step.rows_crossed, " rows, ", BytesText(step.bytes_crossed)));
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace

std::string AnalysisText(const std::vector<std::string>& lines,
                         const std::vector<StepFigures>& steps, AeuId home) {
  ERIS_CHECK(lines.size() == steps.size() && !steps.empty());
  std::string out;
  uint64_t wall_ns = 0;
  for (uint32_t step = 0; step < steps.size(); ++step) {
    absl::StrAppend(&out, lines[step], "\n        ", FiguresText(steps[step], step), "\n");
    wall_ns += steps[step].wall_ns;
  }
  absl::StrAppend(&out, "answer: ", steps.back().rows, " rows in ", Ms(wall_ns), " ms");
  if (steps.back().aeu_ns.size() > 1) absl::StrAppend(&out, "; home was AEU ", home.value);
  return out + "\n";
}

}  // namespace eris::engine
