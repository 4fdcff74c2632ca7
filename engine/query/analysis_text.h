// What the steps of a query have really done as text, for people. Pure functions. Not from the
// papers: query processing is ERIS's next step (6).
#ifndef ERIS_ENGINE_QUERY_ANALYSIS_TEXT_H_
#define ERIS_ENGINE_QUERY_ANALYSIS_TEXT_H_

#include <string>
#include <vector>

#include "engine/query/query_figures.h"
#include "eris/types.h"

namespace eris::engine {

// Below the line of each step, as StepLines (explain_steps.h) makes them, one with its figures:
//
//   step 1: group step 0; by f0; gives f0, f1 = count(*); ~70 rows -> step 2
//           64 rows; at all 3 AEUs, then at home; 0.41 ms, AEUs worked 0.10 to 0.20 ms, median
//           0.12; 192 rows gathered at home; kept 2048.0 KiB; crossed 128 rows, 2048 bytes
//   answer: 10 rows in 1.20 ms; home was AEU 2
//
// (here its line is broken). As many lines as steps.
std::string AnalysisText(const std::vector<std::string>& lines,
                         const std::vector<StepFigures>& steps, AeuId home);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_ANALYSIS_TEXT_H_
