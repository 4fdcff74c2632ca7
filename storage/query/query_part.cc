#include "storage/query/query_part.h"

#include <utility>

namespace eris::storage {

std::vector<EnvelopeColumn> EnvelopeColumnsOf(const Schema& schema) {
  std::vector<EnvelopeColumn> columns;
  for (const ColumnSchema& column : schema.columns) columns.push_back({column.type, column.scale});
  return columns;
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
  groups_.reset();
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
