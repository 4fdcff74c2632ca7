// How rows leave a hash partition, and how they enter it.
#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/hash_partition.h"
#include "storage/range_ops.h"
#include "storage/tree_scanner.h"

namespace eris::storage {
namespace {

// Rows that a walk reads at a time.
constexpr uint32_t kRowsPerRun = 256;

}  // namespace

uint64_t* HashPartition::FindLeaving(uint64_t key) {
  uint64_t* value;
  const uint64_t tree_key = key ^ leaving_->flip;
  leaving_->rows.FindGroup(&tree_key, 1, &value);
  return value != nullptr ? value : table_.Find(key);
}

bool HashPartition::InsertLeaving(uint64_t key, uint64_t value) {
  // A new row goes where it need not be moved again.
  if (leaving_->given_up) return table_.Upsert(key, value) != KeyState::kNoMemory;
  return leaving_->rows.Upsert(key ^ leaving_->flip, value) != UpsertResult::kNoMemory;
}

KeyState HashPartition::ExecuteLeaving(Operation operation, uint64_t key, uint64_t value_in,
                                       uint64_t* value_out) {
  if (operation == Operation::kErase) {
    const bool present = leaving_->rows.Erase(key ^ leaving_->flip) || table_.Erase(key);
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
  if (absl::Status status = CheckWidth(leaving); !status.ok()) return status;
  const bool low_end = leaving.lo == range_.lo;
  const bool inside =
      leaving.lo >= range_.lo && (!range_.hi || (leaving.hi && leaving.hi <= range_.hi));
  if (leaving.Empty() || !inside || (!low_end && leaving.hi != range_.hi)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(leaving), " is not an end of ", Text(range_)));
  }
  leaving_.reset(new (std::nothrow) Leaving(leaving, !low_end, table_.cache()));
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
  uint64_t keys[kRowsPerRun];
  uint64_t values[kRowsPerRun];
  while (rows_max > 0 && !leaving_->walk.done) {
    const HashCursor before = leaving_->walk;
    const uint32_t read =
        table_.Read(leaving_->walk, keys, values, std::min(rows_max, kRowsPerRun));
    rows_max -= read;
    for (uint32_t i = 0; i < read; ++i) {
      if (!leaving_->range.ContainsU64(keys[i])) continue;
      if (leaving_->rows.Upsert(keys[i] ^ leaving_->flip, values[i]) == UpsertResult::kNoMemory) {
        leaving_->walk = before;  // it finds the rows that are still there again
        return NoMemory("prepare the rows that are to leave");
      }
      table_.Erase(keys[i]);
    }
  }
  return leaving_->walk.done;
}

absl::StatusOr<bool> HashPartition::CancelExtract(uint32_t rows_max) {
  if (leaving_ == nullptr) return true;
  leaving_->given_up = true;
  uint64_t keys[kRowsPerRun];
  uint64_t values[kRowsPerRun];
  while (rows_max > 0 && !leaving_->rows.empty()) {
    const uint32_t read = ReadLeading(std::min(rows_max, kRowsPerRun), keys, values);
    rows_max -= read;
    for (uint32_t i = 0; i < read; ++i) {
      if (table_.Upsert(keys[i] ^ leaving_->flip, values[i]) == KeyState::kNoMemory) {
        return NoMemory("take the rows back that were to leave");
      }
      leaving_->rows.Erase(keys[i]);
    }
  }
  if (!leaving_->rows.empty()) return false;
  leaving_.reset();
  return true;
}

uint32_t HashPartition::ReadLeading(uint32_t rows_max, uint64_t* keys, uint64_t* values) const {
  return TreeScanner(leaving_->rows, 0).Read(~uint64_t{0}, keys, values, rows_max);
}

void HashPartition::DropLeading(const std::vector<uint64_t>& tree_keys) {
  if (tree_keys.empty()) return;
  PrefixTree& rows = leaving_->rows;
  PrefixTree rest(table_.cache());
  if (tree_keys.size() == rows.size()) {
    rows.Clear();
  } else if (rows.SplitAt(tree_keys.back() + 1, rest)) {
    rows.Swap(rest);  // the end of `rest` frees the rows
  } else {
    for (const uint64_t key : tree_keys) rows.Erase(key);
  }
}

absl::Status HashPartition::Extract(uint32_t rows_max, ExchangeChunk& out) {
  if (leaving_ != nullptr) return ExtractPrepared(rows_max, out);
  if (range_.Empty()) {
    out = ExchangeChunk();
    out.covers = range_;
    return absl::OkStatus();
  }
  if (absl::Status status = PrepareExtract(range_); !status.ok()) return status;
  const absl::Status status = ExtractPrepared(rows_max, out);
  // Nobody has asked for the preparation. Where there is no memory for the way back either, rows
  // wait in the tree, and CancelExtract or another Extract goes on.
  if (!status.ok()) CancelExtract(std::numeric_limits<uint32_t>::max()).IgnoreError();
  return status;
}

absl::Status HashPartition::ExtractPrepared(uint32_t rows_max, ExchangeChunk& out) {
  ExchangeChunk chunk;
  for (absl::StatusOr<bool> done = false; !*done;) {
    done = WalkLeaving(std::numeric_limits<uint32_t>::max());
    if (!done.ok()) return done.status();
  }
  const uint64_t rows = std::min<uint64_t>(rows_max, prepared_rows());
  try {  // the copy stands on the general heap, whose only word for "no" is an exception
    chunk.keys.resize(rows);
    chunk.values.resize(rows);
  } catch (const std::bad_alloc&) {
    return NoMemory(absl::StrCat("extract ", rows, " rows"));
  }
  ReadLeading(static_cast<uint32_t>(rows), chunk.keys.data(), chunk.values.data());
  const bool last = rows == prepared_rows();
  DropLeading(chunk.keys);
  const bool from_high_end = leaving_->flip != 0;
  if (from_high_end) {
    for (uint64_t& key : chunk.keys) key ^= leaving_->flip;
    std::reverse(chunk.keys.begin(), chunk.keys.end());
    std::reverse(chunk.values.begin(), chunk.values.end());
  }
  chunk.covers = leaving_->range;
  if (!last && rows == 0) {
    chunk.covers.hi = chunk.covers.lo;
  } else if (!last && from_high_end) {
    chunk.covers.lo = Key::FromU64(chunk.keys.front());
  } else if (!last) {  // more rows follow, so this one's key is not the last there is
    chunk.covers.hi = Key::FromU64(chunk.keys.back() + 1);
  }
  CutOff(range_, chunk.covers);
  CutOff(leaving_->range, chunk.covers);
  if (last) leaving_.reset();
  out = std::move(chunk);
  return absl::OkStatus();
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
