// The slices of scans over a BytesPartition.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "storage/index/bytes_partition.h"
#include "storage/reply_room.h"
#include "storage/scan_budget.h"

namespace eris::storage {
namespace {

// Rows between two reads of the clock, and in one piece of reply memory.
constexpr uint32_t kBytesRun = 64;

// Room for the strings of all words, or for as many as fit.
void OpenFor(const uint64_t* words, uint32_t rows, BytesSink* sink, ReplyRoom& room) {
  for (uint32_t i = 0; i < rows; ++i) PrefetchRecord(words[i]);
  size_t bytes = 0;
  for (uint32_t i = 0; i < rows; ++i) bytes += LongRecordBytes(BytesOf(words[i]).size());
  room.Open(sink, bytes);
}

}  // namespace

void BytesPartition::Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) {
  ERIS_DCHECK(!cursor.query.Filters());
  if (cursor.query.keys_only || out.bytes == nullptr) {
    const uint32_t before = out.rows;
    rows_->Scan(cursor, budget, out);
    // Do not hand out words: the next erase may free their records.
    if (!cursor.query.keys_only) std::fill(out.values + before, out.values + out.rows, 0);
    return;
  }
  while (!cursor.done && !out.Full() && ScanRun(cursor, budget, out) && !Spent(budget)) {
  }
}

bool BytesPartition::ScanRun(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) {
  const ScanCursor before = cursor;
  ScanRows run{.keys = out.keys + out.rows,
               .values = out.values + out.rows,
               .capacity = std::min(kBytesRun, out.capacity - out.rows),
               .rows = 0};
  rows_->Scan(cursor, budget, run);
  ReplyRoom room;
  OpenFor(run.values, run.rows, out.bytes, room);
  for (uint32_t i = 0; i < run.rows; ++i, ++out.rows) {
    uint64_t answer = 0;
    if (!room.Put(run.values[i], answer)) {
      // The words from this row on are not returned: the scan continues with this row.
      std::fill(run.values + i, run.values + run.rows, 0);
      cursor = before;
      cursor.rows_left -= i;
      cursor.looked += i;
      if (i > 0 && cursor.query.Backward()) cursor.rest.hi = Key::FromU64(run.keys[i - 1]);
      if (i > 0 && !cursor.query.Backward()) cursor.rest.lo = Key::FromU64(run.keys[i - 1] + 1);
      out.bytes_full = true;
      return false;
    }
    run.values[i] = answer;
  }
  return true;
}

void BytesPartition::Aggregate(ScanCursor& cursor, const ScanBudget& budget, RangeAggregate& out) {
  ERIS_DCHECK(cursor.query.count_only && !cursor.query.Filters());
  rows_->Aggregate(cursor, budget, out);
}

}  // namespace eris::storage
