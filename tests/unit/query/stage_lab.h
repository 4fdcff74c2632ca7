// The AEUs of a query without an engine: their parts, on two NumaNodes, and stages that all of them
// do in pieces, in any order. At its end all AEUs leave, and nothing may be left.
#ifndef ERIS_TESTS_UNIT_QUERY_STAGE_LAB_H_
#define ERIS_TESTS_UNIT_QUERY_STAGE_LAB_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/query/query_part.h"
#include "storage/query/stage_run.h"
#include "storage/query/stage_tasks.h"
#include "tasks/task_scheduler.h"
#include "tests/unit/query/query_lab.h"
#include "tests/unit/storage/two_numa_nodes.h"

namespace eris::storage {

// Equal for the same values.
inline std::string RowText(std::span<const EnvelopeColumn> columns, const CellRow& row) {
  std::string text;
  for (size_t c = 0; c < columns.size(); ++c) {
    const Cell& cell = row[c];
    if (cell.null) {
      text += "null";
    } else if (IsByteString(columns[c].type)) {
      text += std::to_string(cell.text.size()) + ":" + cell.text;
    } else if (columns[c].type == ColumnType::kFloat64) {
      text.append(reinterpret_cast<const char*>(&cell.real), sizeof cell.real);
    } else {
      text.append(reinterpret_cast<const char*>(&cell.number), sizeof cell.number);
    }
    text += '|';
  }
  return text;
}

class StageLab {
 public:
  StageLab(uint32_t aeus, uint32_t sets, Random& random, uint64_t budget_bytes = uint64_t{1} << 40)
      : budget(budget_bytes), random_(random) {
    all.memory = &budget;
    all.columns.resize(sets);
    // The last one is the engine's.
    for (uint32_t aeu = 0; aeu <= aeus; ++aeu) {
      all.filter_makers.push_back(aeu % 2);
      Node& node = aeu % 2 == 0 ? nodes.source : nodes.target;
      caches.push_back(node.manager.NewCache());
      all.parts.push_back(std::make_unique<QueryPart>(all, aeu, node.manager, sets));
      part(aeu).Enter(*caches.back());
    }
  }
  ~StageLab() {
    for (memory::LocalCache* const cache : caches) cache->ArmFailures(0, kOnce);
    EXPECT_TRUE(Run({{LeaveTask{}}}).ok());
    while (engine().FreeSome()) {
    }
    EXPECT_EQ(budget.used(), 0u);
    int64_t used = 0;
    for (uint32_t i = 0; i < all.parts.size(); ++i) used += part(i).memory().used_bytes();
    EXPECT_EQ(used, 0);
    SendHome();
    EXPECT_EQ(nodes.source.manager.Account().used_bytes, 0u);
    EXPECT_EQ(nodes.target.manager.Account().used_bytes, 0u);
  }

  static constexpr auto kOnce = memory::FailurePoint::Mode::kOnce;

  uint32_t aeus() const { return all.aeus(); }
  QueryPart& part(uint32_t i) { return *all.parts[i]; }
  QueryPart& engine() { return *all.parts.back(); }
  void SetColumns(RowSet set, const std::vector<ColumnType>& types) {
    all.columns[set].clear();
    for (const ColumnType type : types) all.columns[set].push_back({.type = type});
  }

  // Spreads the rows over the first AEUs, at least so many.
  void Put(RowSet set, const std::vector<CellRow>& rows, uint32_t envelope_rows_max = 700,
           uint32_t aeus_least = 1) {
    std::vector<std::vector<CellRow>> shares(aeus());
    const uint64_t used = aeus_least + random_() % (aeus() + 1 - aeus_least);
    for (const CellRow& row : rows) shares[random_() % used].push_back(row);
    for (uint32_t aeu = 0; aeu < aeus(); ++aeu) {
      EnvelopeList& list = part(aeu).Output(set);
      AddRows(part(aeu).memory(), list, shares[aeu], random_, envelope_rows_max);
    }
  }

