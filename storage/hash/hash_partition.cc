#include "storage/hash/hash_partition.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/range_ops.h"
#include "storage/scan_budget.h"
#include "storage/tree/tree_scanner.h"

namespace eris::storage {
namespace {

// Rows between two looks at the clock.
constexpr uint32_t kHashRun = 256;

absl::Status MovesByCopy(absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " a partition of a hash object: it moves by copy only"));
}

}  // namespace

// Keys that run together, gathered from one or several parts.
struct HashPartition::Group {
  uint32_t count = 0;
  uint64_t keys[kHashGroupMax];
  uint64_t values_in[kHashGroupMax];
  uint64_t* values_out[kHashGroupMax];
  KeyState* states_out[kHashGroupMax];
};

absl::StatusOr<std::unique_ptr<HashPartition>> HashPartition::Create(const Range& range,
                                                                     memory::LocalCache& cache,
                                                                     uint64_t seed) {
  if (absl::Status status = CheckWidth(range); !status.ok()) return status;
  std::unique_ptr<HashPartition> partition(new (std::nothrow) HashPartition(range, cache, seed));
  if (partition == nullptr) return NoMemory("create a partition");
  return partition;
}

HashPartition::~HashPartition() {
  PrefixTree none(table_.cache());
  loan_.FreeAll(leaving_ == nullptr ? none : leaving_->rows);
}

uint64_t HashPartition::size() const { return table_.size() + prepared_rows(); }

void HashPartition::Abandon() {
  if (leaving_ != nullptr) leaving_->rows.Abandon();
  leaving_.reset();
  loan_.Abandon();
  table_.Abandon();
}

void HashPartition::Execute(const Batch& batch) {
  if (IsConditional(batch.operation)) return ExecuteConditional(batch);
  const Operation operation = batch.operation;
  Group group;
  for (const BatchPart& part : batch.parts) {
    uint32_t i = 0;
    if (operation == Operation::kLookup && leaving_ == nullptr && !table_.empty()) {
      for (; part.count - i >= kHashGroupMax; i += kHashGroupMax) LookupWholeGroup(part, i);
    }
    for (; i < part.count; ++i) {
      const uint64_t key = part.keys[i];
      ERIS_DCHECK(range_.ContainsU64(key));
      const uint32_t position = part.positions[i];
      KeyState* const state_out = part.states_out + position;
      uint64_t* const value_out =
          operation == Operation::kLookup ? part.values_out + position : nullptr;
      const uint64_t value_in = operation == Operation::kUpsert ? part.values_in[i] : 0;
      if (IsLeaving(key)) [[unlikely]] {
        *state_out = ExecuteLeaving(operation, key, value_in, value_out);
        continue;
      }
      // The request's columns lie in another core's cache: they come while the table is searched.
      __builtin_prefetch(state_out, 1);
      if (operation == Operation::kLookup) __builtin_prefetch(value_out, 1);
      const uint32_t at = group.count++;
      group.keys[at] = key;
      group.values_in[at] = value_in;
      group.values_out[at] = value_out;
      group.states_out[at] = state_out;
      if (group.count == kHashGroupMax) Run(operation, group);
    }
  }
  Run(operation, group);
}

void HashPartition::Run(Operation operation, Group& group) {
  switch (operation) {
    case Operation::kLookup:
      RunLookups(group);
      break;
    case Operation::kUpsert:
      RunUpserts(group);
      break;
    case Operation::kErase:
      RunErases(group);
      break;
    case Operation::kInsertIfAbsent:
    case Operation::kReplaceIfPresent:
    case Operation::kCompareAndSet:
    case Operation::kAdd:
    case Operation::kPutRows:
    case Operation::kLookupRows:
      ERIS_CHECK(false);  // Execute has sent them elsewhere, or no session sends them
      break;
  }
  group.count = 0;
}

