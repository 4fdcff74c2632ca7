// The commands of IndexMachine that carry rows out of partitions: scans, chunks, and what of them
// is invalid.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status_macros.h"
#include "tests/fuzz/index_machine.h"
#include "tests/support/extract.h"

namespace eris::fuzz {

using storage::ExchangeChunk;
using storage::IndexPartition;
using storage::Key;

// The query of the command: plain rows, filtered rows, keys alone, or filtered keys alone.
storage::ScanQuery IndexMachine::QueryOf(const IndexCommand& command) const {
  const auto form = static_cast<unsigned>(command.order);
  storage::ScanQuery query{
      .direction = (command.detail & 64) != 0 ? ScanDirection::kBackward : ScanDirection::kForward,
      .keys_only = (form & 2) != 0,
      .count_only = (form & 2) != 0};
  // Values are given one after the other, so a part of them is a part of the rows; some of it has
  // none.
  if ((form & 1) != 0) {
    query.values.lo = last_value_ / 8 * command.place;
    query.values.last = query.values.lo + last_value_ / (1 + command.count % 9);
  }
  return query;
}

absl::Status IndexMachine::Scan(const IndexCommand& command) {
  const uint64_t from = KeyAt(command.family, command.place, command.first, existing_);
  const uint64_t to =
      KeyAt(command.family, command.place, command.first + command.Count(), existing_);
  const size_t which = OwnerOf(from);
  const storage::Range& range = parts_[which]->range();
  storage::ScanCursor cursor{.rest = range, .query = QueryOf(command)};
  if ((command.detail & 1) == 0) cursor.rest.lo = Key::FromU64(from);
  if (to > cursor.rest.lo.head && range.ContainsU64(to)) cursor.rest.hi = Key::FromU64(to);
  std::vector<Row> wanted;
  const auto [begin, end] = RowsOf(cursor.rest);
  std::copy_if(begin, end, std::back_inserter(wanted),
               [&](const Row& row) { return cursor.query.values.Contains(row.second); });
  coverage_.scan_forms |= 1u << ((command.detail >> 6) * 4 + static_cast<unsigned>(command.order));
  ++coverage_.done[static_cast<unsigned>(CommandKind::kScan)];
  if ((command.detail & 128) != 0) return Aggregate(command, which, cursor, wanted);
  if (cursor.query.Backward()) std::reverse(wanted.begin(), wanted.end());
  if ((command.detail & 2) != 0) cursor.rows_left = command.Count() / 2;
  return ScanRows(command, which, cursor, wanted);
}

absl::Status IndexMachine::ScanRows(const IndexCommand& command, size_t which,
                                    storage::ScanCursor cursor, const std::vector<Row>& wanted) {
  constexpr uint32_t kSliceRows[4] = {1, 7, 300, 4000};
  IndexPartition& part = *parts_[which];
  const uint64_t limit = cursor.rows_left;
  size_t row = 0;
  uint64_t slices = 0;
  const uint32_t slice_rows = kSliceRows[command.detail >> 2 & 3];
  std::vector<uint64_t> keys(slice_rows), values(slice_rows);
  while (!cursor.done) {
    const bool keys_only = cursor.query.keys_only;
    storage::ScanRows out{keys.data(), keys_only ? nullptr : values.data(), slice_rows, 0};
    const bool late = (command.detail & 16) != 0;
    const storage::Range rest = cursor.rest;
    part.Scan(cursor, {.deadline_ns = late ? 0 : UINT64_MAX}, out);
    if (!cursor.done && cursor.rest == rest) return Fault("a slice of a scan does not move on");
    if (!cursor.done && out.rows == 0 && !cursor.query.Filters()) {
      return Fault("a slice of a scan answers nothing");
    }
    const uint32_t skipped = plant_ == Plant::kScanSkipsARow && slices == 1 && out.rows > 1;
    ++slices;
    for (uint32_t i = skipped; i < out.rows; ++i, ++row) {
      if (row == wanted.size()) return Fault("the scan gives ", keys[i], " behind its last row");
      const auto& [key, value] = wanted[row];
      if (keys[i] != key || (!keys_only && values[i] != value)) {
        return Fault("the scan gives ", keys[i], " -> ", keys_only ? 0 : values[i], " instead of ",
                     key, " -> ", value);
      }
    }
    if (row > limit) return Fault("the scan gives ", row, " rows of ", limit);
    if ((command.detail & 32) != 0 && out.rows > 0 && slices < 8) {
      ERIS_RETURN_IF_ERROR(Rearrange(which, keys[out.rows / 2]));
    }
  }
  if (row != wanted.size() && row != limit) {
    return Fault("the scan ends before ", wanted[row].first);
  }
  if (row < limit && !cursor.rest.Empty()) return Fault("the scan leaves a rest");
  return absl::OkStatus();
}

absl::Status IndexMachine::Aggregate(const IndexCommand& command, size_t which,
                                     storage::ScanCursor cursor, const std::vector<Row>& wanted) {
  RangeAggregate is, sum;
  for (unsigned slices = 0; !cursor.done; ++slices) {
    const bool late = (command.detail & 16) != 0;
    parts_[which]->Aggregate(cursor, {.deadline_ns = late ? 0 : UINT64_MAX}, is);
    if ((command.detail & 32) != 0 && !cursor.done && slices < 8) {
      ERIS_RETURN_IF_ERROR(Rearrange(which, cursor.rest.lo.head));
    }
  }
  if (plant_ == Plant::kAggregateAddsTwice && wanted.size() > 1) is.count += 1;
  for (const auto& [key, value] : wanted) {
    sum.Add({.count = 1,
             .min = value,
             .max = value,
             .sum_low = value,
             .first_key = key,
             .last_key = key});
  }
  if (is.count != sum.count) {
    return Fault("an aggregate counts ", is.count, " of ", sum.count, " rows");
  }
  if (!cursor.query.count_only && sum.count > 0 && is != sum) {
    return Fault("an aggregate of ", sum.count, " rows has ", is.min, " to ", is.max, ", sum ",
                 is.sum_high, ":", is.sum_low, ", keys ", is.first_key, " to ", is.last_key);
  }
  return absl::OkStatus();
}

// Rows leave also where there is no memory for anything but their copies.
absl::Status IndexMachine::Extract(size_t which, uint32_t rows_max, const IndexCommand& command,
                                   ExchangeChunk& chunk) {
  IndexPartition& part = *parts_[which];
  const storage::Range before = part.range();
  const uint64_t size = part.size();
  bool refused = false;
  ERIS_RETURN_IF_ERROR(Try(
      command, [&] { return test::Extract(part, rows_max, chunk); }, &refused));
  if (refused) return Fault("rows cannot be taken out for want of memory");
  const uint64_t rows = std::min<uint64_t>(rows_max, size);
  if (chunk.covers.lo != before.lo || part.size() != size - rows || chunk.keys.size() != rows ||
      chunk.values.size() != rows) {
    return Fault("a chunk has ", chunk.keys.size(), " of ", rows, " rows, and leaves ",
                 part.size());
  }
  if (size == rows ? chunk.covers.hi != before.hi || !part.range().Empty()
                   : chunk.covers.hi != part.range().lo || part.range().hi != before.hi) {
    return Fault("a chunk and what it leaves do not make up the range");
  }
  ERIS_RETURN_IF_ERROR(CheckChunk(chunk, "a chunk"));
  LoseRowOf(chunk);
  return absl::OkStatus();
}

// What is refused is tried again without failures: the rows must not be lost.
absl::Status IndexMachine::Ingest(IndexPartition& partition, const ExchangeChunk& chunk,
                                  const IndexCommand& command) {
  const uint64_t size = partition.size();
  const storage::Range range = partition.range();
  bool refused = false;
  ERIS_RETURN_IF_ERROR(Try(
      command, [&] { return partition.Ingest(chunk); }, &refused));
  if (!refused) return absl::OkStatus();
  if (partition.size() != size || partition.range() != range) {
    return Fault("a refused chunk has changed rows or range");
  }
  return partition.Ingest(chunk);
}

absl::Status IndexMachine::MoveChunks(const IndexCommand& command) {
  const size_t from = command.detail / 4 % parts_.size();
  const bool back = from == 0 || (command.detail & 1) != 0;
  IndexPartition& target = *parts_[back ? from : from - 1];
  const unsigned chunks = 1 + (command.detail >> 1 & 1);
  if (IsLender(*parts_[from])) {
    ExchangeChunk chunk;
    return ExpectLent(test::Extract(*parts_[from], 1, chunk));
  }
  if (IsLender(target)) {
    const Key lo = parts_[from]->range().lo;
    return ExpectLent(target.Ingest({{lo, lo}, {}, {}}));
  }
  Changes(*parts_[from]);
  Changes(target);
  for (unsigned i = 0; i < chunks && !parts_[from]->range().Empty(); ++i) {
    ExchangeChunk chunk;
    ERIS_RETURN_IF_ERROR(Extract(from, static_cast<uint32_t>(command.Count()), command, chunk));
    ERIS_RETURN_IF_ERROR(Ingest(target, chunk, command));
  }
  if (parts_[from]->range().Empty()) parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(from));
  return absl::OkStatus();
}

