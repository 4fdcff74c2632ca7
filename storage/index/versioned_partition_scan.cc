// The slices of scans at a snapshot: between the keys that have a record for it, the rows have not
// changed since.
#include <algorithm>
#include <optional>

#include "base/check.h"
#include "storage/index/versioned_partition.h"
#include "storage/reply_room.h"
#include "storage/scan_budget.h"

namespace eris::storage {
namespace {

// Keys with records between two reads of the clock.
constexpr uint32_t kKeysPerRun = 16;

// Moves the near end of `rest` to the next unread position, at or behind `key`.
void BeginAt(const Key& key, ScanCursor& cursor, bool two_parts) {
  if (!cursor.query.Backward()) {
    cursor.rest.lo = key;
  } else if (const std::optional<Key> behind = KeyAfter(key, two_parts)) {
    cursor.rest.hi = behind;
  }
}
void GoBehind(const Key& key, ScanCursor& cursor, bool two_parts) {
  if (cursor.query.Backward()) {
    cursor.rest.hi = key;
  } else if (const std::optional<Key> behind = KeyAfter(key, two_parts)) {
    cursor.rest.lo = *behind;
  } else {
    cursor.rest.hi = cursor.rest.lo;
  }
  if (cursor.rest.Empty()) cursor.End();
}
// The part of the rest that comes before `key`, or ends with it.
Range GapThrough(const Key& key, const ScanCursor& cursor, bool two_parts) {
  Range gap = cursor.rest;
  if (cursor.query.Backward()) {
    gap.lo = key;
  } else if (const std::optional<Key> behind = KeyAfter(key, two_parts)) {
    gap.hi = behind;
  }
  return gap;
}
Range GapBefore(const Key& key, const ScanCursor& cursor, bool two_parts) {
  Range gap = cursor.rest;
  if (!cursor.query.Backward()) {
    gap.hi = key;
  } else if (const std::optional<Key> behind = KeyAfter(key, two_parts)) {
    gap.lo = *behind;
  } else {
    gap.hi = gap.lo;
  }
  return gap;
}

}  // namespace

// What a slice does with the rows. Gap takes the rows of a piece without records, as far as it
// gets. Take takes one from a record. False: the slice is full, and the row has not been taken.
struct VersionedPartition::RowsSink {
  OrderedPartition& plain;
  ScanRows& out;
  bool byte_strings;

  bool Full(const ScanCursor& cursor) const { return out.Full() || cursor.rows_left == 0; }
  void Gap(ScanCursor& gap, const ScanBudget& budget) { plain.Scan(gap, budget, out); }
  bool Take(const Key& key, const VersionRecord& record, ScanCursor& cursor) {
    if (!cursor.query.values.Contains(record.value) && cursor.query.Filters()) return true;
    uint64_t value = record.value;
    if (byte_strings && out.bytes != nullptr && !cursor.query.keys_only) {
      ReplyRoom room;
      room.Open(out.bytes, LongRecordBytes(BytesOf(record.value).size()));
      if (!room.Put(record.value, value)) {
        out.bytes_full = true;
        return false;
      }
    } else if (byte_strings) {
      value = 0;
    }
    out.keys[out.rows] = key.head;
    if (out.seconds != nullptr) out.seconds[out.rows] = key.tail;
    if (!cursor.query.keys_only && out.values != nullptr) out.values[out.rows] = value;
    ++out.rows;
    --cursor.rows_left;
    return true;
  }
};

struct VersionedPartition::AggregateSink {
  OrderedPartition& plain;
  RangeAggregate& out;
  bool two_parts;

