// Moving rows out of a hash partition, and into it.
#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "storage/hash/hash_partition.h"
#include "storage/range_ops.h"
#include "storage/tree/tree_scanner.h"

namespace eris::storage {
namespace {

// Rows that a walk reads at once.
constexpr uint32_t kMovedRun = 256;
constexpr uint64_t kLastHash = std::numeric_limits<uint64_t>::max();

}  // namespace

uint64_t* HashPartition::FindLeaving(uint64_t key) {
  uint64_t* const value = leaving_->rows.Find(key);
  return value != nullptr ? value : table_.Find(key);
}

bool HashPartition::InsertLeaving(uint64_t key, uint64_t value) {
  // Put a new row where it need not move again.
  if (leaving_->given_up) return table_.Upsert(key, value) != KeyState::kNoMemory;
  return leaving_->rows.Upsert(key, value) != UpsertResult::kNoMemory;
}

KeyState HashPartition::ExecuteLeaving(Operation operation, uint64_t key, uint64_t value_in,
                                       uint64_t* value_out) {
  if (operation == Operation::kErase) {
    const bool present = leaving_->rows.Erase(key) || table_.Erase(key);
    return present ? KeyState::kPresent : KeyState::kAbsent;
  }
  uint64_t* const value = FindLeaving(key);
  if (value == nullptr) {
    if (operation == Operation::kLookup || InsertLeaving(key, value_in)) return KeyState::kAbsent;
    return KeyState::kNoMemory;
  }
  if (operation == Operation::kLookup) {
    *value_out = *value;
  } else {
    *value = value_in;
  }
  return KeyState::kPresent;
}

absl::Status HashPartition::PrepareExtract(const Range& leaving) {
  if (leaving_ != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("rows of ", Text(leaving_->range), " are prepared to leave already"));
  }
  ERIS_RETURN_IF_ERROR(CheckEnd(leaving, range_));
  leaving_.reset(new (std::nothrow) Leaving(leaving, table_.cache()));
  return leaving_ != nullptr ? absl::OkStatus() : NoMemory("prepare an extraction");
}

absl::StatusOr<bool> HashPartition::WalkLeaving(uint32_t rows_max) {
  if (leaving_ == nullptr) {
    return absl::FailedPreconditionError("no rows are said to be leaving");
  }
  if (leaving_->given_up) {
    leaving_->given_up = false;
    leaving_->walk = HashCursor();
  }
  uint64_t keys[kMovedRun];
  uint64_t values[kMovedRun];
  while (rows_max > 0 && !leaving_->walk.done) {
    const HashCursor before = leaving_->walk;
    const uint32_t read = table_.Read(leaving_->walk, keys, values, std::min(rows_max, kMovedRun));
    rows_max -= read;
    for (uint32_t i = 0; i < read; ++i) {
      if (!leaving_->range.ContainsU64(keys[i])) continue;
      if (leaving_->rows.Upsert(keys[i], values[i]) == UpsertResult::kNoMemory) {
        leaving_->walk = before;  // it then finds the remaining rows again
        return NoMemory("prepare the rows that are to leave");
      }
      table_.Erase(keys[i]);
    }
  }
  return leaving_->walk.done;
}

absl::StatusOr<bool> HashPartition::CancelExtract(uint32_t rows_max) {
  if (leaving_ == nullptr) return true;
  ERIS_RETURN_IF_ERROR(loan_.CanChange("give up what is prepared"));
  loan_.Settle(leaving_->rows);
  leaving_->given_up = true;
  uint64_t keys[kMovedRun];
  uint64_t values[kMovedRun];
  while (rows_max > 0 && !leaving_->rows.empty()) {
    const uint32_t read =
        TreeScanner(leaving_->rows, 0).Read(kLastHash, keys, values, std::min(rows_max, kMovedRun));
    rows_max -= read;
    for (uint32_t i = 0; i < read; ++i) {
      if (table_.Upsert(keys[i], values[i]) == KeyState::kNoMemory) {
        return NoMemory("take the rows back that were to leave");
      }
      leaving_->rows.Erase(keys[i]);
    }
  }
  if (!leaving_->rows.empty()) return false;
  leaving_.reset();
  return true;
}

absl::Status HashPartition::Lend(const Range& leaving, End from, const ChunkLimit& limit,
                                 ExchangeChunk& out) {
  if (leaving_ == nullptr || leaving_->given_up || !leaving_->walk.done) {
    return absl::FailedPreconditionError(
        absl::StrCat("the rows of ", Text(leaving), " are not prepared to leave"));
  }
  if (leaving != leaving_->range) {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(leaving), " is not what is prepared to leave: ", Text(leaving_->range)));
  }
  ERIS_RETURN_IF_ERROR(loan_.Lend(leaving_->rows, leaving, from, limit.rows, range_, out));
  CutOff(leaving_->range, out.covers);
  return absl::OkStatus();
}

bool HashPartition::Forget(const SnapshotView& snapshots, uint32_t rows_max) {
  if (!loan_.out()) return Maintain(snapshots, rows_max);
  const bool more = loan_.Forget(leaving_->rows, rows_max);
  // All of the last chunk's rows have been cut off: there are no others left.
  if (leaving_->range.Empty()) leaving_.reset();
  return more;
}

void HashPartition::TakeBack() {
  if (loan_.out()) Widen(leaving_->range, loan_.TakeBack(range_));
}

bool HashPartition::Maintain(const SnapshotView&, uint32_t rows_max) {
  PrefixTree none(table_.cache());
  return loan_.FreeForgotten(leaving_ == nullptr ? none : leaving_->rows, rows_max);
}

absl::Status HashPartition::Ingest(const ExchangeChunk& chunk) {
  if (absl::Status status = CheckChunk(chunk); !status.ok()) return status;
  if (leaving_ != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("rows of ", Text(leaving_->range), " are prepared to leave"));
  }
  if (!Adjacent(chunk.covers, range_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk ", Text(chunk.covers), " is not adjacent to ", Text(range_)));
  }
  for (size_t at = 0; at < chunk.keys.size(); ++at) {
    if (at + kHashAhead < chunk.keys.size()) table_.FetchToWrite(chunk.keys[at + kHashAhead]);
    if (table_.Upsert(chunk.keys[at], chunk.values[at]) == KeyState::kNoMemory) {
      for (size_t done = 0; done < at; ++done) table_.Erase(chunk.keys[done]);
      return NoMemory(absl::StrCat("ingest ", chunk.keys.size(), " rows"));
    }
  }
  Widen(range_, chunk.covers);
  return absl::OkStatus();
}

}  // namespace eris::storage
