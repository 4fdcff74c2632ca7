// From the steps of a query to what is done next: decides, step by step, from the numbers of rows
// that are there, which AEUs work on them, and which rows go to others. Not from the papers: query
// processing is ERIS's next step (6).
//
// Rows are spread, each where the AEU that has made them is, or at home, which is one AEU of the
// query. An AEU filters and computes the rows that it has. For the others:
//
//   scan    only rows that can have a partner in a join, if the other side is there already
//           (key_filter_plan.h)
//   group   each AEU makes groups of its rows. Few of them are then merged at home, many by all
//           AEUs: groups with equal keys are sent to the same one. If no key is at two AEUs
//           (key_spans.h), nothing is merged. Groups that must be whole (whole_groups.h) are made
//           once, of rows that have been sent so
//   join    each AEU its own rows, if no key is at two AEUs; else all AEUs refer to the smaller
//           side, each makes a table of it, and probes its own rows; or, if many AEUs would make
//           large tables, rows of both sides with equal keys are sent to the same AEU
//   sort    each AEU finds as many rows as the limit has; they are sorted at home
//   values  are at home
//
// Rows of AEUs on other NumaNodes are copied before they are referred to, unless they are few.
//
// Used by one thread at a time.
#ifndef ERIS_ENGINE_QUERY_QUERY_FLOW_H_
#define ERIS_ENGINE_QUERY_QUERY_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "engine/core/query_flow_limits.h"
#include "engine/query/groups/two_phase_groups.h"
#include "engine/query/groups/whole_groups.h"
#include "engine/query/key_filter_plan.h"
#include "eris/query.h"
#include "storage/query/plans/query_steps.h"
#include "storage/query/query_part.h"
#include "storage/query/stage.h"
#include "storage/table/plan/table_plan.h"
#include "storage/table/query/key_filter.h"

namespace eris::engine {

// What is to be done next.
//
// A scan of a table at all AEUs that have rows of it, which puts rows into the set, or keeps
// groups.
struct ScanWork {
  std::string object;
  std::shared_ptr<const storage::TablePlan> plan;
  storage::RowSet set = 0;
  std::vector<storage::ScanFilter> filters;
};
// The engine reads an index or a hash, and puts its rows into its own part of the set.
struct ReadWork {
  std::string object;
  storage::RowSet set = 0;
};
struct StageWork {
  storage::Stage stage;
  bool everywhere = false;  // false: at home
};
// What a scan reads.
struct ScannedTable {
  std::vector<ColumnSchema> columns{};  // empty: an index or a hash
  // The first column of the key, by whose number the table is cut, and by AEU the numbers that are
  // expected on its NumaNode. Empty: all may be anywhere.
  uint32_t key = 0;
  std::vector<storage::NumberRange> met{};
};
struct NoWork {};  // the answer is there

class QueryFlow {
 public:
  using Work = std::variant<NoWork, ScanWork, ReadWork, StageWork>;

  // How many sets it uses.
  static uint32_t SetsOf(const storage::QuerySteps& steps) {
    return static_cast<uint32_t>(steps.steps.size()) * kSetsPerStep;
  }
  // `parts` outlives it, and is read between stages alone.
  QueryFlow(storage::QuerySteps steps, storage::QueryParts& parts, QueryFlowLimits limits = {});

  // What is next, after what the last call returned has been done. Errors: InvalidArgument (a
  // subquery with more than one row, an expression with its values), ResourceExhausted (no memory).
  // Throws std::bad_alloc.
  using Describe = absl::FunctionRef<ScannedTable(const std::string& object)>;
  absl::StatusOr<Work> Next(Describe describe);

  // The step of the work that Next has returned last.
  uint32_t step() const { return current_; }

  // The rows of a step that has been made: all parts of the set together.
  storage::RowSet RowsOfStep(uint32_t step) const { return rows_[step]; }
  // When there is no work any more.
  storage::RowSet answer() const { return rows_.back(); }

  // The sets of a step: its rows, and what it needs on the way.
  static constexpr uint32_t kSetsPerStep = 5;
  static storage::RowSet SetOf(uint32_t step, uint32_t which) {
    return step * kSetsPerStep + which;
  }
  static uint32_t StepOf(storage::RowSet set) { return set / kSetsPerStep; }