namespace {

// An absent key's element gets its own value: no branch on what was found.
void AnswerLookup(const uint64_t* value, uint32_t absent, uint64_t* value_out,
                  KeyState* state_out) {
  *value_out = *(absent != 0 ? value_out : value);
  *state_out = static_cast<KeyState>(static_cast<uint32_t>(KeyState::kPresent) - absent);
}
static_assert(static_cast<uint32_t>(KeyState::kPresent) ==
              static_cast<uint32_t>(KeyState::kAbsent) + 1);

// The request's columns lie in another core's cache: they come while the table is searched. A line
// at a time where the positions lie close together, as they mostly do.
void FetchColumns(const BatchPart& part, const uint32_t* positions) {
  const uint32_t first = positions[0];
  const uint32_t span = positions[kHashGroupMax - 1] - first;
  constexpr uint32_t kValuesPerLine = base::kCacheLineBytes / sizeof(uint64_t);
  if (span < 4 * kHashGroupMax) {
    for (uint32_t i = 0; i <= span; i += kValuesPerLine) {
      __builtin_prefetch(part.values_out + first + i, 1);
    }
    for (uint32_t i = 0; i <= span; i += base::kCacheLineBytes) {
      __builtin_prefetch(part.states_out + first + i, 1);
    }
    return;
  }
  for (uint32_t i = 0; i < kHashGroupMax; ++i) {
    __builtin_prefetch(part.states_out + positions[i], 1);
    __builtin_prefetch(part.values_out + positions[i], 1);
  }
}

}  // namespace

void HashPartition::LookupWholeGroup(const BatchPart& part, uint32_t begin) const {
  const uint32_t* const positions = part.positions + begin;
  FetchColumns(part, positions);
  table_.SearchGroup(part.keys + begin, kHashGroupMax,
                     [values_out = part.values_out, states_out = part.states_out, positions](
                         uint32_t i, const uint64_t* value, uint32_t absent) {
                       AnswerLookup(value, absent, values_out + positions[i],
                                    states_out + positions[i]);
                     });
}

void HashPartition::RunLookups(const Group& group) const {
  if (table_.empty()) {
    for (uint32_t i = 0; i < group.count; ++i) *group.states_out[i] = KeyState::kAbsent;
    return;
  }
  table_.SearchGroup(group.keys, group.count,
                     [&group](uint32_t i, const uint64_t* value, uint32_t absent) {
                       AnswerLookup(value, absent, group.values_out[i], group.states_out[i]);
                     });
}

void HashPartition::RunUpserts(const Group& group) {
  uint64_t* found[kHashGroupMax];
  table_.FindGroup(group.keys, group.count, found);
  const uint64_t moves = table_.moves();
  for (uint32_t i = 0; i < group.count; ++i) {
    KeyState state = KeyState::kPresent;
    if (found[i] != nullptr && table_.moves() == moves) {
      *found[i] = group.values_in[i];
    } else {
      state = table_.Upsert(group.keys[i], group.values_in[i]);
    }
    *group.states_out[i] = state;
  }
}

void HashPartition::RunErases(const Group& group) {
  uint64_t hashes[kHashGroupMax];
  for (uint32_t i = 0; i < group.count; ++i) hashes[i] = table_.FetchToErase(group.keys[i]);
  for (uint32_t i = 0; i < group.count; ++i) {
    const bool present = table_.EraseHashed(hashes[i], group.keys[i]);
    *group.states_out[i] = present ? KeyState::kPresent : KeyState::kAbsent;
  }
}

absl::Status HashPartition::ScanHashed(HashScanCursor& cursor, const ScanBudget& budget,
                                       ScanRows& out) const {
  ERIS_DCHECK(!cursor.done);
  if (leaving_ != nullptr) {
    return absl::FailedPreconditionError("cannot scan a partition whose rows are about to leave");
  }
  while (!out.Full() && !cursor.at.done && cursor.rows_left > 0) {
    const uint64_t room = std::min<uint64_t>(kHashRun, out.capacity - out.rows);
    const auto wanted = static_cast<uint32_t>(std::min(room, cursor.rows_left));
    uint64_t* const keys = out.keys + out.rows;
    uint64_t* const values = out.values + out.rows;
    const uint32_t read = table_.Read(cursor.at, keys, values, wanted);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < read; ++i) {
      keys[kept] = keys[i];
      values[kept] = values[i];
      kept += cursor.rest.ContainsU64(keys[i]) ? 1 : 0;
    }
    out.rows += kept;
    cursor.rows_left -= kept;
    if (Spent(budget)) break;
  }
  cursor.done = cursor.at.done || cursor.rows_left == 0;
  return absl::OkStatus();
}

// The rows of the smallest keys among those offered, in two columns, the second one if it is there:
// a heap whose root is the largest.
class HashPartition::Smallest {
 public:
  Smallest(uint64_t* keys, uint64_t* values, uint32_t capacity)
      : keys_(keys), values_(values), capacity_(capacity) {}

  uint32_t count() const { return count_; }

