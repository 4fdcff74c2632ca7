#include "storage/index/versioned_partition.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "base/check.h"
#include "storage/byte_value.h"
#include "storage/range_ops.h"

namespace eris::storage {
namespace {

constexpr uint32_t kGroupMax = VersionTable::kGroupMax;

// Receives the old byte strings until their records are made.
class ScratchSink final : public BytesSink {
 public:
  ScratchSink() = default;
  ScratchSink(const ScratchSink&) = delete;
  ScratchSink& operator=(const ScratchSink&) = delete;
  ~ScratchSink() {
    while (pieces_ != nullptr) std::free(std::exchange(pieces_, pieces_->next));
  }

  std::byte* Take(size_t, size_t wanted, size_t& given) override {
    auto* const piece = static_cast<Piece*>(std::malloc(sizeof(Piece) + wanted));
    if (piece == nullptr) return nullptr;
    piece->next = pieces_;
    pieces_ = piece;
    given = wanted;
    return reinterpret_cast<std::byte*>(piece + 1);
  }

 private:
  struct alignas(16) Piece {
    Piece* next;
  };
  Piece* pieces_ = nullptr;
};

// Whether an operation on a key has an effect, given the key's value before the batch. If no
// occurrence of a key in the batch has one by this test, none does.
bool Writes(Operation operation, const VersionTable::OldValue& old_value, const uint64_t* expected,
            bool byte_strings) {
  switch (operation) {
    case Operation::kErase:
    case Operation::kReplaceIfPresent:
      return old_value.present;
    case Operation::kInsertIfAbsent:
      return !old_value.present;
    case Operation::kCompareAndSet:
      // An unequal byte string costs a record that no snapshot needs.
      return old_value.present && (byte_strings || *expected == old_value.value);
    default:
      return true;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<VersionedPartition>> VersionedPartition::Create(
    std::unique_ptr<OrderedPartition> rows, memory::LocalCache& cache, Form form) {
  absl::StatusOr<std::unique_ptr<VersionTable>> versions =
      VersionTable::Create(cache, form.two_parts, form.byte_strings);
  if (!versions.ok()) return versions.status();
  std::unique_ptr<VersionedPartition> partition(
      new (std::nothrow) VersionedPartition(std::move(rows), *std::move(versions), cache, form));
  if (partition == nullptr) return NoMemory("create a partition");
  return partition;
}

void VersionedPartition::Execute(const Batch& batch) {
  if (batch.operation == Operation::kLookup || batch.snapshots == nullptr ||
      !batch.snapshots->AnyBefore(batch.snapshots->epoch)) [[likely]] {
    rows_->Execute(batch);
  } else {
    ExecuteKeeping(batch);
  }
}

void VersionedPartition::ExecuteKeeping(const Batch& batch) {
  // Do this for all keys first: only the value before the batch counts, wherever the key occurs.
  bool refused = false;
  for (const BatchPart& part : batch.parts) {
    for (uint32_t from = 0; from < part.count; from += kGroupMax) {
      refused |= KeepOld(batch, part, from, std::min(kGroupMax, part.count - from));
    }
  }
  if (!refused) return rows_->Execute(batch);
  // The runs of keys between those already answered.
  for (const BatchPart& part : batch.parts) {
    const auto answered = [&part](uint32_t i) { return part.state(i) == KeyState::kNoMemory; };
    for (uint32_t begin = 0, end = 0; begin < part.count; begin = end + 1) {
      end = begin;
      while (end < part.count && !answered(end)) ++end;
      if (end == begin) continue;
      const BatchPart run = part.Piece(begin, end - begin);
      Batch one = batch;
      one.parts = {&run, 1};
      rows_->Execute(one);
    }
  }
}

struct VersionedPartition::NeededKeys {
  uint32_t count = 0;
  uint64_t keys[kGroupMax];
  uint64_t seconds[kGroupMax];  // of two-part keys
  VersionRecord* newest[kGroupMax];
  uint32_t index[kGroupMax];  // in the part
};

void VersionedPartition::FindNeeded(const SnapshotView& snapshots, const BatchPart& part,
                                    uint32_t from, uint32_t count, NeededKeys& out) const {
  const uint64_t* const seconds = part.seconds == nullptr ? nullptr : part.seconds + from;
  VersionRecord* newest[kGroupMax];
  versions_->Find({count, part.keys + from, seconds}, newest);
  for (uint32_t i = 0; i < count; ++i) {
    part.state(from + i) = KeyState::kPending;
    const uint64_t end = newest[i] == nullptr ? 0 : newest[i]->end();
    if (!snapshots.Needs(end, snapshots.epoch)) continue;
    out.keys[out.count] = part.keys[from + i];
    if (seconds != nullptr) out.seconds[out.count] = seconds[i];
    out.newest[out.count] = newest[i];
    out.index[out.count++] = from + i;
  }
}

bool VersionedPartition::KeepOld(const Batch& batch, const BatchPart& part, uint32_t from,
                                 uint32_t count) {
  NeededKeys needed;
  FindNeeded(*batch.snapshots, part, from, count, needed);
  if (needed.count == 0) return false;

  uint64_t values[kGroupMax];
  KeyState states[kGroupMax];
  ScratchSink strings;
  const uint64_t* const group_seconds = part.seconds == nullptr ? nullptr : needed.seconds;
  const BatchPart look{.count = needed.count,
                       .keys = needed.keys,
                       .values_out = values,
                       .states_out = states,
                       .seconds = group_seconds,
                       .bytes_out = form_.byte_strings ? &strings : nullptr};
  rows_->Execute(
      {.operation = Operation::kLookup, .parts = {&look, 1}, .bytes_copied = batch.bytes_copied});

  VersionTable::OldValue old_values[kGroupMax];
  bool kept[kGroupMax];
  for (uint32_t i = 0; i < needed.count; ++i) {
    VersionTable::OldValue& old_value = old_values[i];
    if (states[i] == KeyState::kNoRoom) continue;  // a string that there was no memory to read
    old_value.present = states[i] == KeyState::kPresent;
    old_value.value = old_value.present ? values[i] : 0;
    const uint64_t* expected = part.expected == nullptr ? nullptr : part.expected + needed.index[i];
    old_value.keep = Writes(batch.operation, old_value, expected, form_.byte_strings);
  }
  versions_->Add({needed.count, needed.keys, group_seconds}, needed.newest, old_values,
                 *batch.snapshots, kept);
  bool refused = false;
  for (uint32_t i = 0; i < needed.count; ++i) {
    if (kept[i] && states[i] != KeyState::kNoRoom) continue;
    if (batch.operation == Operation::kErase) {
      lost_before_ = std::max(lost_before_, batch.snapshots->epoch);
    } else {
      part.state(needed.index[i]) = KeyState::kNoMemory;
      refused = true;
    }
  }
  return refused;
}

void VersionedPartition::LoseVersions() {
  lost_before_ = std::max(lost_before_, versions_->newest_end());
  versions_->DetachAll();
}

absl::StatusOr<std::unique_ptr<OrderedPartition>> VersionedPartition::SplitAt(const Key& key) {
  FreeLeftForgotten();
  absl::StatusOr<std::unique_ptr<VersionedPartition>> upper = Create(nullptr, *cache_, form_);
  if (!upper.ok()) return upper.status();
  absl::StatusOr<std::unique_ptr<OrderedPartition>> rows = rows_->SplitAt(key);
  if (!rows.ok()) return rows.status();
  (*upper)->rows_ = *std::move(rows);
  if (!versions_->SplitAt(key.head, *(*upper)->versions_)) LoseVersions();
  (*upper)->lost_before_ = lost_before_;
  return std::unique_ptr<OrderedPartition>(*std::move(upper));
}

absl::Status VersionedPartition::Absorb(OrderedPartition& other) {
  auto* versioned = dynamic_cast<VersionedPartition*>(&other);
  if (versioned == nullptr) return absl::InvalidArgumentError("not a partition with versions");
  if (versioned == this) return absl::InvalidArgumentError("a partition cannot absorb itself");
  FreeLeftForgotten();
  versioned->FreeLeftForgotten();
  const Range before = range();
  const Range absorbed = other.range();
  if (absl::Status status = rows_->Absorb(*versioned->rows_); !status.ok()) return status;
  lost_before_ = std::max(lost_before_, versioned->lost_before_);
  const bool is_upper = before.Empty() || absorbed.Empty() || absorbed.lo >= before.lo;
  if (!is_upper) versions_.swap(versioned->versions_);
  const uint64_t boundary = is_upper ? absorbed.lo.head : before.lo.head;
  if (!versions_->Absorb(boundary, *versioned->versions_)) {
    versioned->LoseVersions();
    lost_before_ = std::max(lost_before_, versioned->lost_before_);
    LoseVersions();
    // Forgotten versions of `other` are freed here over time: `other` may end now.
    ERIS_CHECK(versions_->Absorb(boundary, *versioned->versions_));
  }
  return absl::OkStatus();
}

}  // namespace eris::storage
