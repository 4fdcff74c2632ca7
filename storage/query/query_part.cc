#include "storage/query/query_part.h"

#include <utility>

#include "storage/query/part_tasks.h"
#include "storage/query/stage_tasks.h"

namespace eris::storage {

QueryParts::QueryParts() = default;
QueryParts::~QueryParts() = default;

QueryPart::QueryPart(QueryParts& all, uint32_t self, memory::MemoryManager& manager, uint32_t sets)
    : all_(all), self_(self), manager_(manager), lists_(sets), outgoing_(sets), empty_(sets) {}
QueryPart::~QueryPart() = default;

void QueryPart::BeginTasks(size_t steps) { tasks_ = std::make_unique<PartTasks>(steps); }

std::vector<EnvelopeColumn> EnvelopeColumnsOf(const Schema& schema) {
  std::vector<EnvelopeColumn> columns;
  for (const ColumnSchema& column : schema.columns) columns.push_back({column.type, column.scale});
  return columns;
}

uint64_t QueryParts::RowsOf(RowSet set) const {
  uint64_t rows = 0;
  for (const auto& part : parts) {
    if (const EnvelopeList* const list = part->list(set)) rows += list->rows();
  }
  return rows;
}

EnvelopeList& QueryPart::Output(RowSet set, EnvelopeList::Owns owns) {
  lists_[set] = std::make_unique<EnvelopeList>(*memory_, all_.columns[set], owns);
  return *lists_[set];
}

const EnvelopeList& QueryPart::Input(RowSet set) {
  if (lists_[set] != nullptr) return *lists_[set];
  // Not in lists_, where others may look for rows at the same time.
  if (empty_[set] == nullptr) {
    empty_[set] = std::make_unique<EnvelopeList>(*memory_, all_.columns[set]);
  }
  return *empty_[set];
}

OutgoingEnvelopes& QueryPart::Outgoing(RowSet set) {
  if (outgoing_[set] == nullptr) outgoing_[set] = std::make_unique<OutgoingEnvelopes>(*memory_);
  return *outgoing_[set];
}

RowSink& QueryPart::BeginRows(RowSet set) {
  sink_ = std::make_unique<RowSink>(*memory_, Output(set), "scan");
  return *sink_;
}

absl::Status QueryPart::EndRows() {
  const absl::Status flushed = sink_->Flush();
  sink_.reset();
  return flushed;
}

KeyFilterMaker& QueryPart::NewFilter(const FilterTask& task) {
  std::vector<const EnvelopeList*> lists;
  for (const auto& part : all_.parts) {
    if (part->list(task.from) != nullptr) lists.push_back(part->list(task.from));
  }
  if (filters_.size() <= task.filter) filters_.resize(task.filter + 1);
  filters_[task.filter] = std::make_unique<KeyFilterMaker>(
      *memory_, std::move(lists), task.column, task.met.empty() ? NumberRange() : task.met[self_]);
  return *filters_[task.filter];
}

void QueryPart::CountKeys(const FilterTask& task) {
  const size_t key_bytes = ColumnValueBytes(all_.columns[task.from][task.column].type);
  size_t list = 0;
  for (const auto& part : all_.parts) {
    if (part->list(task.from) == nullptr) continue;
    const uint64_t rows = filters_[task.filter]->rows_of(list++);
    if (part.get() == this) continue;
    figures_.rows_crossed += rows;
    figures_.bytes_crossed += rows * key_bytes;
  }
}

void QueryPart::FreeFilter(FilterNumber filter) {
  if (filter < filters_.size()) filters_[filter].reset();
}

std::vector<ColumnFilter> QueryPart::FiltersOf(std::span<const ScanFilter> filters) const {
  std::vector<ColumnFilter> found;
  for (const ScanFilter& wanted : filters) {
    const KeyFilter* const filter = all_.parts[all_.filter_makers[self_]]->filter(wanted.filter);
    if (filter != nullptr) found.push_back({wanted.column, filter, wanted.required});
  }
  return found;
}

bool QueryPart::FreeSome(RowSet set) {
  if (outgoing_[set] != nullptr) {
    for (uint32_t i = 0; i < kFreedAtOnce; ++i) {
      if (!outgoing_[set]->FreeOne()) break;
      if (i + 1 == kFreedAtOnce) return true;
    }
    outgoing_[set].reset();
  }
  if (lists_[set] == nullptr) return false;
  if (lists_[set]->GiveUp(kFreedAtOnce)) return true;
  lists_[set].reset();
  return false;
}

bool QueryPart::FreeSome() {
  sink_.reset();
  if (tasks_ != nullptr) {
    // An AEU that was not in the stage may have run tasks that made others.
    if (tasks_->FreeSome(*memory_)) return true;
    tasks_.reset();
  }
  if (groups_ != nullptr) {
    if (groups_->FreeSome()) return true;
    groups_.reset();
  }
  if (!filters_.empty()) {
    filters_.pop_back();
    return true;
  }
  while (!lists_.empty()) {
    const auto last = static_cast<RowSet>(lists_.size() - 1);
    const bool had = lists_[last] != nullptr || outgoing_[last] != nullptr;
    if (FreeSome(last)) return true;
    lists_.pop_back();
    outgoing_.pop_back();
    empty_.pop_back();
    if (had) return true;
  }
  return false;
}

}  // namespace eris::storage
