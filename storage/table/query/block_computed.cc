// The values of a block that are computed row by row: case, casts and strings.
#include <algorithm>
#include <string_view>

#include "storage/table/kernels/exact_number.h"
#include "storage/table/plan/literal_interval.h"
#include "storage/table/plan/utf8_text.h"
#include "storage/table/query/block_filter.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {

void BlockValues::CaseBounds(const ValueNode& node, Bounds& out) const {
  out.nulls = node.branches.size() == node.conditions.size();
  out.all_null = out.nulls;
  bool first = true;
  for (const uint32_t branch : node.branches) {
    const Bounds& from = bounds_[branch];
    out.nulls |= from.nulls;
    out.all_null = (first ? true : out.all_null) && from.all_null;
    out.checked |= from.checked;
    out.known = (first ? true : out.known) && from.known;
    out.lo = first ? from.lo : std::min(out.lo, from.lo);
    out.hi = first ? from.hi : std::max(out.hi, from.hi);
    out.real_lo = first ? from.real_lo : std::min(out.real_lo, from.real_lo);
    out.real_hi = first ? from.real_hi : std::max(out.real_hi, from.real_hi);
    first = false;
  }
  for (const uint32_t value : node.tested) out.checked |= bounds_[value].checked;
}

void BlockValues::CastBounds(const ValueNode& node, Bounds& out) const {
  const ValueNode& from_node = plan_.values[node.left];
  const Bounds& from = bounds_[node.left];
  const RangeOfValues limits = RangeOf(node);
  out.nulls = from.nulls;
  out.all_null = from.all_null;
  out.checked = from.checked;
  out.known = true;
  // The bounds of a double are not those of its NaNs.
  const bool integer = from.known && from_node.value_class != ValueClass::kDouble;
  out.leaves = !integer || !CastInteger(from_node, from.lo, node, out.lo) ||
               !CastInteger(from_node, from.hi, node, out.hi) || out.lo < limits.min ||
               out.hi > limits.max;
  if (out.leaves) {
    out.lo = limits.min;
    out.hi = limits.max;
  }
  out.leaves = out.leaves && !out.all_null;
  out.checked |= out.leaves;
}

bool BlockValues::Case(uint32_t value, const uint64_t* needed, BlockVector& out) {
  const ValueNode& node = plan_.values[value];
  const uint32_t words = (rows_ + 63) / 64;
  uint64_t left[kBlockWords];  // rows for which no condition was true
  // Without a check all rows are made, since others may look at them.
  if (needed != nullptr && bounds_[value].checked) {
    std::copy_n(needed, words, left);
  } else {
    std::fill_n(left, words, ~uint64_t{0});
  }
  if (rows_ % 64 != 0) left[words - 1] &= (uint64_t{1} << rows_ % 64) - 1;
  out = {.kind = KindOf(node), .data = Room(value), .validity = ValidityRoom(value)};
  std::fill_n(ValidityRoom(value), words, 0);
  const size_t width = out.kind == BlockVector::Kind::kInt128 ? sizeof(Int128) : sizeof(uint64_t);
  if (out.kind == BlockVector::Kind::kString) {
    std::fill_n(reinterpret_cast<std::string_view*>(Room(value)), rows_, std::string_view());
  } else {
    std::fill_n(reinterpret_cast<std::byte*>(Room(value)), rows_ * width, std::byte{0});
  }
  for (size_t i = 0; i < node.branches.size(); ++i) {
    uint64_t taken[kBlockWords];
    std::copy_n(left, words, taken);
    if (i < node.conditions.size() && !conditions_.KeepTrue(*this, node.conditions[i], taken)) {
      return false;
    }
    uint64_t any = 0;
    for (uint32_t w = 0; w < words; ++w) {
      left[w] &= ~taken[w];
      any |= taken[w];
    }
    if (any == 0) continue;
    request_ = ++stamps_;
    const BlockVector* const branch = RequestWide(node.branches[i], taken);
    if (branch == nullptr) return false;
    TakeBranch(value, *branch, taken);
  }
  return true;
}

void BlockValues::TakeBranch(uint32_t value, const BlockVector& from, const uint64_t* taken) {
  uint64_t* const validity = ValidityRoom(value);
  for (uint32_t w = 0; w * 64 < rows_; ++w) {
    validity[w] |= taken[w] & (from.validity == nullptr ? ~uint64_t{0} : from.validity[w]);
  }
  const auto copy = [&]<class T>(const T* values) {
    T* const room = reinterpret_cast<T*>(Room(value));
    ForRows(taken, rows_, [&](uint32_t i) { room[i] = values[i]; });
  };
  if (from.kind == BlockVector::Kind::kInt128) {
    copy(from.i128());
  } else if (from.kind == BlockVector::Kind::kString) {
    copy(from.strings());
  } else {
    copy(from.u64());
  }
}

bool BlockValues::Cast(uint32_t value, const uint64_t* needed, BlockVector& out) {
  const ValueNode& node = plan_.values[value];
  const ValueNode& from_node = plan_.values[node.left];
  const BlockVector* const from = RequestWide(node.left, needed);
  if (from == nullptr) return false;
  out = {.kind = KindOf(node), .data = Room(value), .validity = from->validity};
  const RangeOfValues limits = RangeOf(node);
  const bool leaves = bounds_[value].leaves;
  const bool wide = out.kind == BlockVector::Kind::kInt128;
  const bool of_double = from->kind == BlockVector::Kind::kDouble;
  uint64_t* const room = Room(value);
  auto* const wide_room = reinterpret_cast<Int128*>(room);
  std::fill_n(room, rows_ * (wide ? 2 : 1), 0);
  bool fits = true;
  // Without a check all rows are made, since others may look at them.
  ForNeeded(leaves ? needed : nullptr, out.validity, [&](uint32_t i) {
    Int128 result = 0;
    const bool fit = of_double ? Rescale(from->f64()[i], node.scale, result)
                               : CastInteger(from_node, from->Integer(i), node, result);
    fits &= fit && result >= limits.min && result <= limits.max;
    if (wide) {
      wide_room[i] = result;
    } else {
      room[i] = static_cast<uint64_t>(result);
    }
  });
  return fits || !leaves || OutsideType(node);
}

void BlockValues::Strings(uint32_t value, BlockVector& out) {
  const SegmentColumn& from = column(value);
  auto* const room = reinterpret_cast<std::string_view*>(Room(value));
  out = {.kind = BlockVector::Kind::kString, .data = room};
  if (picks_ == nullptr) {
    out.validity = Validity(value);
  } else {
    PickValidity(value, out);
  }
  for (uint32_t i = 0; i < rows_; ++i) {
    // The code of a null is undefined.
    const bool valid = out.validity == nullptr || BitAt(out.validity, i);
    room[i] =
        valid ? StringAt(from, base_ + (picks_ == nullptr ? i : picks_[i])) : std::string_view();
  }
}

bool BlockValues::Substring(uint32_t value, const uint64_t* needed, BlockVector& out) {
  const ValueNode& node = plan_.values[value];
  const BlockVector* const from = Request(node.left, needed);
  if (from == nullptr) return false;
  auto* const room = reinterpret_cast<std::string_view*>(Room(value));
  for (uint32_t i = 0; i < rows_; ++i) {
    room[i] = CharactersOf(from->strings()[i], node.first, node.characters);
  }
  out = {.kind = BlockVector::Kind::kString, .data = room, .validity = from->validity};
  return true;
}

}  // namespace eris::storage
