#include "storage/table/query/block_aggregator.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "base/status_macros.h"
#include "storage/table/kernels/kernels.h"

namespace eris::storage {
namespace {

// Few groups are added up group by group through bitmaps: no store waits for the one before it.
constexpr uint32_t kGroupsByMaskMax = 16;
// If fewer than one row in kPickBelow is left, these rows are picked out and computed alone.
constexpr uint32_t kPickBelow = 16;

// Bitmaps of rows below; nullptr: all rows.
uint64_t CountOf(const uint64_t* mask, uint32_t rows) {
  return mask != nullptr ? kernels::CountRows(mask, rows) : rows;
}

// The rows of `mask` that are not null. `room`: where they are put if need be.
const uint64_t* NotNull(const uint64_t* mask, const uint64_t* validity, uint32_t rows,
                        uint64_t* room) {
  if (validity == nullptr) return mask;
  const uint32_t words = (rows + 63) / 64;
  for (uint32_t w = 0; w < words; ++w) {
    room[w] = validity[w] & (mask != nullptr ? mask[w] : ~uint64_t{0});
  }
  if (rows % 64 != 0) room[words - 1] &= (uint64_t{1} << rows % 64) - 1;
  return room;
}

// Adds the rows of `mask`, all of one group. `narrow`: their sum fits 64 bits.
void AddVector(const Accumulator& accumulator, const BlockVector& vector, uint32_t rows,
               const uint64_t* mask, bool narrow, GroupTable::Cell& cell) {
  if (accumulator.kind == Accumulator::Kind::kCount) {
    cell.count += CountOf(mask, rows);
    return;
  }
  if (accumulator.kind == Accumulator::Kind::kSum) {
    vector.Visit([&]<class T>(const T* values) {
      if constexpr (std::is_floating_point_v<T>) {
        cell.real += kernels::Sum(values, rows, mask);
      } else if constexpr (sizeof(T) == sizeof(int64_t)) {
        cell.sum += kernels::Sum(values, rows, mask, narrow);
      } else {
        cell.sum += kernels::Sum(values, rows, mask);
      }
    });
    return;
  }
  kernels::Extremes found{};
  vector.Visit([&](const auto* values) { kernels::FindExtremes(values, rows, mask, found); });
  if (accumulator.kind == Accumulator::Kind::kMin) {
    cell.key = std::min(cell.key, found.min);
  } else {
    cell.key = std::max(cell.key, found.max);
  }
}

// One row after the other, each into the cell at `offset` of its group's record.
template <class Read, class Combine>
void AddRows(const uint64_t* validity, std::byte* const* records, uint32_t rows, size_t offset,
             Read read, Combine combine) {
  const auto cell = [&](uint32_t i) -> GroupTable::Cell& {
    return *reinterpret_cast<GroupTable::Cell*>(records[i] + offset);
  };
  if (validity == nullptr) {
    for (uint32_t i = 0; i < rows; ++i) combine(cell(i), read(i));
  } else {
    for (uint32_t i = 0; i < rows; ++i) {
      if (BitAt(validity, i)) combine(cell(i), read(i));
    }
  }
}

void AddGrouped(const Accumulator& accumulator, const BlockVector& vector,
                std::byte* const* records, uint32_t rows, size_t offset) {
  const auto add = [&](auto read) {
    const auto rows_of = [&](auto combine) {
      AddRows(vector.validity, records, rows, offset, read, combine);
    };
    switch (accumulator.kind) {
      case Accumulator::Kind::kCount:
        break;
      case Accumulator::Kind::kSum:
        rows_of([](GroupTable::Cell& cell, auto value) {
          if constexpr (std::is_same_v<decltype(value), double>) {
            cell.real += value;
          } else {
            cell.sum += value;
          }
        });
        break;
      case Accumulator::Kind::kMin:
        rows_of([](GroupTable::Cell& cell, auto value) {
          cell.key = std::min(cell.key, kernels::OrderKey(value));
        });
        break;
      case Accumulator::Kind::kMax:
        rows_of([](GroupTable::Cell& cell, auto value) {
          cell.key = std::max(cell.key, kernels::OrderKey(value));
        });
        break;
      case Accumulator::Kind::kValues:
        break;
    }
  };
  if (accumulator.kind == Accumulator::Kind::kCount) {
    AddRows(
        vector.validity, records, rows, offset, [](uint32_t) { return 0; },
        [](GroupTable::Cell& cell, int) { ++cell.count; });
    return;
  }
  vector.Visit([&]<class T>(const T* data) {
    // Vectors of picked rows are wide.
    if constexpr (sizeof(T) == sizeof(int64_t)) add([data](uint32_t i) { return data[i]; });
  });
}

// What is kept of a value: numbers of 64 bits in one order.
template <class T>
auto KeptOf(T value) {
  if constexpr (std::is_same_v<T, int32_t>)
    return int64_t{value};
  else if constexpr (std::is_same_v<T, Int128>)
    return value;
  else
    return kernels::OrderKey(value);
}

// Whether an accumulator is added to one value at a time.
bool OneByOne(const Accumulator& accumulator, const BlockVector& vector) {
  return accumulator.kind != Accumulator::Kind::kValues &&
         accumulator.kind != Accumulator::Kind::kCount &&
         (vector.kind == BlockVector::Kind::kInt128 || vector.kind == BlockVector::Kind::kString);
}

// Calls what(i) for the rows of `mask`; nullptr: all.
template <class What>
void ForAny(const uint64_t* mask, uint32_t rows, What what) {
  if (mask != nullptr) return ForRows(mask, rows, what);
  for (uint32_t i = 0; i < rows; ++i) what(i);
}

}  // namespace

template <class CellOfRow>
bool BlockAggregator::KeepValues(const BlockVector& vector, const uint64_t* mask, uint32_t rows,
                                 CellOfRow cell_of) {
  const auto keep = [&](const auto* values) {
    bool fits = true;
    ForAny(mask, rows,
           [&](uint32_t i) { fits = fits && table_.KeepValue(KeptOf(values[i]), cell_of(i)); });
    return fits;
  };
  return vector.kind == BlockVector::Kind::kInt128 ? keep(vector.i128()) : vector.Visit(keep);
}

bool BlockAggregator::AddOne(uint32_t accumulator, const BlockVector& vector, uint32_t i,
                             GroupTable::Cell& cell) {
  if (vector.validity != nullptr && !BitAt(vector.validity, i)) return true;
  if (vector.kind == BlockVector::Kind::kString) {
    return table_.KeepExtreme(accumulator, vector.strings()[i], cell);
  }
  const Int128 value = vector.i128()[i];
  switch (plan_.accumulators[accumulator].kind) {
    case Accumulator::Kind::kMin:
      cell.sum = std::min(cell.sum, value);
      return true;
    case Accumulator::Kind::kMax:
      cell.sum = std::max(cell.sum, value);
      return true;
    default:
      return table_.AddWide(accumulator, value, cell);
  }
}

void BlockAggregator::BeginSegment(const SegmentView& segment) {
  checked_ = std::any_of(
      plan_.accumulators.begin(), plan_.accumulators.end(),
      [&](const Accumulator& accumulator) { return values_.bounds(accumulator.value).checked; });
  if (!plan_.group_columns.empty()) groups_.BeginSegment(segment);
}

absl::Status BlockAggregator::Add(const uint64_t* mask, uint32_t rows, uint32_t count) {
  if (plan_.group_columns.empty()) return AddUngrouped(mask, rows, count);
  if (!groups_.Find(values_.segment(), values_.base(), rows, mask, table_, ids_)) {
    return table_.status();
  }
  const bool by_mask = !checked_ && table_.size() <= kGroupsByMaskMax && count * kPickBelow >= rows;
  return by_mask ? AddByMask(mask, rows) : AddByRow(mask, rows);
}

absl::Status BlockAggregator::AddUngrouped(const uint64_t* mask, uint32_t rows, uint32_t count) {
  table_.AddRows(0, count);
  if (plan_.accumulators.empty()) return absl::OkStatus();
  CountStrings(mask, rows, 0);
  if (count == rows) return AddVectors(nullptr, rows, 0);
  if (!checked_ && count * kPickBelow >= rows) return AddVectors(mask, rows, 0);
  values_.Pick(picks_, PickRows(mask, rows, picks_));
  return AddVectors(nullptr, count, 0);
}

// Strings have no vectors, and are counted where they are.
void BlockAggregator::CountStrings(const uint64_t* mask, uint32_t rows, uint32_t group) {
  for (size_t i = 0; i < plan_.accumulators.size(); ++i) {
    if (!CountsStrings(plan_.accumulators[i])) continue;
    uint64_t room[kBlockWords];
    const uint64_t* const validity = values_.Validity(plan_.accumulators[i].value);
    table_.cells(group)[i].count += CountOf(NotNull(mask, validity, rows, room), rows);
  }
}

absl::Status BlockAggregator::AddVectors(const uint64_t* mask, uint32_t rows, uint32_t group) {
  GroupTable::Cell* const cells = table_.cells(group);
  for (size_t i = 0; i < plan_.accumulators.size(); ++i) {
    const Accumulator& accumulator = plan_.accumulators[i];
    if (CountsStrings(accumulator)) continue;
    const BlockVector* const vector = values_.Evaluate(accumulator.value, mask);
    if (vector == nullptr) return values_.status();
    if (OneByOne(accumulator, *vector)) {
      bool fits = true;
      ForAny(mask, rows, [&](uint32_t row) {
        fits = fits && AddOne(static_cast<uint32_t>(i), *vector, row, cells[i]);
      });
      if (!fits) return table_.status();
      continue;
    }
    alignas(64) uint64_t room[kBlockWords];
    const uint64_t* const valid = NotNull(mask, vector->validity, rows, room);
    if (accumulator.kind == Accumulator::Kind::kValues) {
      const auto cell_of = [&](uint32_t) -> GroupTable::Cell& { return cells[i]; };
      if (!KeepValues(*vector, valid, rows, cell_of)) return table_.status();
      continue;
    }
    AddVector(accumulator, *vector, rows, valid, values_.Narrow(accumulator.value), cells[i]);
  }
  return absl::OkStatus();
}

absl::Status BlockAggregator::AddByMask(const uint64_t* mask, uint32_t rows) {
  alignas(64) uint64_t of_group[kBlockWords];
  for (uint32_t group = 0; group < table_.size(); ++group) {
    std::copy_n(mask, (rows + 63) / 64, of_group);
    const auto id = static_cast<int32_t>(group);
    kernels::KeepInRange(reinterpret_cast<const int32_t*>(ids_), rows, id, id, false, of_group);
    const uint32_t count = kernels::CountRows(of_group, rows);
    if (count == 0) continue;
    table_.AddRows(group, count);
    CountStrings(of_group, rows, group);
    ERIS_RETURN_IF_ERROR(AddVectors(count == rows ? nullptr : of_group, rows, group));
  }
  return absl::OkStatus();
}

absl::Status BlockAggregator::AddByRow(const uint64_t* mask, uint32_t rows) {
  const uint32_t count = PickRows(mask, rows, picks_);
  for (uint32_t i = 0; i < count; ++i) {
    records_[i] = table_.record(ids_[picks_[i]]);
    table_.AddRows(records_[i], 1);
  }
  // Counts of strings look at the block's own rows, the others at picked ones.
  for (size_t i = 0; i < plan_.accumulators.size(); ++i) {
    if (!CountsStrings(plan_.accumulators[i])) continue;
    const uint64_t* const validity = values_.Validity(plan_.accumulators[i].value);
    for (uint32_t k = 0; k < count; ++k) {
      CellOf(k, i).count += validity == nullptr || BitAt(validity, picks_[k]);
    }
  }
  values_.Pick(picks_, count);
  for (size_t i = 0; i < plan_.accumulators.size(); ++i) {
    const Accumulator& accumulator = plan_.accumulators[i];
    if (CountsStrings(accumulator)) continue;
    const BlockVector* const vector = values_.Evaluate(accumulator.value, nullptr);
    if (vector == nullptr) return values_.status();
    if (OneByOne(accumulator, *vector)) {
      bool fits = true;
      for (uint32_t k = 0; k < count && fits; ++k) {
        fits = AddOne(static_cast<uint32_t>(i), *vector, k, CellOf(k, i));
      }
      if (!fits) return table_.status();
      continue;
    }
    if (accumulator.kind == Accumulator::Kind::kValues) {
      alignas(64) uint64_t room[kBlockWords];
      const uint64_t* const valid = NotNull(nullptr, vector->validity, count, room);
      const auto cell_of = [&](uint32_t k) -> GroupTable::Cell& { return CellOf(k, i); };
      if (!KeepValues(*vector, valid, count, cell_of)) return table_.status();
      continue;
    }
    AddGrouped(accumulator, *vector, records_, count, table_.cell_offset(i));
  }
  return absl::OkStatus();
}

}  // namespace eris::storage
