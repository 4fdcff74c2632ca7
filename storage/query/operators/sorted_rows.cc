#include "storage/query/operators/sorted_rows.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace eris::storage {

SortedRows::SortedRows(QueryMemory& memory, const EnvelopeList& list, std::span<const SortKey> keys,
                       uint64_t limit)
    : memory_(memory), list_(list), keys_(list, keys), limit_(limit) {
  if (limit == 0) phase_ = Phase::kDone;
}

SortedRows::~SortedRows() {
  while (FreeSome()) continue;
}

bool SortedRows::FreeSome() {
  while (runs_count_ > 0 && runs_[runs_count_ - 1].first == nullptr) --runs_count_;
  if (runs_count_ == 0) return FreeSome(merged_.first) || FreeSome(open_) || FreeSome(free_);
  FreeSome(runs_[runs_count_ - 1].first);
  return true;
}

bool SortedRows::FreeSome(Page*& first) {
  for (uint32_t freed = 0; first != nullptr && freed < kFreedAtOnce; ++freed) {
    memory_.Free(std::exchange(first, first->next), sizeof(Page));
  }
  return first != nullptr;
}

SortedRows::Page* SortedRows::TakePage() {
  Page* page = free_;
  if (page != nullptr) {
    free_ = page->next;
  } else {
    page = static_cast<Page*>(memory_.Allocate(sizeof(Page)));
    if (page == nullptr) return nullptr;
  }
  page->next = nullptr;
  page->count = 0;
  return page;
}

StepResult SortedRows::Step() {
  if (merging_) return Merge();
  switch (phase_) {
    case Phase::kMeasure:
      Measure();
      return StepResult::kMore;
    case Phase::kRuns:
      if (runs_count_ > 1 && runs_[runs_count_ - 1].level == runs_[runs_count_ - 2].level) {
        return Merge();
      }
      return ReadRows();
    case Phase::kLast:
      if (runs_count_ > 1) return Merge();
      if (FreeSome(free_)) return StepResult::kMore;
      phase_ = Phase::kDone;
      return StepResult::kDone;
    case Phase::kDone:
      break;
  }
  return StepResult::kDone;
}

void SortedRows::Measure() {
  const uint32_t end = std::min(list_.size(), envelope_ + kMeasuredAtOnce);
  for (; envelope_ < end; ++envelope_) keys_.Widen(list_[envelope_]);
  if (envelope_ < list_.size()) return;
  envelope_ = 0;
  keys_.Decide();
  phase_ = Phase::kRuns;
}

bool SortedRows::Less(const Entry& a, const Entry& b, uint32_t& cost) const {
  if (a.prefix != b.prefix) return a.prefix < b.prefix;
  if (!keys_.exact()) {
    cost += kCompareCost;
    if (const int order = keys_.CompareRest(a.row, b.row); order != 0) return order < 0;
  }
  return a.row < b.row;
}

StepResult SortedRows::ReadRows() {
  if (open_ == nullptr) open_ = TakePage();
  if (open_ == nullptr) return StepResult::kNoMemory;
  const uint32_t run_rows = keys_.exact() ? kRunRows : kRunRowsByValue;
  for (uint32_t read = 0; read < kStepRows;) {
    if (envelope_ == list_.size()) {
      phase_ = Phase::kLast;
      CloseRun();
      return StepResult::kMore;
    }
    const uint32_t count = std::min(run_rows / kChunksPerRun, list_[envelope_].rows() - row_);
    ReadChunk(count);
    read += count + 1;
    if (row_ == list_[envelope_].rows()) {
      ++envelope_;
      row_ = 0;
    }
    if (open_->count >= run_rows) {
      CloseRun();
      break;
    }
  }
  return StepResult::kMore;
}

void SortedRows::ReadChunk(uint32_t count) {
  uint64_t prefixes[kRunRows / kChunksPerRun];
  keys_.Prefixes(list_[envelope_], row_, count, prefixes);
  uint32_t cost = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Entry entry{.prefix = prefixes[i], .row = RowNumberOf(envelope_, row_ + i)};
    if (has_threshold_ && !Less(entry, threshold_, cost)) continue;
    open_->entries[open_->count++] = entry;
  }
  row_ += count;
}

void SortedRows::CloseRun() {
  Page* const page = std::exchange(open_, nullptr);
  if (page->count == 0) {
    Recycle(page, page);
    return;
  }
  uint32_t cost = 0;
  std::sort(page->entries, page->entries + page->count,
            [&](const Entry& a, const Entry& b) { return Less(a, b, cost); });
  page->count = static_cast<uint32_t>(std::min<uint64_t>(page->count, limit_));
  Push({.first = page, .last = page, .rows = page->count});
}

void SortedRows::Push(Run run) {
  if (run.rows == limit_) {
    run.level = kFullLevel;
    // There are `limit` rows up to that one: it only falls, as rows behind it are left out.
    threshold_ = run.last->entries[run.last->count - 1];
    has_threshold_ = true;
  }
  ERIS_CHECK(runs_count_ < kRunsMax);
  runs_[runs_count_++] = run;
}

