#include "storage/query/operators/key_filter_maker.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "storage/query/operators/number_bounds.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {

KeyFilterMaker::KeyFilterMaker(QueryMemory& memory, std::vector<const EnvelopeList*> lists,
                               uint32_t column, NumberRange known)
    : lists_(std::move(lists)), column_(column), bits_(memory), rows_of_(lists_.size()) {
  known_ = known;
}

StepResult KeyFilterMaker::Make() {
  switch (phase_) {
    case Phase::kMeasure:
      Measure();
      return StepResult::kMore;
    case Phase::kRoom:
      return MakeRoom();
    case Phase::kInsert:
      InsertRows();
      break;
    case Phase::kDone:
      break;
  }
  return phase_ == Phase::kDone ? StepResult::kDone : StepResult::kMore;
}

bool KeyFilterMaker::NextEnvelope() {
  while (list_ < lists_.size() && envelope_ == lists_[list_]->size()) {
    ++list_;
    envelope_ = 0;
  }
  return list_ < lists_.size();
}

void KeyFilterMaker::Measure() {
  for (uint32_t measured = 0; NextEnvelope(); ++envelope_) {
    if (measured++ == kMeasuredAtOnce) return;
    const Envelope& envelope = (*lists_[list_])[envelope_];
    if (!IsRead(envelope.column(column_))) continue;
    Widen(envelope.column(column_));
    rows_ += envelope.rows();
    rows_of_[list_] += envelope.rows();
  }
  list_ = 0;
  if (form_ == Form::kNone) {  // no value
    phase_ = Phase::kDone;
    return;
  }
  const uint64_t bits = std::max(rows_ * kBitsPerRow, kBitsAnyway);
  if (last_ < bits) {
    form_ = Form::kBits;
    words_ = last_ / 64 + 1;
  } else {
    form_ = Form::kBloom;
    words_ = rows_ / kRowsPerBloomWord + 1;
  }
  phase_ = Phase::kRoom;
}

void KeyFilterMaker::Widen(const SegmentColumn& column) {
  if (column.bounds == nullptr) return;  // integers without bounds are all null
  is_signed_ = column.type != ColumnType::kUint64;
  NumberBounds range{.any = form_ != Form::kNone, .min = min_, .last = last_};
  range.Widen(*column.bounds, is_signed_);
  form_ = Form::kBits;  // for now
  min_ = range.min;
  last_ = range.last;
}

StepResult KeyFilterMaker::MakeRoom() {
  const StepResult made = bits_.Extend(words_);
  if (made != StepResult::kDone) return made;
  pages_ = bits_.pages();
  phase_ = Phase::kInsert;
  return StepResult::kMore;
}

void KeyFilterMaker::InsertRows() {
  if (!NextEnvelope()) {
    phase_ = Phase::kDone;
    return;
  }
  const Envelope& envelope = (*lists_[list_])[envelope_];
  const SegmentColumn& column = envelope.column(column_);
  if (!IsRead(column)) {
    ++envelope_;
    return;
  }
  const uint32_t end = std::min(row_ + kInsertedAtOnce, envelope.rows());
  VisitColumnType(column.type, [&]<class T>(ColumnTraits<T>) {
    if constexpr (std::is_integral_v<T>) Insert(column, static_cast<const T*>(column.values), end);
  });
  row_ = end;
  if (row_ < envelope.rows()) return;
  ++envelope_;
  row_ = 0;
}

template <class T>
void KeyFilterMaker::Insert(const SegmentColumn& column, const T* values, uint32_t end) {
  for (uint32_t i = row_; i < end; ++i) {
    if (column.validity != nullptr && !BitAt(column.validity, i)) continue;
    const auto key = static_cast<uint64_t>(static_cast<int64_t>(values[i]));
    if (form_ == Form::kBits) {
      const uint64_t bit = key - min_;
      WordAt(bit / 64) |= uint64_t{1} << bit % 64;
    } else {
      const uint64_t hash = HashOf(key);
      WordAt(BloomWord(hash)) |= BloomBits(hash);
    }
  }
}

}  // namespace eris::storage