 private:
  static constexpr uint32_t kRows = 0;
  static constexpr uint32_t kCopies = 4;  // of rows of other NumaNodes

  storage::RowSet Own(uint32_t which) const { return SetOf(current_, which); }
  const Schema& SchemaOfStep(uint32_t step) const { return steps_[step].schema; }
  bool IsAtHome(uint32_t step) const { return aeus_ == 1 || at_home_[step]; }
  absl::StatusOr<Expression> ValueOf(uint32_t step) const;
  absl::Status PutValues();

  // Adds what the phase of the step does to planned_. True: it is the last one.
  absl::StatusOr<bool> Plan(const storage::ScanStep& step, Describe describe);
  absl::StatusOr<bool> Plan(const storage::MapStep& step, Describe describe);
  absl::StatusOr<bool> Plan(const storage::JoinStep& step, Describe describe);
  absl::StatusOr<bool> Plan(const storage::SortStep& step, Describe describe);
  absl::StatusOr<bool> Plan(const storage::UnionStep& step, Describe describe);
  absl::StatusOr<bool> Plan(const storage::ValuesStep& step, Describe describe);
  // Adds the filters of the scan to planned_, and tells which they are.
  std::vector<storage::ScanFilter> PlanFilters(const storage::ScanStep& step,
                                               const ScannedTable& table);
  // Whether so many keys are more than a filter of the scan's rows is worth.
  bool IsTooMuch(uint64_t keys) const;
  // Makes groups of the rows in Own(1), all rows of a group at one AEU.
  absl::Status PlanWhole();
  // Whether no key of the groups, or of the rows to be grouped, in Own(1) is at two AEUs; of a
  // join, in both of its inputs.
  bool GroupsApart(uint32_t keys) const;
  bool KeysApart(const storage::JoinStep& step) const;
  // How a step that reads the set is divided. Rows stay with their AEU if that is worth more.
  storage::Division DivisionFor(storage::RowSet set) const;
  bool IsUneven(storage::RowSet set) const;
  // Whether there is a column none of whose numbers are at two AEUs.
  bool HasApartKeys(storage::RowSet set) const;
  // If the step just planned is a divided join, and the next one only takes its rows, adds this one
  // to the same stage.
  absl::Status PlanFollower(Describe describe);
  // The groups in Own(1) are all there are.
  absl::Status PlanUnmerged(const TwoPhaseGroups& phases);
  // Merges the groups in Own(1).
  absl::Status PlanMerge();
  absl::StatusOr<storage::MapTask> MapOf(const std::vector<ColumnSchema>& columns,
                                         const Query& query, storage::RowSet from,
                                         storage::RowSet to, uint16_t carried = 0);
  // Adds to `tasks` what makes `to` refer to all rows of `from`; a stage before them may come
  // first.
  void PlanShare(storage::RowSet from, storage::RowSet to, bool at_home,
                 std::vector<storage::StageTask>& tasks);
  void PlanShared(storage::JoinTask join, uint32_t build, uint32_t probe);
  void PlanExchanged(storage::JoinTask join);

  void SetColumns(storage::RowSet set, const Schema& schema);
  void Everywhere(std::vector<storage::StageTask> tasks);
  void AtHome(std::vector<storage::StageTask> tasks);
  void EndStep();
  void Release(uint32_t step);
  void FreeLater(storage::RowSet set);

  std::vector<storage::QueryStep> steps_;
  storage::QueryParts& parts_;
  const uint32_t aeus_;
  const QueryFlowLimits limits_;
  const StepOrder order_;
  std::vector<bool> at_home_;          // by step, its rows
  std::vector<storage::RowSet> rows_;  // by step
  uint32_t next_ = 0;                  // in order_
  uint32_t current_ = 0;               // step
  uint32_t phase_ = 0;                 // of it
  bool last_ = false;                  // that one is its last
  bool refers_ = false;                // its rows refer to others of its sets
  std::deque<Work> planned_;
  std::vector<storage::RowSet> to_free_;
  std::vector<storage::FilterNumber> filters_;  // of the step
  std::vector<storage::FilterNumber> filters_to_free_;
  // For a step that makes groups.
  std::optional<TwoPhaseGroups> phases_;
  std::optional<WholeGroups> whole_;
  Schema partial_;  // the columns of Own(1)
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_QUERY_FLOW_H_
