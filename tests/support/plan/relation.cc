#include "tests/support/plan/relation.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace eris::test {
namespace {

Relation Broken(absl::StatusCode error) { return {.rows = {}, .error = error, .order = {}}; }

// Whether a limit that cuts between rows `at` - 1 and `at` leaves no choice between unequal rows.
bool CutIsDetermined(const Relation& input, size_t at) {
  const auto& rows = input.rows;
  if (at == 0 || at == rows.size()) return true;
  for (const PlanRow& row : rows) {
    if (CompareSorted(row.keys, rows[at].keys, input.order) != 0) continue;
    const bool tied = CompareSorted(rows[at - 1].keys, rows[at].keys, input.order) == 0;
    if (tied && !SameCells(row.cells, rows[at].cells)) return false;
  }
  return true;
}

void AppendWindow(const std::vector<PlanRow>& rows, uint64_t offset, uint64_t count,
                  std::vector<PlanRow>& out) {
  for (uint64_t i = 0; i < rows.size(); ++i) {
    if (i >= offset && i - offset < count) out.push_back(rows[i]);
  }
}

}  // namespace

bool OrderIsExact(const Relation& relation) {
  for (const PlanRow& row : relation.rows) {
    for (const SortKey& key : relation.order) {
      if (row.keys[key.column].slack > 0 || row.keys[key.column].any_zero) return false;
    }
  }
  return true;
}

std::weak_ordering CompareSorted(const Cells& left, const Cells& right,
                                 absl::Span<const SortKey> keys) {
  for (const SortKey& key : keys) {
    const Cell& a = left[key.column];
    const Cell& b = right[key.column];
    if (a.null && b.null) continue;
    if (a.null || b.null) {
      return a.null == key.nulls_first ? std::weak_ordering::less : std::weak_ordering::greater;
    }
    const std::weak_ordering order = CompareTotally(a, b);
    if (order != 0) return key.descending ? 0 <=> order : order;
  }
  return std::weak_ordering::equivalent;
}

Relation Sorted(const Relation& input, const std::vector<SortKey>& keys, PlanFault fault) {
  std::vector<SortKey> used = keys;
  for (SortKey& key : used) {
    if (fault == PlanFault::kNullsSortLast) key.nulls_first = false;
    if (fault == PlanFault::kDescendingIgnored) key.descending = false;
  }
  Relation out = input;
  if (out.failed()) return out;
  for (const PlanRow& row : out.rows) {
    for (const SortKey& key : used) {
      if (row.cells[key.column].failed()) return Broken(row.cells[key.column].error);
    }
  }
  std::stable_sort(out.rows.begin(), out.rows.end(), [&](const PlanRow& a, const PlanRow& b) {
    return CompareSorted(a.cells, b.cells, used) < 0;
  });
  for (PlanRow& row : out.rows) {
    row.keys.clear();
    for (const SortKey& key : keys) row.keys.push_back(row.cells[key.column]);
  }
  out.order = keys;
  for (uint32_t i = 0; i < out.order.size(); ++i) out.order[i].column = i;
  return out;
}

Relation Limited(const Relation& input, uint64_t offset, uint64_t count, PlanNotes& notes,
                 PlanFault fault) {
  if (count == 0) return {};
  if (input.failed()) return input;
  const uint64_t rows = input.rows.size();
  const uint64_t begin = std::min(offset, rows);
  const uint64_t end = begin + std::min(count, rows - begin);
  Relation out{.rows = {}, .error = absl::StatusCode::kOk, .order = input.order};
  if (fault == PlanFault::kLimitPerPart) {
    const auto middle = input.rows.begin() + static_cast<int64_t>(rows / 2);
    AppendWindow({input.rows.begin(), middle}, offset, count, out.rows);
    AppendWindow({middle, input.rows.end()}, offset, count, out.rows);
    return out;
  }
  AppendWindow(input.rows, fault == PlanFault::kOffsetIgnored ? 0 : offset, count, out.rows);
  if (begin == end || end - begin == rows) return out;
  for (const PlanRow& row : input.rows) {
    if (row.error != absl::StatusCode::kOk) return Broken(row.error);
  }
  if (!CutIsDetermined(input, begin) || !CutIsDetermined(input, end) || !OrderIsExact(input)) {
    notes.determined = false;
  }
  return out;
}

}  // namespace eris::test
