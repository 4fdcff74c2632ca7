// The stages of queries that one AEU works on, in pieces of some 20 us. The query that came first
// gets most of the time, so that its memory is soon free; one piece in four is for the others, in
// turn. And free tasks (tasks/): in the same time those of its own and of its core group, taking
// turns with the stages; in turns without other work any that it may take. Owned by the AEU; never
// blocks. Not from the ERIS paper, for which query processing is the next step (6); locality-aware
// scheduling in Bobox, 4.
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
#include "aeu/state/idle_work.h"
#include "aeu/state/query_cache.h"
#include "eris/types.h"
#include "routing/data_command.h"
#include "routing/endpoint.h"
#include "routing/stage_part.h"
#include "storage/query/stage_run.h"
#include "tasks/task_scheduler.h"

namespace eris::aeu {

class QueryRunner final : public Runner, public IdleWork, public tasks::Worker {
 public:
  // `scheduler` nullptr: no free tasks. All outlive it.
  QueryRunner(AeuId self, const routing::AeuEndpoint& endpoint, tasks::TaskScheduler* scheduler,
              QueryCache& cache, Acknowledgements& acknowledgements)
      : self_(self),
        endpoint_(endpoint),
        scheduler_(scheduler),
        cache_(cache),
        acknowledgements_(acknowledgements) {}

  void Begin(const routing::CommandHeader* command, ObjectSlot* slot) override;
  void EndAll(const ObjectSlot*) override {}  // stages read no object
  bool Advance(uint64_t deadline_ns) override;
  bool Runnable() const override;
  size_t running() const override { return running_.size() + (task_ != nullptr ? 1 : 0); }

  // A task at a time, or a part of it, until the deadline or until a command comes.
  bool Run(uint64_t deadline_ns) override;
  bool HasWork() const override {
    return task_ != nullptr ||
           (scheduler_ != nullptr && scheduler_->MayHave(self_.value, tasks::TaskTurn::kIdle));
  }

  uint32_t aeu() const override { return self_.value; }
  memory::LocalCache* CacheOf(memory::MemoryManager& manager) override {
    return cache_.Of(manager);
  }

 private:
  static constexpr uint32_t kPiecesPerOther = 4;
  struct Running {
    routing::StagePart* part;
    routing::CompletionFunction complete;
    std::unique_ptr<storage::StageRun> run;
  };

  // The one whose piece comes next; running_.size(): all wait for other AEUs.
  size_t Choose();
  // A piece of a stage, or of a task; moves `now_ns` on. False: there is none.
  bool AdvanceStage(uint64_t& now_ns);
  bool AdvanceTask(uint64_t& now_ns, bool idle);
  tasks::Task* TakeTask(bool idle);
  void Finish(const Running& one, absl::Status status);

  const AeuId self_;
  const routing::AeuEndpoint& endpoint_;
  tasks::TaskScheduler* const scheduler_;
  QueryCache& cache_;
  Acknowledgements& acknowledgements_;
  std::vector<Running> running_;  // in the order in which they came
  tasks::Task* task_ = nullptr;   // the one that has begun
  uint32_t pieces_ = 0;
  uint32_t taken_ = 0;  // tasks, in slices
  size_t other_ = 0;
  bool task_next_ = false;  // the next piece is a task's
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_QUERY_RUNNER_H_