  static bool Full(const ScanCursor&) { return false; }
  void Gap(ScanCursor& gap, const ScanBudget& budget) { plain.Aggregate(gap, budget, out); }
  bool Take(const Key& key, const VersionRecord& record, ScanCursor& cursor) {
    if (cursor.query.Filters() && !cursor.query.values.Contains(record.value)) return true;
    if (cursor.query.count_only) {
      ++out.count;
      return true;
    }
    RangeAggregate one{.count = 1,
                       .min = record.value,
                       .max = record.value,
                       .sum_low = record.value,
                       .first_key = key.head,
                       .last_key = key.head};
    if (two_parts) one.first_second = one.last_second = key.tail;
    out.Add(one);
    return true;
  }
};

bool VersionedPartition::Plain(ScanCursor& cursor) const {
  if (cursor.snapshot == 0) return true;
  if (cursor.snapshot < lost_before_) {
    cursor.snapshot_lost = true;
    return false;
  }
  // The newest record has the largest end, or one with a larger end has been removed.
  return versions_->Empty() || versions_->newest_end() <= cursor.snapshot;
}

template <class Sink>
void VersionedPartition::Walk(ScanCursor& cursor, const ScanBudget& budget, Sink& sink) const {
  const bool two_parts = form_.two_parts;
  while (!cursor.done && !sink.Full(cursor)) {
    VersionTable::KeptKey keys[kKeysPerRun];
    const uint32_t count = versions_->Keys(cursor.rest, cursor.query.direction, kKeysPerRun, keys);
    // A key without a record for the snapshot is part of the gap around it. The last key still ends
    // the gap, because there may be more keys behind it.
    for (uint32_t i = 0; i < count && !cursor.done; ++i) {
      const VersionRecord* const record = VersionTable::At(keys[i].newest, cursor.snapshot);
      if (record == nullptr && i + 1 < kKeysPerRun) continue;
      ScanCursor gap = cursor;
      gap.rest = record == nullptr ? GapThrough(keys[i].key, cursor, two_parts)
                                   : GapBefore(keys[i].key, cursor, two_parts);
      if (!gap.rest.Empty()) {
        sink.Gap(gap, budget);
        cursor.looked = gap.looked;
        cursor.rows_left = gap.rows_left;
        if (!gap.done) {
          cursor.rest = cursor.query.Backward() ? Range{cursor.rest.lo, gap.rest.hi}
                                                : Range{gap.rest.lo, cursor.rest.hi};
          return;
        }
      }
      if (record == nullptr) {
        GoBehind(keys[i].key, cursor, two_parts);
        break;
      }
      BeginAt(keys[i].key, cursor, two_parts);
      if (sink.Full(cursor)) return;
      if (record->present() && !sink.Take(keys[i].key, *record, cursor)) return;
      ++cursor.looked;
      GoBehind(keys[i].key, cursor, two_parts);
      if (sink.Full(cursor)) return;
    }
    if (cursor.done || sink.Full(cursor)) return;
    // No record after these: the current rows are right for the whole rest.
    if (count < kKeysPerRun) return sink.Gap(cursor, budget);
    if (Spent(budget)) return;
  }
}

void VersionedPartition::Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) {
  if (Plain(cursor)) return rows_->Scan(cursor, budget, out);
  if (cursor.snapshot_lost) return;
  ERIS_DCHECK(!cursor.done);
  if (cursor.rest.Empty() || cursor.rows_left == 0) {
    cursor.done = true;
    return;
  }
  RowsSink sink{*rows_, out, form_.byte_strings};
  Walk(cursor, budget, sink);
  if (cursor.rows_left == 0) cursor.done = true;
}

void VersionedPartition::Aggregate(ScanCursor& cursor, const ScanBudget& budget,
                                   RangeAggregate& out) {
  if (Plain(cursor)) return rows_->Aggregate(cursor, budget, out);
  if (cursor.snapshot_lost) return;
  ERIS_DCHECK(!cursor.done);
  cursor.query.direction = ScanDirection::kForward;
  if (cursor.rest.Empty()) {
    cursor.done = true;
    return;
  }
  AggregateSink sink{*rows_, out, form_.two_parts};
  Walk(cursor, budget, sink);
}

}  // namespace eris::storage
