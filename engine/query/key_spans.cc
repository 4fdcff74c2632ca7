#include "engine/query/key_spans.h"

#include <algorithm>

namespace eris::engine {

using storage::Int128;

KeySpans::KeySpans(const storage::QueryParts& parts, storage::RowSet set, uint32_t column)
    : spans_(parts.parts.size()) {
  for (size_t i = 0; i < spans_.size(); ++i) {
    const storage::EnvelopeList* const list = parts.parts[i]->list(set);
    bool nulls = false;
    for (uint32_t e = 0; list != nullptr && e < list->size(); ++e) {
      const storage::SegmentColumn& values = (*list)[e].column(column);
      nulls |= values.nulls > 0;
      if (values.bounds == nullptr) continue;  // all null
      const auto number = [&](const auto& bound) {
        return values.type == ColumnType::kUint64 ? Int128{bound.u64} : Int128{bound.i64};
      };
      spans_[i].Widen(number(values.bounds->min), number(values.bounds->max));
    }
    with_nulls_ += nulls;
  }
}

void KeySpans::Add(const KeySpans& other) {
  for (size_t i = 0; i < spans_.size(); ++i) {
    const Span& more = other.spans_[i];
    if (more.any) spans_[i].Widen(more.least, more.most);
  }
}

bool KeySpans::Apart() const {
  std::vector<Span> sorted;
  std::copy_if(spans_.begin(), spans_.end(), std::back_inserter(sorted),
               [](const Span& span) { return span.any; });
  std::sort(sorted.begin(), sorted.end(),
            [](const Span& a, const Span& b) { return a.least < b.least; });
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1].most >= sorted[i].least) return false;
  }
  return true;
}

}  // namespace eris::engine
