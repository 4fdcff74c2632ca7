// Stages: what all AEUs do of a query between two moments at which they wait for each other. A
// stage is a list of tasks, which each AEU does one after the other, with the rows that it has.
// Plain data; made by the engine (engine/query/query_flow.h), shared by all AEUs. Not from the
// papers: query processing is ERIS's next step (6).
//
// Rows are in sets, by number: each AEU has a list of envelopes for each set, its part. A set is
// filled in one stage and read in later ones, or by a task of the same stage that follows. Its
// envelopes stay with the AEU that has filled them, and others refer to them (ShareTask,
// SpreadTask) or copy them (CopyTask); or they are sent (SendTask) and, in a later stage, received
// (ReceiveTask).
#ifndef ERIS_STORAGE_QUERY_STAGE_H_
#define ERIS_STORAGE_QUERY_STAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "eris/schema.h"
#include "storage/query/plans/query_steps.h"
#include "storage/table/plan/table_plan.h"
#include "storage/table/query/key_filter.h"

namespace eris::storage {

using RowSet = uint32_t;
// A key filter (storage/table/query/key_filter.h), by number: one AEU of each NumaNode has one.
using FilterNumber = uint32_t;

// Nobody reads the sets and filters any more: frees what the AEU has of them.
struct FreeTask {
  std::vector<RowSet> sets{};
  std::vector<FilterNumber> filters{};
};
// Makes a filter of the keys that all AEUs have in a column of `from`, for a scan in a later stage.
// Where there is no memory for it, the scan goes without, or, if it is `required`, the query ends.
struct FilterTask {
  RowSet from = 0;
  uint32_t column = 0;
  FilterNumber filter = 0;
  bool required = false;
  // By AEU: the keys that the scan is expected to meet on its NumaNode. Empty: any.
  std::vector<NumberRange> met{};
};
// Copies rows that AEUs of other NumaNodes have of `from`, so that each byte comes once.
struct CopyTask {
  RowSet from = 0;
  RowSet to = 0;
  bool divided = false;  // each AEU of a NumaNode copies a part of them. false: all
};
// `to` refers to the rows that all AEUs have of `from`; if there is `copies`, to those of the own
// NumaNode, and to what its AEUs have copied.
struct ShareTask {
  RowSet from = 0;
  RowSet to = 0;
  std::optional<RowSet> copies{};
};
// `to` refers to the AEU's share of them: each envelope is in the share of one AEU.
struct SpreadTask {
  RowSet from = 0;
  RowSet to = 0;
};
// How a task is divided into free tasks (stage_tasks.h), if all AEUs take part in the stage.
enum class Division : uint8_t {
  kNone,       // each AEU does its own
  kEnvelopes,  // an envelope may be any AEU's: its rows are wherever it is done
  kParts,      // all that one AEU has is one task
};
// Copies the AEU's rows of `from` for others: rows with equal keys go to the same AEU.
struct SendTask {
  RowSet from = 0;
  RowSet to = 0;
  std::vector<uint32_t> keys{};  // columns
  // Rows with a null among their keys stay at the AEU: for joins, where they have no partners. Else
  // nulls are equal.
  bool nulls_stay = false;
  Division division = Division::kNone;
};
// Takes the rows of `set` that others have sent; copies those that come from another NumaNode.
struct ReceiveTask {
  RowSet set = 0;
};
// Filters, computes or groups rows.
struct MapTask {
  std::shared_ptr<const TablePlan> plan{};
  RowSet from = 0;
  RowSet to = 0;
  Division division = Division::kNone;
  bool follows = false;  // the task before it makes `from`: its envelopes are taken as they come
};
// The groups of a scan that the AEU has ended (QueryPart::KeepGroups).
struct GroupsTask {
  RowSet to = 0;
};
struct JoinTask {
  JoinStep step{};
  Schema left_schema{};
  Schema right_schema{};
  RowSet left = 0;
  RowSet right = 0;
  bool builds_left = false;  // the table is of the left side: for inner joins
  RowSet to = 0;
  Division division = Division::kNone;  // of the other side
  bool shared = false;                  // the tables of all AEUs have the same rows
};
struct SortTask {
  SortStep step{};
  RowSet from = 0;
  RowSet to = 0;
};
struct UnionTask {
  UnionStep step{};
  std::vector<RowSet> from{};  // by input of the step
  RowSet to = 0;
};
struct ValuesTask {
  ValuesStep step{};
  Schema schema{};
  RowSet to = 0;
};
// The query has ended: frees all that the AEU has of it.
struct LeaveTask {};

using StageTask =
    std::variant<FreeTask, FilterTask, CopyTask, ShareTask, SpreadTask, SendTask, ReceiveTask,
                 MapTask, GroupsTask, JoinTask, SortTask, UnionTask, ValuesTask, LeaveTask>;

struct Stage {
  std::vector<StageTask> tasks{};
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_STAGE_H_
