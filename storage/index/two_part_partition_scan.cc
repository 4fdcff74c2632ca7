// The slices of scans and aggregates over a TwoPartPartition. First parts are read in runs, so that
// the groups of their words are fetched in parallel; then rows are read group by group.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "storage/index/two_part_partition.h"
#include "storage/scan_budget.h"
#include "storage/tree/tree_count.h"
#include "storage/tree/tree_scanner.h"

namespace eris::storage {
namespace {

constexpr uint64_t kLastSecond = std::numeric_limits<uint64_t>::max();
// Rows between two reads of the clock (index_partition_scan.cc), and the most read from a tree at
// once.
constexpr uint32_t kRowsPerRun = 256;
constexpr uint32_t kGroupsPerRun = 64;
constexpr uint32_t kFewRows = 12;

// The last and the first second part that rows of `first` have in the range.
uint64_t LastSecondOf(const Range& range, uint64_t first) {
  return range.hi && range.hi->head == first ? range.hi->tail - 1 : kLastSecond;
}
uint64_t FirstSecondOf(const Range& range, uint64_t first) {
  return range.lo.head == first ? range.lo.tail : 0;
}

// Contiguous rows of one first part, in the scan's direction.
struct GroupPiece {
  uint64_t first;
  const uint64_t* seconds;
  const uint64_t* values;
  uint32_t rows;
};

// What a slice does with the rows. Take returns how many rows it has processed: all, unless it is
// full then. RowsWanted: the number of rows of which it can use at least one.
class RowsSink {
 public:
  RowsSink(const ScanCursor& cursor, ScanRows& out)
      : query_(cursor.query),
        filters_(query_.Filters()),
        room_(static_cast<uint32_t>(std::min<uint64_t>(out.capacity - out.rows, cursor.rows_left))),
        out_(out) {}

  bool Full() const { return room_ == 0; }
  uint32_t RowsWanted() const { return filters_ ? kRowsPerRun : std::min(room_, kRowsPerRun); }
  uint32_t Take(const GroupPiece& piece) { return filters_ ? TakeSome(piece) : TakeAll(piece); }

 private:
  uint32_t TakeAll(const GroupPiece& piece) {
    const uint32_t rows = std::min(piece.rows, room_);
    uint64_t* const keys = out_.keys + out_.rows;
    uint64_t* const seconds = out_.seconds + out_.rows;
    if (rows <= kFewRows) {  // for few rows a call of memmove takes longer
      for (uint32_t i = 0; i < rows; ++i) {
        keys[i] = piece.first;
        seconds[i] = piece.seconds[i];
      }
      if (!query_.keys_only) {
        uint64_t* const values = out_.values + out_.rows;
        for (uint32_t i = 0; i < rows; ++i) values[i] = piece.values[i];
      }
    } else {
      std::fill_n(keys, rows, piece.first);
      std::copy_n(piece.seconds, rows, seconds);
      if (!query_.keys_only) std::copy_n(piece.values, rows, out_.values + out_.rows);
    }
    out_.rows += rows;
    room_ -= rows;
    return rows;
  }
  uint32_t TakeSome(const GroupPiece& piece) {
    uint32_t looked = 0;
    while (looked < piece.rows && room_ > 0) {
      const uint64_t value = piece.values[looked];
      out_.keys[out_.rows] = piece.first;
      out_.seconds[out_.rows] = piece.seconds[looked++];
      if (!query_.keys_only) out_.values[out_.rows] = value;
      const bool kept = query_.values.Contains(value);
      out_.rows += kept;
      room_ -= kept;
    }
    return looked;
  }

  const ScanQuery& query_;
  const bool filters_;
  uint32_t room_;
  ScanRows& out_;
};

class TwoPartAggregateSink {
 public:
  TwoPartAggregateSink(const ScanQuery& query, RangeAggregate& out) : query_(query), out_(out) {}