  void Offer(uint64_t key, uint64_t value) {
    if (count_ < capacity_) {
      SiftUp(count_++, key, value);
    } else if (key < keys_[0]) {
      SiftDown(count_, key, value);
    }
  }
  // Ascending; the heap is of no more use.
  void Sort() {
    for (uint32_t end = count_; end > 1;) {
      --end;
      const uint64_t key = keys_[end];
      const uint64_t value = values_ == nullptr ? 0 : values_[end];
      Move(0, end);
      SiftDown(end, key, value);
    }
  }

 private:
  void Move(uint32_t from, uint32_t to) {
    Set(to, keys_[from], values_ == nullptr ? 0 : values_[from]);
  }
  void Set(uint32_t at, uint64_t key, uint64_t value) {
    keys_[at] = key;
    if (values_ != nullptr) values_[at] = value;
  }
  void SiftUp(uint32_t at, uint64_t key, uint64_t value) {
    for (; at > 0 && keys_[(at - 1) / 2] < key; at = (at - 1) / 2) Move((at - 1) / 2, at);
    Set(at, key, value);
  }
  // Puts a row in the root's place, in a heap of `count`.
  void SiftDown(uint32_t count, uint64_t key, uint64_t value) {
    uint32_t at = 0;
    for (uint64_t child = 1; child < count; child = 2 * uint64_t{at} + 1) {
      if (child + 1 < count && keys_[child] < keys_[child + 1]) ++child;
      if (keys_[child] <= key) break;
      Move(static_cast<uint32_t>(child), at);
      at = static_cast<uint32_t>(child);
    }
    Set(at, key, value);
  }

  uint64_t* keys_;
  uint64_t* values_;  // nullptr: not wanted
  uint32_t capacity_;
  uint32_t count_ = 0;
};

void HashPartition::Scan(ScanCursor& cursor, const ScanBudget&, ScanRows& out) {
  ERIS_DCHECK(!cursor.done);
  const uint64_t room = std::min<uint64_t>(out.capacity - out.rows, cursor.rows_left);
  const auto wanted = static_cast<uint32_t>(room);
  if (cursor.rest.Empty() || cursor.rows_left == 0) {
    cursor.done = true;
    return;
  }
  if (wanted == 0) return;
  // Backward: the smallest complements of keys.
  const uint64_t turn = cursor.query.Backward() ? ~uint64_t{0} : 0;
  uint64_t* const first = out.keys + out.rows;
  Smallest smallest(
      first, cursor.query.keys_only || out.values == nullptr ? nullptr : out.values + out.rows,
      wanted);
  const auto offer = [&](uint64_t key, uint64_t value) {
    if (!cursor.rest.ContainsU64(key)) return;
    ++cursor.looked;
    if (cursor.query.values.Contains(value)) smallest.Offer(key ^ turn, value);
  };
  uint64_t keys[kHashRun];
  uint64_t values[kHashRun];
  for (HashCursor at; !at.done;) {
    const uint32_t read = table_.Read(at, keys, values, kHashRun);
    for (uint32_t i = 0; i < read; ++i) offer(keys[i], values[i]);
  }
  if (leaving_ != nullptr) {
    TreeScanner scanner(leaving_->rows, 0);
    for (uint32_t read = kHashRun; read == kHashRun;) {
      read = scanner.Read(~uint64_t{0}, keys, values, kHashRun);
      for (uint32_t i = 0; i < read; ++i) offer(keys[i], values[i]);
    }
  }
  smallest.Sort();
  const uint32_t count = smallest.count();
  for (uint32_t i = 0; i < count; ++i) first[i] ^= turn;
  out.rows += count;
  cursor.rows_left -= count;
  const bool backward = cursor.query.Backward();
  const uint64_t end = backward ? cursor.rest.lo.head : LastFirstPartOf(cursor.rest);
  if (count < wanted || first[count - 1] == end) {
    MakeEmpty(cursor.rest);
    cursor.done = true;
    return;
  }
  if (backward) {
    cursor.rest.hi = Key::FromU64(first[count - 1]);
  } else {
    cursor.rest.lo = Key::FromU64(first[count - 1] + 1);
  }
  cursor.done = cursor.rows_left == 0;
}

absl::StatusOr<std::unique_ptr<Partition>> HashPartition::SplitAt(const Key&) {
  return MovesByCopy("split");
}

absl::Status HashPartition::Absorb(Partition&) { return MovesByCopy("absorb"); }

}  // namespace eris::storage
