#include "engine/query/analysis_text.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace eris::engine {
namespace {

using Kind = ExchangeFigures::Kind;

// The line of the figures, without its margin.
std::string Figures(const StepFigures& step, uint32_t number = 0) {
  std::vector<std::string> lines(number + 1, "line");
  std::vector<StepFigures> steps(number + 1);
  steps[number] = step;
  const std::string text = AnalysisText(lines, steps, AeuId{0});
  const size_t begin = text.rfind("line\n") + std::string("line\n        ").size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(AnalysisTextTest, EachLineIsFollowedByItsFigures) {
  StepFigures scan{.rows = 30, .everywhere = true, .wall_ns = 1'500'000};
  scan.aeu_ns = {400'000, 100'000, 200'000};
  scan.bytes_kept = 4096;
  StepFigures sort{.rows = 10, .at_home = true, .wall_ns = 250'000};
  sort.aeu_ns = {std::nullopt, 60'000, std::nullopt};
  sort.exchanges = {{.kind = Kind::kGathered, .step = 0, .rows = 30}};
  sort.bytes_kept = 524'288;
  sort.rows_crossed = 20;
  sort.bytes_crossed = 320;
  EXPECT_EQ(AnalysisText({"step 0: scan a -> step 1", "step 1: sort step 0 -> answer"},
                         {scan, sort}, AeuId{1}),
            "step 0: scan a -> step 1\n"
            "        30 rows; at all 3 AEUs; 1.50 ms, AEUs worked 0.10 to 0.40 ms, median 0.20; "
            "kept 4096 bytes\n"
            "step 1: sort step 0 -> answer\n"
            "        10 rows; at home; 0.25 ms, the AEU worked 0.06 ms; "
            "30 rows of step 0 gathered at home; kept 512.0 KiB; crossed 20 rows, 320 bytes\n"
            "answer: 10 rows in 1.75 ms; home was AEU 1\n");
}

TEST(AnalysisTextTest, WhereAStepRan) {
  StepFigures step{.everywhere = true};
  step.aeu_ns = {1, std::nullopt, 1};
  EXPECT_EQ(Figures(step),
            "0 rows; at 2 of 3 AEUs; 0.00 ms, AEUs worked 0.00 to 0.00 ms, median "
            "0.00; kept 0 bytes");
  step.at_home = true;
  EXPECT_NE(Figures(step).find("at 2 of 3 AEUs, then at home;"), std::string::npos);
  step = {.read = true, .everywhere = true};
  step.aeu_ns = {1};
  EXPECT_NE(Figures(step).find("read by the engine, then at the only AEU;"), std::string::npos);
  EXPECT_EQ(Figures({}), "0 rows; did not run; 0.00 ms; kept 0 bytes");
}

TEST(AnalysisTextTest, RowsOfTheStepItselfHaveNoNumber) {
  StepFigures step{.everywhere = true};
  step.aeu_ns = {1, 1};
  step.exchanges = {{.kind = Kind::kSent, .step = 2, .rows = 7},
                    {.kind = Kind::kReferred, .step = 1, .rows = 8},
                    {.kind = Kind::kSpread, .step = 0, .rows = 9}};
  EXPECT_NE(Figures(step, 2).find("7 rows sent by hash; 8 rows of step 1 referred to by all AEUs; "
                                  "9 rows of step 0 spread over all AEUs;"),
            std::string::npos);
}

}  // namespace
}  // namespace eris::engine