  static constexpr bool Full() { return false; }
  static constexpr uint32_t RowsWanted() { return kRowsPerRun; }
  uint32_t Take(const GroupPiece& piece) {
    RangeAggregate sum;
    sum.first_key = sum.last_key = piece.first;
    for (uint32_t i = 0; i < piece.rows; ++i) {
      const uint64_t value = piece.values[i];
      if (!query_.values.Contains(value)) continue;
      if (sum.count++ == 0) sum.first_second = piece.seconds[i];
      sum.last_second = piece.seconds[i];
      sum.min = std::min(sum.min, value);
      sum.max = std::max(sum.max, value);
      sum.AddToSum(value, 0);
    }
    if (sum.count > 0) out_.Add(sum);
    return piece.rows;
  }

 private:
  const ScanQuery& query_;
  RangeAggregate& out_;
};

template <ScanDirection kDirection, class Sink>
class Slice {
 public:
  Slice(const PrefixTree& firsts, const ScanBudget& budget, Sink& sink, ScanCursor& cursor)
      : firsts_(firsts), budget_(budget), sink_(sink), cursor_(cursor), range_(cursor.rest) {}

  // Reads at least one run of rows, however late it is.
  void Run() {
    if (RunToEnd()) {
      cursor_.End();
    } else if (looked_ > 0) {
      MoveBehind(last_);
    }
    cursor_.looked += looked_;
  }

 private:
  static constexpr bool kForward = kDirection == ScanDirection::kForward;

  // False: it stopped behind last_.
  bool RunToEnd() {
    const uint64_t from = range_.lo.head;
    const uint64_t to = LastFirstPartOf(range_);
    BasicTreeScanner<kDirection> scanner(firsts_, kForward ? from : to);
    uint64_t firsts[kGroupsPerRun];
    uint64_t words[kGroupsPerRun];
    while (!sink_.Full()) {
      // Each group has at least one row, except at the ends of the range.
      const uint32_t wanted = std::min(sink_.RowsWanted(), kGroupsPerRun);
      const uint32_t groups = scanner.Read(kForward ? to : from, firsts, words, wanted);
      for (uint32_t i = 0; i < groups; ++i) {
        const TwoPartGroup group(words[i]);
        if (group.IsBlock()) {
          group.PrefetchBlock(/*to_copy=*/true);
        } else {
          __builtin_prefetch(group.root().block());
        }
      }
      for (uint32_t i = 0; i < groups; ++i) {
        const TwoPartGroup group(words[i]);
        if (!(group.IsBlock() ? GiveBlock(firsts[i], group) : GiveTree(firsts[i], words[i]))) {
          return false;
        }
      }
      if (groups < wanted) return true;
    }
    return false;
  }

  bool GiveBlock(uint64_t first, TwoPartGroup group) {
    const uint64_t from = FirstSecondOf(range_, first);
    const uint64_t to = LastSecondOf(range_, first);
    const unsigned begin = from == 0 ? 0 : group.LowerBound(from);
    const unsigned end = to == kLastSecond ? group.rows() : group.LowerBound(to + 1);
    if (begin >= end) return true;
    const uint64_t* seconds = group.seconds() + begin;
    const uint64_t* values = group.values() + begin;
    if constexpr (kForward) {
      return Give({first, seconds, values, end - begin});
    } else {
      std::reverse_copy(seconds, seconds + (end - begin), seconds_);
      std::reverse_copy(values, values + (end - begin), values_);
      return Give({first, seconds_, values_, end - begin});
    }
  }

  bool GiveTree(uint64_t first, uint64_t word) {
    const uint64_t from = FirstSecondOf(range_, first);
    const uint64_t to = LastSecondOf(range_, first);
    GroupTree tree(firsts_.cache(), word);
    BasicTreeScanner<kDirection> scanner(*tree, kForward ? from : to);
    for (;;) {
      if (sink_.Full()) return false;
      const uint32_t wanted = sink_.RowsWanted();
      const uint32_t rows = scanner.Read(kForward ? to : from, seconds_, values_, wanted);
      if (rows > 0 && !Give({first, seconds_, values_, rows})) return false;
      if (rows < wanted) return true;
    }
  }