  // From now on steps are divided where stages say so. AEUs of a NumaNode are a core group.
  void Divide(TaskScheduling scheduling) {
    tasks::CoreGroups groups;
    groups.groups = {{.numa_node = 0, .members = {}, .others = {1}, .near = 0},
                     {.numa_node = 1, .members = {}, .others = {0}, .near = 0}};
    groups.near.resize(aeus());
    for (uint32_t aeu = 0; aeu < aeus(); ++aeu) {
      groups.group_of.push_back(aeu % 2);
      groups.member_of.push_back(aeu / 2);
      groups.groups[aeu % 2].members.push_back(aeu);
      for (uint32_t other = aeu % 2; other < aeus(); other += 2) {
        if (other != aeu) groups.near[aeu].push_back(other);
      }
    }
    scheduler = std::make_unique<tasks::TaskScheduler>(
        groups, scheduling, [this](uint32_t aeu) { workers_[aeu].asleep = false; });
    for (uint32_t aeu = 0; aeu < aeus(); ++aeu) workers_.emplace_back(aeu, *this);
  }

  // All AEUs do the stage, or only `one`. The first error, which stops the others.
  absl::Status Run(const Stage& stage, int one = -1) {
    if (scheduler != nullptr && one < 0) return RunDivided(stage);
    std::vector<std::unique_ptr<StageRun>> runs;
    for (uint32_t aeu = 0; aeu < aeus(); ++aeu) {
      if (one >= 0 && aeu != static_cast<uint32_t>(one)) continue;
      runs.push_back(std::make_unique<StageRun>(part(aeu), stage));
    }
    absl::Status status;
    while (!runs.empty() && status.ok()) {
      const auto run = runs.begin() + static_cast<ptrdiff_t>(random_() % runs.size());
      const absl::StatusOr<bool> more = (*run)->Advance();
      ++pieces;
      (*run)->Took(random_() % 2 * 1'000'000);  // pieces of all sizes
      status = more.status();
      if (more.ok() && !*more) runs.erase(run);
    }
    runs.clear();
    SendHome();
    return status;
  }
  absl::Status Run(const std::vector<Stage>& stages) {
    for (const Stage& stage : stages) {
      absl::Status status = Run(stage);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // The rows that one has of a set.
  std::vector<CellRow> RowsOf(uint32_t i, RowSet set) {
    std::vector<CellRow> rows;
    const EnvelopeList* const list = part(i).list(set);
    for (uint32_t e = 0; list != nullptr && e < list->size(); ++e) {
      for (uint32_t r = 0; r < (*list)[e].rows(); ++r) {
        CellRow& row = rows.emplace_back();
        for (uint32_t c = 0; c < list->columns().size(); ++c) {
          row.push_back(CellAt((*list)[e].column(c), r));
        }
      }
    }
    return rows;
  }
  // From all AEUs, sorted.
  std::vector<std::string> TextsOf(RowSet set) {
    std::vector<std::string> texts;
    for (uint32_t aeu = 0; aeu < aeus(); ++aeu) {
      for (const CellRow& row : RowsOf(aeu, set)) texts.push_back(RowText(all.columns[set], row));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  std::vector<std::string> TextsOf(RowSet set, const std::vector<CellRow>& rows) const {
    std::vector<std::string> texts;
    for (const CellRow& row : rows) texts.push_back(RowText(all.columns[set], row));
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  int64_t used_bytes() {
    int64_t used = 0;
    for (const auto& one : all.parts) used += one->memory().used_bytes();
    return used;
  }

  Nodes nodes;
  RunMemory budget;
  std::vector<memory::LocalCache*> caches;  // by part
  QueryParts all;
  uint64_t pieces = 0;
  std::unique_ptr<tasks::TaskScheduler> scheduler;  // nullptr: nothing is divided
  std::optional<uint32_t> absent;                   // an AEU that does not begin divided stages
  std::optional<uint32_t> runs_tasks;               // the only AEU that does

 private:
  struct LabWorker final : tasks::Worker {
    LabWorker(uint32_t number, StageLab& all) : self(number), lab(all) {}
    uint32_t aeu() const override { return self; }
    memory::LocalCache* CacheOf(memory::MemoryManager&) override { return lab.caches[self]; }

    const uint32_t self;
    StageLab& lab;
    tasks::Task* task = nullptr;  // has begun
    bool asleep = false;
  };

  // As QueryRunner and AeuThread do it: in each step an AEU does a piece of its stage or of a task;
  // one without work sleeps until it is woken. All go on until their end, whatever happens.
  absl::Status RunDivided(const Stage& stage) {
    all.stop = false;
    all.stage_tasks =
        StageTasks::Create(all, stage, *scheduler, scheduler->scheduling(), ++queries_);
    std::vector<std::unique_ptr<StageRun>> runs;
    for (LabWorker& worker : workers_) worker.asleep = false;  // the command wakes them
    uint32_t left = aeus();
    for (uint32_t aeu = 0; aeu < aeus(); ++aeu) {
      const bool begins = aeu != absent || all.stage_tasks == nullptr;
      runs.push_back(begins ? std::make_unique<StageRun>(part(aeu), stage) : nullptr);
      if (begins) continue;
      all.stage_tasks->Absent();
      --left;
    }
    absl::Status status;
    for (uint32_t idle = 0; left > 0;) {
      const uint32_t aeu = random_() % aeus();
      if (workers_[aeu].asleep) {
        if (++idle > 100 * aeus() + 10'000) {
          ADD_FAILURE() << "nobody goes on";
          break;
        }
        continue;
      }
      scheduler->Awake(aeu);
      const bool worked =
          random_() % 2 == 0 ? StepTask(workers_[aeu]) : StepStage(runs[aeu], status, left);
      idle = worked ? 0 : idle + 1;
      if (!worked) TrySleep(workers_[aeu], runs[aeu].get());
    }
    for (const LabWorker& worker : workers_) {
      EXPECT_EQ(worker.task, nullptr) << "a task goes on after its stage";
      EXPECT_FALSE(scheduler->MayHave(worker.self, tasks::TaskTurn::kIdle));
    }
    all.stage_tasks.reset();
    runs.clear();
    SendHome();
    all.stop = false;
    return status;
  }
  void TrySleep(LabWorker& worker, const StageRun* run) {
    scheduler->PrepareToSleep(worker.self);
    worker.asleep = worker.task == nullptr && (run == nullptr || run->Waits()) &&
                    !scheduler->MayHave(worker.self, tasks::TaskTurn::kIdle);
  }
  bool StepTask(LabWorker& worker) {
    if (runs_tasks.value_or(worker.self) != worker.self) return false;
    static constexpr std::array kTurns = {tasks::TaskTurn::kSlice, tasks::TaskTurn::kShare,
                                          tasks::TaskTurn::kIdle};
    if (worker.task == nullptr) worker.task = scheduler->Take(worker.self, kTurns[random_() % 3]);
    if (worker.task == nullptr) return false;
    ++pieces;
    const bool more = worker.task->Advance(worker);
    worker.task->Took(worker, random_() % 2 * 1'000'000);
    if (!more) std::exchange(worker.task, nullptr)->End(worker);
    return true;
  }
  bool StepStage(std::unique_ptr<StageRun>& run, absl::Status& status, uint32_t& left) {
    if (run == nullptr || run->Waits()) return false;
    if (all.stop) run->Stop(absl::CancelledError());
    const absl::StatusOr<bool> more = run->Advance();
    ++pieces;
    run->Took(random_() % 2 * 1'000'000);
    if (more.ok() && *more) return true;
    if (!more.ok() && (status.ok() || absl::IsCancelled(status))) status = more.status();
    run.reset();
    --left;
    return true;
  }

  void SendHome() {
    for (int round = 0; round < 3; ++round) {
      for (memory::LocalCache* const cache : caches) {
        cache->EndTurn();
        while (cache->Collect()) {
        }
      }
    }
  }

  Random& random_;
  std::vector<LabWorker> workers_;
  uint64_t queries_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_QUERY_STAGE_LAB_H_
