// The stages of queries that one AEU works on, in pieces of some 20 us. The query that came first
// gets most of the time, so that its memory is soon free; one piece in four is for the others, in
// turn. Owned by the AEU; never blocks. Not from the papers: query processing is ERIS's next step
// (6).
#ifndef ERIS_AEU_QUERY_RUNNER_H_
#define ERIS_AEU_QUERY_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aeu/runners/runner.h"
#include "aeu/state/acknowledgements.h"
#include "aeu/state/query_cache.h"
#include "eris/types.h"
#include "routing/data_command.h"
#include "routing/stage_part.h"
#include "storage/query/stage_run.h"

namespace eris::aeu {

class QueryRunner final : public Runner {
 public:
  QueryRunner(AeuId self, QueryCache& cache, Acknowledgements& acknowledgements)
      : self_(self), cache_(cache), acknowledgements_(acknowledgements) {}

  void Begin(const routing::CommandHeader* command, ObjectSlot* slot) override;
  void EndAll(const ObjectSlot*) override {}  // stages read no object
  bool Advance(uint64_t deadline_ns) override;
  bool Runnable() const override { return !running_.empty(); }
  size_t running() const override { return running_.size(); }

 private:
  static constexpr uint32_t kPiecesPerOther = 4;
  struct Running {
    routing::StagePart* part;
    routing::CompletionFunction complete;
    std::unique_ptr<storage::StageRun> run;
  };

  // The one whose piece comes next.
  size_t Choose();
  // A piece of it. False: it has ended. Errors: those of StageRun::Advance; Cancelled.
  static absl::StatusOr<bool> AdvanceOne(const Running& one);
  void Finish(const Running& one, absl::Status status);

  const AeuId self_;
  QueryCache& cache_;
  Acknowledgements& acknowledgements_;
  std::vector<Running> running_;  // in the order in which they came
  uint32_t pieces_ = 0;
  size_t other_ = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_QUERY_RUNNER_H_
