// What one AEU has of a running query: its part of the sets of rows (stage.h), in its own memory.
// The engine makes one for each AEU, and one for rows that it reads itself. Used by the AEU's
// thread while a stage is under way, by the engine between stages. Others read envelopes of it, in
// stages after the one that has filled them, or as free tasks of the same stage (stage_tasks.h).
// Not from the papers.
#ifndef ERIS_STORAGE_QUERY_QUERY_PART_H_
#define ERIS_STORAGE_QUERY_QUERY_PART_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "memory/memory_manager.h"
#include "storage/query/operators/key_filter_maker.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/query/rows/outgoing_envelopes.h"
#include "storage/query/rows/query_memory.h"
#include "storage/query/rows/query_pages.h"
#include "storage/query/rows/row_sink.h"
#include "storage/query/stage.h"
#include "storage/table/groups/group_pages.h"
#include "storage/table/groups/run_memory.h"
#include "storage/table/query/table_run.h"

namespace eris::storage {

class PartTasks;
class QueryPart;
class StageTasks;

// A filter of a column of a scan's table, by number.
struct ScanFilter {
  uint32_t column = 0;
  FilterNumber filter = 0;
  bool required = false;  // asked for all rows
};

// What an AEU has done for a query since the engine last asked (QueryPart::TakeFigures).
struct PartFigures {
  bool worked = false;
  uint64_t ns = 0;
  // Rows of others that it has received, copied or refers to, and the bytes of their values; rows
  // whose keys are in a filter of its own, and the bytes of the keys.
  uint64_t rows_crossed = 0;
  uint64_t bytes_crossed = 0;
};

// All parts of a query.
struct QueryParts {
  QueryParts();
  ~QueryParts();

  // The last part's, which is the engine's.
  std::unique_ptr<memory::MemoryManager> engine_memory{};
  std::vector<std::unique_ptr<QueryPart>> parts{};
  // By set. Written between stages.
  std::vector<std::vector<EnvelopeColumn>> columns{};
  RunMemory* memory = nullptr;  // counts what all queries have; nullptr: not counted
  // Stages end as soon as AEUs see it. relaxed: advice, it publishes nothing.
  std::atomic<bool> stop{false};

  // By part: the one that makes key filters for it, of the first AEU on its NumaNode. Written
  // before the first stage.
  std::vector<uint32_t> filter_makers{};
  // The free tasks of the stage that is under way; nullptr: it has no free tasks. Written between
  // stages.
  std::unique_ptr<StageTasks> stage_tasks{};

  uint32_t aeus() const { return static_cast<uint32_t>(parts.size() - 1); }
  // The rows of the set, of all parts together. Between stages.
  uint64_t RowsOf(RowSet set) const;
  // Whether they are parts of AEUs on different NumaNodes. The engine's part is near to all.
  bool AreFar(uint32_t part, uint32_t other) const {
    return std::max(part, other) < aeus() && filter_makers[part] != filter_makers[other];
  }
};

class QueryPart {
 public:
  // `manager`: the memory of queries on the AEU's NumaNode. Both outlive it. At most `sets` sets.
  QueryPart(QueryParts& all, uint32_t self, memory::MemoryManager& manager, uint32_t sets);
  ~QueryPart();

  uint32_t self() const { return self_; }
  QueryParts& all() const { return all_; }
  memory::MemoryManager& manager() const { return manager_; }

  // The AEU's cache of the manager. Before anything else; more than once changes nothing.
  void Enter(memory::LocalCache& cache) {
    if (memory_) return;
    memory_.emplace(cache, all_.memory);
    group_pages_.emplace(*memory_);
  }
  bool entered() const { return memory_.has_value(); }
  // All below REQUIRE that it has been entered.
  QueryMemory& memory() { return *memory_; }
  // For the groups of the part's runs, which it outlives.
  PageSource& group_pages() { return *group_pages_; }