// Merges some rows of the last two runs.
StepResult SortedRows::Merge() {
  const std::span<Run, 2> from(&runs_[runs_count_ - 2], 2);
  merging_ = true;
  for (uint32_t cost = 0; cost < kStepRows;) {
    if (merged_.rows == limit_ || (from[0].first == nullptr && from[1].first == nullptr)) {
      EndMerge();
      return StepResult::kMore;
    }
    if (merged_.last == nullptr || merged_.last->count == Page::kEntries) {
      Page* const page = TakePage();
      if (page == nullptr) return StepResult::kNoMemory;
      (merged_.last == nullptr ? merged_.first : merged_.last->next) = page;
      merged_.last = page;
    }
    const uint32_t room = static_cast<uint32_t>(std::min<uint64_t>(
        {Page::kEntries - merged_.last->count, limit_ - merged_.rows, kStepRows - cost}));
    Entry* const out = merged_.last->entries + merged_.last->count;
    const uint32_t some = from[0].first != nullptr && from[1].first != nullptr
                              ? MergePages(*from[0].first, *from[1].first, out, room, cost)
                              : CopyPage(from[from[0].first == nullptr], out, room);
    merged_.last->count += some;
    merged_.rows += some;
    cost += some;
    for (uint32_t i = 0; i < 2; ++i) LeavePageAtEnd(from[i].first, at_[i]);
  }
  return StepResult::kMore;
}

// Merges entries until one of the pages or the room ends, or comparisons by values have cost
// enough. All rows of `a` have smaller numbers than those of `b`, so if keys are equal `a` is
// first.
uint32_t SortedRows::MergePages(const Page& a, const Page& b, Entry* out, uint32_t room,
                                uint32_t& cost) {
  const Entry* from_a = a.entries + at_[0];
  const Entry* from_b = b.entries + at_[1];
  const Entry* const end_a = a.entries + a.count;
  const Entry* const end_b = b.entries + b.count;
  const bool exact = keys_.exact();
  uint32_t compared = cost;
  uint32_t count = 0;
  while (count < room && from_a < end_a && from_b < end_b && compared < kStepRows) {
    // Without a branch on the order of two prefixes, which may be random.
    uint64_t second = from_b->prefix < from_a->prefix;
    if (!exact && from_b->prefix == from_a->prefix) [[unlikely]] {
      compared += kCompareCost;
      second = keys_.CompareRest(from_b->row, from_a->row) < 0;
    }
    const auto address_a = reinterpret_cast<uintptr_t>(from_a);
    const auto address_b = reinterpret_cast<uintptr_t>(from_b);
    const uintptr_t address = address_a ^ ((address_a ^ address_b) & -second);
    out[count++] = *reinterpret_cast<const Entry*>(address);  // NOLINT: g++ would take a branch
    from_a += 1 - second;
    from_b += second;
  }
  cost = compared;
  at_ = {static_cast<uint32_t>(from_a - a.entries), static_cast<uint32_t>(from_b - b.entries)};
  return count;
}

uint32_t SortedRows::CopyPage(const Run& run, Entry* out, uint32_t room) {
  uint32_t& at = at_[&run != &runs_[runs_count_ - 2]];
  const uint32_t some = std::min(room, run.first->count - at);
  std::copy_n(run.first->entries + at, some, out);
  at += some;
  return some;
}

void SortedRows::LeavePageAtEnd(Page*& page, uint32_t& at) {
  if (page == nullptr || at < page->count) return;
  at = 0;
  Page* const empty = std::exchange(page, page->next);
  Recycle(empty, empty);
}

void SortedRows::EndMerge() {
  Run* const from = &runs_[runs_count_ - 2];
  for (uint32_t i = 0; i < 2; ++i) {
    // What comes behind the limit.
    if (from[i].first != nullptr) Recycle(from[i].first, from[i].last);
  }
  merged_.level = std::max(from[0].level, from[1].level) + 1;
  runs_count_ -= 2;
  at_ = {};
  merging_ = false;
  Push(std::exchange(merged_, Run{}));
}

uint32_t SortedRows::Read(RowNumber* rows, uint32_t rows_max) {
  ERIS_DCHECK(phase_ == Phase::kDone);
  uint32_t count = 0;
  while (count < rows_max && rows_left() > 0) {
    Page* const page = runs_[0].first;
    const uint32_t some = std::min(rows_max - count, page->count - read_at_);
    for (uint32_t i = 0; i < some; ++i) rows[count + i] = page->entries[read_at_ + i].row;
    count += some;
    read_at_ += some;
    runs_[0].rows -= some;
    if (read_at_ < page->count) continue;
    runs_[0].first = page->next;
    memory_.Free(page, sizeof(Page));
    read_at_ = 0;
  }
  return count;
}

}  // namespace eris::storage
