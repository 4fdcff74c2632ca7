// The slices of scans and aggregates over an index partition.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "storage/index/index_partition.h"
#include "storage/scan_budget.h"
#include "storage/tree/scan_kernels.h"
#include "storage/tree/tree_count.h"
#include "storage/tree/tree_scanner.h"

namespace eris::storage {
namespace {

// Rows between two reads of the clock: about 2 us of scanning, compared with 20 ns for a read.
constexpr uint32_t kIndexRun = 256;

// What a slice does with the rows. Run reads up to `rows_max` rows from the scanner's position on.
// It returns how many it has read, and the last key of them in the scan's direction.
struct Looked {
  uint32_t rows = 0;
  bool ended = false;  // there are no more
  uint64_t key = 0;
};

// Rows as they are.
class PlainSink {
 public:
  PlainSink(const ScanCursor& cursor, ScanRows& out)
      : room_(static_cast<uint32_t>(std::min<uint64_t>(out.capacity - out.rows, cursor.rows_left))),
        out_(out) {}

  bool Full() const { return room_ == 0; }
  template <class Scanner>
  Looked Run(Scanner& scanner, uint64_t to, uint32_t rows_max) {
    const uint32_t wanted = std::min(room_, rows_max);
    const uint32_t rows = scanner.Read(to, out_.keys + out_.rows, out_.values + out_.rows, wanted);
    out_.rows += rows;
    room_ -= rows;
    if (rows < wanted) return {.rows = rows, .ended = true};
    return {.rows = rows, .key = out_.keys[out_.rows - 1]};
  }

 private:
  uint32_t room_;
  ScanRows& out_;
};

// Rows with a filter, or without values.
class ChosenSink {
 public:
  ChosenSink(const ScanCursor& cursor, ScanRows& out)
      : query_(cursor.query),
        filters_(query_.Filters()),
        take_(TakeFunctionFor(query_)),
        room_(static_cast<uint32_t>(std::min<uint64_t>(out.capacity - out.rows, cursor.rows_left))),
        out_(out) {}

  bool Full() const { return room_ == 0; }
  template <class Scanner>
  Looked Run(Scanner& scanner, uint64_t to, uint32_t rows_max) {
    Looked looked;
    while (looked.rows < rows_max) {
      // Without a filter every row read is returned.
      const uint32_t left = rows_max - looked.rows;
      const ScanPiece piece = scanner.Next(to, filters_ ? left : std::min(left, room_));
      if (piece.rows == 0) return {.rows = looked.rows, .ended = true};
      looked.rows += piece.rows;
      looked.key = query_.Backward() ? piece.FirstKey() : piece.LastKey();
      uint64_t* const keys = out_.keys + out_.rows;
      // A chunk of keys only may have no value column.
      uint64_t* const values = query_.keys_only ? nullptr : out_.values + out_.rows;
      const uint32_t kept = take_(piece, query_, keys, values, room_);
      out_.rows += kept;
      room_ -= kept;
      if (room_ > 0) continue;
      // Rows after this one in the piece may not have been read.
      looked.key = keys[kept - 1];
      break;
    }
    return looked;
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
  Looked Run(TreeScanner& scanner, uint64_t to, uint32_t rows_max) {
    Looked looked;
    while (looked.rows < rows_max) {
      const ScanPiece piece = scanner.Next(to, rows_max - looked.rows);
      if (piece.rows == 0) return {.rows = looked.rows, .ended = true};
      AddPiece(piece, query_, out_);
      looked.rows += piece.rows;
      looked.key = piece.LastKey();
    }
    return looked;
  }

 private:
  const ScanQuery& query_;
  RangeAggregate& out_;
};

// Moves the cursor behind `key`, the last one read; `to` is the last one that exists.
template <ScanDirection kDirection>
void MoveBehind(uint64_t key, uint64_t to, ScanCursor& cursor) {
  if (key == to) {
    cursor.End();
  } else if (kDirection == ScanDirection::kForward) {
    cursor.rest.lo = Key::FromU64(key + 1);
  } else {
    cursor.rest.hi = Key::FromU64(key);
  }
}

// One slice. It reads at least one run of rows, however late it is.
template <ScanDirection kDirection, class Sink>
void RunSlice(const PrefixTree& tree, const ScanBudget& budget, Sink& sink, ScanCursor& cursor) {
  constexpr bool kForward = kDirection == ScanDirection::kForward;
  const uint64_t first = cursor.rest.lo.head;
  const uint64_t last = LastFirstPartOf(cursor.rest);
  const uint64_t to = kForward ? last : first;
  BasicTreeScanner<kDirection> scanner(tree, kForward ? first : last);
  while (!sink.Full()) {
    const Looked looked = sink.Run(scanner, to, kIndexRun);
    cursor.looked += looked.rows;
    if (looked.ended) return cursor.End();
    MoveBehind<kDirection>(looked.key, to, cursor);
    if (cursor.done || Spent(budget)) return;
  }
}

template <class Sink>
void RunRows(const PrefixTree& tree, const ScanBudget& budget, ScanRows& out, ScanCursor& cursor) {
  Sink sink(cursor, out);
  if (cursor.query.Backward()) {
    RunSlice<ScanDirection::kBackward>(tree, budget, sink, cursor);
  } else {
    RunSlice<ScanDirection::kForward>(tree, budget, sink, cursor);
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
  ERIS_DCHECK(range().Contains(cursor.rest.lo));
  ERIS_DCHECK(range().ContainsU64(LastFirstPartOf(cursor.rest)));
  const uint32_t before = out.rows;
  if (cursor.query.Filters() || cursor.query.keys_only) {
    RunRows<ChosenSink>(rows_.tree(), budget, out, cursor);
  } else {
    RunRows<PlainSink>(rows_.tree(), budget, out, cursor);
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
  ERIS_DCHECK(range().Contains(cursor.rest.lo));
  ERIS_DCHECK(range().ContainsU64(LastFirstPartOf(cursor.rest)));
  if (cursor.query.count_only && !cursor.query.Filters()) {
    out.count += CountKeys(rows_.tree(), cursor.rest.lo.head, LastFirstPartOf(cursor.rest));
    return cursor.End();
  }
  AggregateSink sink(cursor.query, out);
  RunSlice<ScanDirection::kForward>(rows_.tree(), budget, sink, cursor);
}

}  // namespace eris::storage
