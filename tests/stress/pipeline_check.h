// Counts a session's or stream's answers, and tells those that its model does not allow. One thread
// at a time.
#ifndef ERIS_TESTS_STRESS_PIPELINE_CHECK_H_
#define ERIS_TESTS_STRESS_PIPELINE_CHECK_H_

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/stress/draw.h"
#include "tests/stress/session_model.h"
#include "tests/stress/world.h"

namespace eris::stress {

// The object that pipelines and streams of a kind share.
inline std::string PipelineName(test::AnyKind kind) { return "pipeline-" + test::NameOf(kind); }

class PipelineCheck {
 public:
  PipelineCheck(World& world, std::string where) : world_(world), where_(std::move(where)) {}

  void Take(const Batch& batch, const Answers& answers) {
    world_.Count(Figure::kBatches);
    world_.Count(Figure::kKeys, batch.numbers.size());
    if (batch.doubled) world_.Count(Figure::kDoubled);
    if (!answers.known) world_.Count(Figure::kRefused);
    for (const Answer& one : answers.keys) {
      if (!one.executed) world_.Count(Figure::kRefused);
    }
    const std::string wrong = model_.Take(batch, answers);
    if (wrong.empty()) return;
    world_.Count(Figure::kWrong);
    if (batch.doubled) world_.Count(Figure::kDoubledWrong);
    world_.Fault(absl::StrCat(where_, ": ", wrong));
  }

 private:
  World& world_;
  const std::string where_;
  SessionModel model_{kSessionKeys};
};

}  // namespace eris::stress

#endif  // ERIS_TESTS_STRESS_PIPELINE_CHECK_H_