  // False: the slice ends here.
  bool Give(const GroupPiece& piece) {
    if (sink_.Full()) return false;
    const uint32_t looked = sink_.Take(piece);
    last_ = {piece.first, piece.seconds[looked - 1]};
    looked_ += looked;
    run_rows_ += looked;
    if (looked < piece.rows) return false;
    if (run_rows_ < kRowsPerRun) return true;
    run_rows_ = 0;
    return !Spent(budget_);
  }

  void MoveBehind(const Key& last) {
    Range& rest = cursor_.rest;
    if constexpr (!kForward) {
      rest.hi = last;
      if (rest.Empty()) cursor_.End();
    } else {
      const bool last_of_first = last.tail == kLastSecond;
      if (last_of_first && last.head == kLastSecond) return cursor_.End();
      rest.lo = last_of_first ? Key{last.head + 1, 0} : Key{last.head, last.tail + 1};
      if (rest.Empty()) cursor_.End();
    }
  }

  const PrefixTree& firsts_;
  const ScanBudget& budget_;
  Sink& sink_;
  ScanCursor& cursor_;
  const Range range_;  // the cursor's, as the slice found it
  Key last_;           // the last key read
  uint64_t looked_ = 0;
  uint32_t run_rows_ = 0;
  // For rows that are not stored in the scan's direction.
  uint64_t seconds_[kRowsPerRun];
  uint64_t values_[kRowsPerRun];
  static_assert(kRowsPerRun >= kGroupBlockRowsMax);
};

}  // namespace

void TwoPartPartition::Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) {
  ERIS_DCHECK(!cursor.done);
  ERIS_DCHECK(!cursor.query.values.Inverted());
  ERIS_DCHECK(out.capacity == 0 || out.seconds != nullptr);
  if (cursor.rest.Empty() || cursor.rows_left == 0) {
    cursor.done = true;
    return;
  }
  ERIS_DCHECK(range().Contains(Key::FromU64(cursor.rest.lo.head)));
  ERIS_DCHECK(range().ContainsU64(LastFirstPartOf(cursor.rest)));
  const uint32_t before = out.rows;
  RowsSink sink(cursor, out);
  if (cursor.query.Backward()) {
    Slice<ScanDirection::kBackward, RowsSink>(firsts_.tree(), budget, sink, cursor).Run();
  } else {
    Slice<ScanDirection::kForward, RowsSink>(firsts_.tree(), budget, sink, cursor).Run();
  }
  cursor.rows_left -= out.rows - before;
  if (cursor.rows_left == 0) cursor.done = true;
}

void TwoPartPartition::Aggregate(ScanCursor& cursor, const ScanBudget& budget,
                                 RangeAggregate& out) {
  ERIS_DCHECK(!cursor.done);
  ERIS_DCHECK(!cursor.query.values.Inverted());
  if (cursor.rest.Empty()) {
    cursor.done = true;
    return;
  }
  ERIS_DCHECK(range().Contains(Key::FromU64(cursor.rest.lo.head)));
  ERIS_DCHECK(range().ContainsU64(LastFirstPartOf(cursor.rest)));
  if (cursor.query.count_only && !cursor.query.Filters()) {
    out.count += CountBetween(cursor.rest);
    return cursor.End();
  }
  TwoPartAggregateSink sink(cursor.query, out);
  Slice<ScanDirection::kForward, TwoPartAggregateSink>(firsts_.tree(), budget, sink, cursor).Run();
}

uint64_t TwoPartPartition::CountBetween(const Range& rows) const {
  const auto count_in = [&](uint64_t first) -> uint64_t {
    const std::optional<uint64_t> word = firsts_.tree().Lookup(first);
    if (!word) return 0;
    return CountRows(cache(), *word, FirstSecondOf(rows, first), LastSecondOf(rows, first));
  };
  uint64_t from = rows.lo.head;
  uint64_t to = LastFirstPartOf(rows);
  if (from == to) return count_in(from);
  // First the groups that a bound cuts, then whole ones.
  uint64_t count = 0;
  if (rows.lo.tail > 0) count += count_in(from++);
  if (LastSecondOf(rows, to) != kLastSecond) count += count_in(to--);
  return from <= to ? count + CountKeys(firsts_.tree(), from, to) : count;
}

}  // namespace eris::storage