absl::Status IndexMachine::Reload(const IndexCommand& command) {
  const size_t which = command.detail / 4 % parts_.size();
  const uint32_t chunk_rows = (command.detail & 1) != 0
                                  ? UINT32_MAX
                                  : static_cast<uint32_t>(std::max<size_t>(command.Count(), 50));
  const Key lo = parts_[which]->range().lo;
  std::vector<ExchangeChunk> chunks;
  if (IsLender(*parts_[which])) {
    return ExpectLent(test::Extract(*parts_[which], chunk_rows, chunks.emplace_back()));
  }
  Changes(*parts_[which]);
  while (!parts_[which]->range().Empty()) {
    ERIS_RETURN_IF_ERROR(Extract(which, chunk_rows, command, chunks.emplace_back()));
  }
  if (!parts_[which]->tree().empty()) return Fault("rows are left behind");
  std::unique_ptr<IndexPartition> target = NewPartition({lo, lo});
  if ((command.detail & 2) != 0) std::reverse(chunks.begin(), chunks.end());
  for (const ExchangeChunk& chunk : chunks) {
    ERIS_RETURN_IF_ERROR(Ingest(*target, chunk, command));
  }
  parts_[which] = std::move(target);
  return absl::OkStatus();
}

absl::Status IndexMachine::InvalidCalls(const IndexCommand& command) {
  ++coverage_.done[static_cast<unsigned>(CommandKind::kInvalidCalls)];
  const size_t which = command.detail % parts_.size();
  IndexPartition& part = *parts_[which];
  const storage::Range& range = part.range();
  ERIS_RETURN_IF_ERROR(ExpectInvalid(part.SplitAt(range.lo).status()));
  if (range.hi) ERIS_RETURN_IF_ERROR(ExpectInvalid(part.SplitAt(*range.hi).status()));
  ERIS_RETURN_IF_ERROR(ExpectInvalid(part.SplitAt({range.lo.head, 1}).status()));
  ERIS_RETURN_IF_ERROR(ExpectInvalid(part.Absorb(part)));
  const bool apart = which + 2 < parts_.size() && !range.Empty() &&
                     !parts_[which + 1]->range().Empty() && !parts_[which + 2]->range().Empty();
  if (apart) {
    ERIS_RETURN_IF_ERROR(ExpectInvalid(part.Absorb(*parts_[which + 2])));
    ERIS_RETURN_IF_ERROR(ExpectInvalid(parts_[which + 2]->Absorb(part)));
  }
  if (which == 0 || !range.hi || range.Empty()) return absl::OkStatus();
  // Adjacent at the low side, but for the fault of each.
  const uint64_t lo = range.lo.head;
  if (lo < 3) return absl::OkStatus();
  const storage::Range below{Key::FromU64(lo - 3), range.lo};
  ExchangeChunk bad{below, {lo - 2, lo - 3}, {0, 0}};  // not ascending
  ERIS_RETURN_IF_ERROR(ExpectInvalid(part.Ingest(bad)));
  bad.keys = {lo - 2, lo - 2};
  ERIS_RETURN_IF_ERROR(ExpectInvalid(part.Ingest(bad)));
  bad.keys = {lo - 2, lo};  // outside
  ERIS_RETURN_IF_ERROR(ExpectInvalid(part.Ingest(bad)));
  bad.keys = {lo - 2};  // fewer than values
  ERIS_RETURN_IF_ERROR(ExpectInvalid(part.Ingest(bad)));
  bad = {{below.lo, Key::FromU64(lo - 1)}, {lo - 2}, {0}};  // a gap
  ERIS_RETURN_IF_ERROR(ExpectInvalid(part.Ingest(bad)));
  return absl::OkStatus();
}

}  // namespace eris::fuzz
