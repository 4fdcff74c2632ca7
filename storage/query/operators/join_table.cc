#include "storage/query/operators/join_table.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/prefetch.h"

namespace eris::storage {
namespace {

// How many rows ahead of an insertion its place is fetched.
constexpr uint32_t kInsertAhead = 32;

}  // namespace

JoinTable::JoinTable(QueryMemory& memory, const EnvelopeList& build, std::span<const JoinKey> keys,
                     uint64_t seed)
    : memory_(memory),
      build_(build),
      keys_(build.columns(), keys, seed),
      entries_(memory),
      buckets_(memory),
      next_(memory) {}

JoinTable::~JoinTable() {
  while (FreeSome()) continue;
}

bool JoinTable::FreeSome() {
  for (uint32_t freed = 0; freed < kFreedAtOnce; ++freed) {
    if (entries_.FreeOne() || buckets_.FreeOne()) continue;
    if (next_.data() == nullptr || freed_ == build_.size()) return false;
    const uint32_t e = freed_++;
    if (next_[e] != nullptr) memory_.Free(next_[e], build_[e].rows() * sizeof(RowNumber));
  }
  return true;
}

StepResult JoinTable::Build() {
  switch (phase_) {
    case Phase::kMeasure:
      Measure();
      return StepResult::kMore;
    case Phase::kRoom:
      return MakeRoom();
    case Phase::kInsert:
      return InsertRows();
    case Phase::kDone:
      break;
  }
  return StepResult::kDone;
}

void JoinTable::Measure() {
  const uint32_t end = std::min(build_.size(), envelope_ + kMeasuredAtOnce);
  for (; envelope_ < end; ++envelope_) {
    keys_.Widen(build_[envelope_]);
    nulls_ += keys_.NullsOf(build_[envelope_]);
  }
  if (envelope_ < build_.size()) return;
  envelope_ = 0;
  keys_.Decide();
  const uint64_t rows = build_.rows() - nulls_;
  if (keys_.form() == JoinKeys::Form::kNumber &&
      keys_.numbers() <= Uint128{kArrayEntriesPerRow} * rows) {
    form_ = Form::kArray;
    entry_count_ = static_cast<uint64_t>(keys_.numbers());
  } else if (rows > 0) {
    bucket_count_ = rows / kRowsPerBucket + 1;
  }
  phase_ = Phase::kRoom;
}

StepResult JoinTable::MakeRoom() {
  if (build_.size() > 0 && next_.data() == nullptr) {
    if (!next_.Reserve(build_.size())) return StepResult::kNoMemory;
    std::fill_n(next_.data(), build_.size(), nullptr);
  }
  const StepResult made =
      form_ == Form::kArray ? entries_.Extend(entry_count_) : buckets_.Extend(bucket_count_);
  if (made != StepResult::kDone) return made;
  phase_ = Phase::kInsert;
  return StepResult::kMore;
}

// At most kInsertedAtOnce rows of one envelope, from row_ on.
StepResult JoinTable::InsertRows() {
  while (envelope_ < build_.size() && row_ >= build_[envelope_].rows()) {
    ++envelope_;
    row_ = 0;
  }
  if (envelope_ == build_.size()) {
    phase_ = Phase::kDone;
    return StepResult::kDone;
  }
  const SegmentView& view = build_[envelope_].view();
  const uint32_t base = row_ / kInsertedAtOnce * kInsertedAtOnce;
  const uint32_t rows = std::min(view.rows - base, kInsertedAtOnce);
  uint16_t picks[kInsertedAtOnce + 1];
  uint64_t words[kInsertedAtOnce + 1];
  const uint32_t count =
      keys_.Words(JoinKeys::Side::kBuild, view, base, rows, nullptr, picks, words);
  // After a refusal the first ones have been inserted already.
  uint32_t i = static_cast<uint32_t>(std::lower_bound(picks, picks + count, row_ - base) - picks);
  for (; i < count; ++i) {
    const uint32_t ahead = std::min(i + kInsertAhead, count - 1);
    const RowNumber row = RowNumberOf(envelope_, base + picks[i]);
    bool inserted = false;
    if (form_ == Form::kArray) {
      __builtin_prefetch(&entries_[words[ahead]], 1);
      inserted = InsertNumber(row, words[i]);
    } else {
      __builtin_prefetch(&buckets_[BucketOf(words[ahead])], 1);
      inserted = InsertHashed(row, words[i]);
    }
    if (!inserted) {
      row_ = base + picks[i];
      return StepResult::kNoMemory;
    }
    ++inserted_;
  }
  row_ = base + rows;
  return StepResult::kMore;
}

bool JoinTable::InsertNumber(RowNumber row, uint64_t word) {
  Stored& entry = entries_[word];
  if (entry != 0 && !Chain(row, ~entry)) return false;
  entry = ~row;
  return true;
}

bool JoinTable::InsertHashed(RowNumber row, uint64_t word) {
  for (uint64_t at = BucketOf(word);; at = BucketAfter(at)) {
    Bucket& bucket = buckets_[at];
    for (uint32_t i = 0; i < kBucketRows; ++i) {
      const bool is_free = bucket.rows[i] == 0;
      if (!is_free && bucket.words[i] != word) continue;
      if (!is_free && !Chain(row, ~bucket.rows[i])) return false;
      bucket.words[i] = word;
      bucket.rows[i] = ~row;
      return true;
    }
  }
}

bool JoinTable::Chain(RowNumber row, RowNumber before) {
  RowNumber*& next = next_[EnvelopeOf(row)];
  if (next == nullptr) {
    const size_t bytes = build_[EnvelopeOf(row)].rows() * sizeof(RowNumber);
    next = static_cast<RowNumber*>(memory_.Allocate(bytes));
    if (next == nullptr) return false;
    std::memset(next, 0xff, bytes);
  }
  next[RowOf(row)] = before;
  unique_ = false;
  return true;
}

void JoinTable::Find(const uint64_t* words, uint32_t count, RowNumber* found) const {
  ERIS_DCHECK(phase_ == Phase::kDone);
  ERIS_DCHECK(count <= kJoinGroup);
  if (empty()) {
    std::fill_n(found, count, kNoRow);
    return;
  }
  if (form_ == Form::kArray) {
    FindInArray(words, count, found);
  } else {
    FindInBuckets(words, count, found);
  }
}

void JoinTable::FindInArray(const uint64_t* words, uint32_t count, RowNumber* found) const {
  const Stored* entries[kJoinGroup];
  for (uint32_t i = 0; i < count; ++i) {
    entries[i] = &entries_[words[i]];
    base::Prefetch(entries[i]);
  }
  for (uint32_t i = 0; i < count; ++i) found[i] = ~*entries[i];
}

void JoinTable::FindInBuckets(const uint64_t* words, uint32_t count, RowNumber* found) const {
  uint64_t places[kJoinGroup];
  const Bucket* buckets[kJoinGroup];
  uint16_t searched[kJoinGroup];
  for (uint32_t i = 0; i < count; ++i) {
    places[i] = BucketOf(words[i]);
    buckets[i] = &buckets_[places[i]];
    base::Prefetch(buckets[i]);
    searched[i] = static_cast<uint16_t>(i);
  }
  // A word that is not in a full bucket may be in the next one: those are searched together, after
  // all others.
  while (count > 0) {
    uint32_t left = 0;
    for (uint32_t j = 0; j < count; ++j) {
      const uint16_t i = searched[j];
      const Stored stored = buckets[i]->Find(words[i]);
      found[i] = ~stored;
      searched[left] = i;
      left += uint32_t{stored == 0} & uint32_t{buckets[i]->full()};
    }
    count = left;
    for (uint32_t j = 0; j < count; ++j) {
      const uint16_t i = searched[j];
      places[i] = BucketAfter(places[i]);
      buckets[i] = &buckets_[places[i]];
      base::Prefetch(buckets[i]);
    }
  }
}

void JoinTable::FetchNext(RowNumber row) const {
  const RowNumber* const next = next_[EnvelopeOf(row)];
  if (next != nullptr) base::Prefetch(next + RowOf(row));
}

}  // namespace eris::storage