  // A new, empty list for the set. Throws std::bad_alloc.
  EnvelopeList& Output(RowSet set, EnvelopeList::Owns owns = EnvelopeList::Owns::kYes);
  // The list; a new one at the first call. Throws std::bad_alloc.
  EnvelopeList& OutputOnce(RowSet set) {
    return lists_[set] != nullptr ? *lists_[set] : Output(set);
  }
  // The list; one without rows if there is none. Throws std::bad_alloc.
  const EnvelopeList& Input(RowSet set);
  // nullptr: there is none. Any thread, in a stage that does not change the set.
  EnvelopeList* list(RowSet set) const { return lists_[set].get(); }
  OutgoingEnvelopes& Outgoing(RowSet set);
  OutgoingEnvelopes* outgoing(RowSet set) const { return outgoing_[set].get(); }

  // A scan of a table that puts its rows into the set. Throws std::bad_alloc.
  RowSink& BeginRows(RowSet set);
  // After its last row. Errors: ResourceExhausted.
  absl::Status EndRows();
  // A scan of a table has ended, and these are its groups.
  void KeepGroups(std::unique_ptr<TableRun> run) { groups_ = std::move(run); }
  std::unique_ptr<TableRun> TakeGroups() { return std::move(groups_); }

  // A new filter of all parts' rows. Throws std::bad_alloc.
  KeyFilterMaker& NewFilter(const FilterTask& task);
  KeyFilterMaker& filter_under_way(FilterNumber filter) { return *filters_[filter]; }
  // The filter has been made: counts the keys of other parts that it has read.
  void CountKeys(const FilterTask& task);
  void FreeFilter(FilterNumber filter);
  // nullptr: there is none. Any thread, in a stage after the one that has made it.
  const KeyFilter* filter(FilterNumber filter) const {
    return filter < filters_.size() ? filters_[filter].get() : nullptr;
  }
  // For a scan of the AEU: the filters as its NumaNode has them. Throws std::bad_alloc.
  std::vector<ColumnFilter> FiltersOf(std::span<const ScanFilter> filters) const;

  // For the free tasks of a stage with so many tasks; before it is sent. Throws std::bad_alloc.
  void BeginTasks(size_t steps);
  PartTasks& tasks() { return *tasks_; }

  // The AEU has worked for so long.
  void CountTime(uint64_t ns) {
    figures_.worked = true;
    figures_.ns += ns;
  }
  // It has rows that another part has filled.
  void CountCrossed(const Envelope& envelope) {
    figures_.rows_crossed += envelope.rows();
    figures_.bytes_crossed += envelope.row_bytes();
  }
  PartFigures TakeFigures() { return std::exchange(figures_, {}); }

  // Frees a piece of what it has of the set. False: there is nothing left.
  bool FreeSome(RowSet set);
  // A piece of everything.
  bool FreeSome();

 private:
  static constexpr uint32_t kFreedAtOnce = 8;  // envelopes

  QueryParts& all_;
  const uint32_t self_;
  memory::MemoryManager& manager_;
  std::optional<QueryMemory> memory_;
  std::optional<QueryPages> group_pages_;
  std::vector<std::unique_ptr<EnvelopeList>> lists_;          // by set
  std::vector<std::unique_ptr<OutgoingEnvelopes>> outgoing_;  // by set
  std::vector<std::unique_ptr<EnvelopeList>> empty_;          // by set: for inputs without a list
  std::vector<std::unique_ptr<KeyFilterMaker>> filters_;      // by number, those of its NumaNode
  std::unique_ptr<RowSink> sink_;
  std::unique_ptr<TableRun> groups_;
  std::unique_ptr<PartTasks> tasks_;
  PartFigures figures_;
};

// The columns of envelopes for rows of a schema.
std::vector<EnvelopeColumn> EnvelopeColumnsOf(const Schema& schema);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_QUERY_PART_H_
