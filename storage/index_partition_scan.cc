// The slices of scans and aggregates over an index partition.
#include <algorithm>
#include <chrono>
#include <limits>

#include "base/check.h"
#include "storage/index_partition.h"
#include "storage/scan_kernels.h"
#include "storage/tree_count.h"
#include "storage/tree_scanner.h"

namespace eris::storage {
namespace {

// Rows between two looks at the clock: about 2 us of scanning, against 20 ns for a look.
constexpr uint32_t kRowsPerRun = 256;

uint64_t NowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

bool Spent(const ScanBudget& budget) {
  return budget.deadline_ns != std::numeric_limits<uint64_t>::max() &&
         NowNs() >= budget.deadline_ns;
}

// What a slice does with the pieces. Take answers the last key looked at, in the direction.

class RowSink {
 public:
  RowSink(const ScanCursor& cursor, ScanRows& out)
      : query_(cursor.query),
        filters_(query_.Filters()),
        take_(TakeFunctionFor(query_)),
        room_(static_cast<uint32_t>(std::min<uint64_t>(out.capacity - out.rows, cursor.rows_left))),
        out_(out) {}

  bool Full() const { return room_ == 0; }
  // Without a filter each row looked at is given.
  uint32_t RowsWanted(uint32_t rows) const { return filters_ ? rows : std::min(rows, room_); }
  uint64_t Take(const ScanPiece& piece) {
    uint64_t* const keys = out_.keys + out_.rows;
    // The columns of keys only may have no values at all.
    uint64_t* const values = query_.keys_only ? nullptr : out_.values + out_.rows;
    const uint32_t kept = take_(piece, query_, keys, values, room_);
    out_.rows += kept;
    room_ -= kept;
    // A row that found no room has perhaps not been looked at.
    if (room_ == 0) return keys[kept - 1];
    return query_.Backward() ? piece.FirstKey() : piece.LastKey();
  }

 private:
  const ScanQuery& query_;
  const bool filters_;
  const TakeFunction take_;
  uint32_t room_;
  ScanRows& out_;
};

class AggregateSink {
 public:
  AggregateSink(const ScanQuery& query, RangeAggregate& out) : query_(query), out_(out) {}

  static constexpr bool Full() { return false; }
  static uint32_t RowsWanted(uint32_t rows) { return rows; }
  uint64_t Take(const ScanPiece& piece) {
    AddPiece(piece, query_, out_);
    return piece.LastKey();
  }

 private:
  const ScanQuery& query_;
  RangeAggregate& out_;
};

void EndCursor(ScanCursor& cursor) {
  cursor.rest.hi = cursor.rest.lo;
  cursor.done = true;
}

// Moves the cursor behind `key`, the last one looked at; `to` is the last one there is.
template <ScanDirection kDirection>
void MoveBehind(uint64_t key, uint64_t to, ScanCursor& cursor) {
  if (key == to) {
    EndCursor(cursor);
  } else if (kDirection == ScanDirection::kForward) {
    cursor.rest.lo = Key::FromU64(key + 1);
  } else {
    cursor.rest.hi = Key::FromU64(key);
  }
}

// One slice. It looks at one run of rows at least, however late it is.
template <ScanDirection kDirection, class Sink>
void RunSlice(const PrefixTree& tree, const ScanBudget& budget, Sink& sink, ScanCursor& cursor) {
  constexpr bool kForward = kDirection == ScanDirection::kForward;
  const uint64_t first = cursor.rest.lo.head;
  const uint64_t last = LastKeyOf(cursor.rest);
  const uint64_t to = kForward ? last : first;
  BasicTreeScanner<kDirection> scanner(tree, kForward ? first : last);
  while (!sink.Full()) {
    uint64_t key = 0;
    for (uint32_t looked = 0; looked < kRowsPerRun && !sink.Full();) {
      const ScanPiece piece = scanner.Next(to, sink.RowsWanted(kRowsPerRun - looked));
      if (piece.rows == 0) return EndCursor(cursor);
      key = sink.Take(piece);
      looked += piece.rows;
      cursor.looked += piece.rows;
    }
    MoveBehind<kDirection>(key, to, cursor);
    if (cursor.done || Spent(budget)) return;
  }
}

}  // namespace

void IndexPartition::Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) {
  ERIS_DCHECK(!cursor.done);
  ERIS_DCHECK(!cursor.query.values.Inverted());
  if (cursor.rest.Empty() || cursor.rows_left == 0) {
    cursor.done = true;
    return;
  }
  ERIS_DCHECK(range_.Contains(cursor.rest.lo));
  ERIS_DCHECK(range_.ContainsU64(LastKeyOf(cursor.rest)));
  const uint32_t before = out.rows;
  RowSink sink(cursor, out);
  if (cursor.query.Backward()) {
    RunSlice<ScanDirection::kBackward>(tree_, budget, sink, cursor);
  } else {
    RunSlice<ScanDirection::kForward>(tree_, budget, sink, cursor);
  }
  cursor.rows_left -= out.rows - before;
  if (cursor.rows_left == 0) cursor.done = true;
}

void IndexPartition::Aggregate(ScanCursor& cursor, const ScanBudget& budget, RangeAggregate& out) {
  ERIS_DCHECK(!cursor.done);
  ERIS_DCHECK(!cursor.query.values.Inverted());
  if (cursor.rest.Empty()) {
    cursor.done = true;
    return;
  }
  ERIS_DCHECK(range_.Contains(cursor.rest.lo));
  ERIS_DCHECK(range_.ContainsU64(LastKeyOf(cursor.rest)));
  if (cursor.query.count_only && !cursor.query.Filters()) {
    out.count += CountKeys(tree_, cursor.rest.lo.head, LastKeyOf(cursor.rest));
    return EndCursor(cursor);
  }
  AggregateSink sink(cursor.query, out);
  RunSlice<ScanDirection::kForward>(tree_, budget, sink, cursor);
}

}  // namespace eris::storage
