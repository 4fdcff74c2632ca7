#include "storage/tree/tree_scanner.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/prefetch.h"
#include "storage/tree/scan_copy.h"

namespace eris::storage {
namespace {

// Runs and pages fetched before they are read, at the beginning: few, so that a short scan fetches
// little in vain.
constexpr unsigned kAheadFirst = 3;
constexpr unsigned kShortScan = 4;  // after this many the scan is not short

// The bits of the bytes from `first` to `last` that are in the given word.
uint64_t BitsBetween(const uint64_t* bitmap, unsigned word, unsigned first, unsigned last) {
  uint64_t bits = bitmap[word];
  if (word == first >> 6) bits &= ~uint64_t{0} << (first & 63);
  if (word == last >> 6) bits &= ~uint64_t{0} >> (63 - (last & 63));
  return bits;
}

unsigned CountBits(const uint64_t* bitmap, unsigned first, unsigned last) {
  unsigned count = 0;
  for (unsigned word = first >> 6; word <= last >> 6; ++word) {
    count += static_cast<unsigned>(std::popcount(BitsBetween(bitmap, word, first, last)));
  }
  return count;
}

// The n-th set bit (from 0) at or after `first`. REQUIRES: there are more than n.
unsigned NthBit(const uint64_t* bitmap, unsigned first, unsigned n) {
  unsigned word = first >> 6;
  uint64_t bits = bitmap[word] & ~uint64_t{0} << (first & 63);
  for (;; bits = bitmap[++word]) {
    const auto count = static_cast<unsigned>(std::popcount(bits));
    if (n < count) break;
    n -= count;
  }
  // Binary search, for as long as there is more than one bit.
  unsigned at = 0;
  for (unsigned half = 32; half > 0; half /= 2) {
    const uint64_t lower = bits >> at & ((uint64_t{1} << half) - 1);
    const auto count = static_cast<unsigned>(std::popcount(lower));
    if (n < count) continue;
    n -= count;
    at += half;
  }
  return word * 64 + at;
}

// The last byte <= `from` whose bit is set, or 256.
unsigned PreviousBit(const uint64_t* bitmap, unsigned from) {
  for (unsigned word = from >> 6;; --word) {
    const uint64_t bits = BitsBetween(bitmap, word, 0, from);
    if (bits != 0) return word * 64 + 63 - static_cast<unsigned>(std::countl_zero(bits));
    if (word == 0) return 256;
  }
}

}  // namespace

template <ScanDirection kDirection>
BasicTreeScanner<kDirection>::BasicTreeScanner(const PrefixTree& tree, uint64_t from) {
  TreeRef ref = walk_.Descend(tree.root(), from);
  if (ref.IsNone()) return;
  // A page or a subtree of other keys is before the first row, or contains it.
  const bool own_place = ref.IsRun() || ref.PrefixMatches(from);
  const bool first_there =
      !own_place && (kBackward ? ref.header()->prefix < from : ref.header()->prefix > from);
  if (first_there) ref = walk_.First(ref);
  PrefetchBlock(ref);
  for (unsigned i = 0; i < kAheadFirst; ++i) FetchNext();
  if (first_there) {
    Enter(ref);
  } else if (!own_place) {
    return;
  } else if (ref.IsRun()) {
    Enter(ref);
    if constexpr (kBackward) {
      if (from < std::numeric_limits<uint64_t>::max()) next_ = ref.run()->LowerBound(from + 1);
      if (next_ == 0) at_ = TreeRef();
    } else {
      next_ = ref.run()->LowerBound(from);
      if (next_ == ref.run()->count) at_ = TreeRef();
    }
  } else {
    at_ = ref;
    next_ = kBackward ? ref.Byte(from) + 1 : ref.Byte(from);
  }
}

template <ScanDirection kDirection>
void BasicTreeScanner<kDirection>::FetchNext() {
  const TreeRef ref = walk_.Next();
  if (ref.IsNone()) return;
  PrefetchBlock(ref);
  ahead_[(first_ahead_ + ahead_count_++) % kAheadMax] = ref;
}

template <ScanDirection kDirection>
void BasicTreeScanner<kDirection>::Enter(TreeRef ref) {
  at_ = ref;
  if (ref.IsRun()) ref.run()->Sort();
  next_ = !kBackward ? 0 : ref.IsRun() ? ref.run()->count : 256;
}

template <ScanDirection kDirection>
bool BasicTreeScanner<kDirection>::Advance() {
  if (ahead_count_ == 0) return false;
  const TreeRef ref = ahead_[first_ahead_];
  first_ahead_ = (first_ahead_ + 1) % kAheadMax;
  --ahead_count_;
  FetchNext();
  if (passed_ < kShortScan) {
    ++passed_;
  } else if (ahead_count_ < kAheadMax) {
    FetchNext();
  }
  Enter(ref);
  return true;
}

template <ScanDirection kDirection>
[[gnu::always_inline]] inline ScanPiece BasicTreeScanner<kDirection>::RunPiece(uint64_t to,
                                                                               uint32_t rows_max) {
  TreeRun* const run = at_.run();
  const Pair* const pairs = run->pairs();
  if constexpr (kBackward) {
    unsigned begin = next_ - std::min<unsigned>(rows_max, next_);
    if (pairs[begin].key < to) begin = std::min(run->LowerBound(to), next_);
    const ScanPiece piece{.rows = next_ - begin, .pairs = pairs + begin};
    next_ = begin;
    if (next_ == 0) at_ = TreeRef();
    return piece;
  }
  const Pair* const from = pairs + next_;
  uint32_t rows = std::min<uint32_t>(rows_max, run->count - next_);
  if (from[rows - 1].key > to) {
    rows = static_cast<uint32_t>(
        std::upper_bound(from, from + rows, to,
                         [](uint64_t key, const Pair& pair) { return key < pair.key; }) -
        from);
  }
  next_ += rows;
  if (next_ == run->count) at_ = TreeRef();
  return {.rows = rows, .pairs = from};
}

template <ScanDirection kDirection>
inline ScanPiece BasicTreeScanner<kDirection>::PagePiece(uint64_t to, uint32_t rows_max) {
  const TreePage* const page = at_.page();
  const uint64_t prefix = page->header.prefix;
  ScanPiece piece{.page = page};
  // As far as `to` goes into the page.
  if constexpr (kBackward) {
    piece.last = next_ == 0 ? 256 : PreviousBit(page->bitmap, next_ - 1);
    if (piece.last == 256) {
      at_ = TreeRef();
      return {};
    }
    if ((prefix | piece.last) < to) return {};
    piece.first = to <= prefix
                      ? internal::NextBit(page->bitmap, 0)
                      : internal::NextBit(page->bitmap, static_cast<unsigned>(to - prefix));
    piece.rows = CountBits(page->bitmap, piece.first, piece.last);
    if (piece.rows > rows_max) {
      piece.first = NthBit(page->bitmap, piece.first, piece.rows - rows_max);
      piece.rows = rows_max;
    }
    next_ = piece.first;
  } else {
    piece.first = internal::NextBit(page->bitmap, next_);
    if (piece.first == 256) {
      at_ = TreeRef();
      return {};
    }
    if ((prefix | piece.first) > to) return {};
    const auto reach = static_cast<unsigned>(std::min<uint64_t>(to - prefix, 255));
    piece.last = internal::LastBit(page->bitmap, reach);
    piece.rows = CountBits(page->bitmap, piece.first, piece.last);
    if (piece.rows > rows_max) {
      piece.last = NthBit(page->bitmap, piece.first, rows_max - 1);
      piece.rows = rows_max;
    }
    next_ = piece.last + 1;
  }
  return piece;
}

template <ScanDirection kDirection>
[[gnu::always_inline]] inline ScanPiece BasicTreeScanner<kDirection>::NextPiece(uint64_t to,
                                                                                uint32_t rows_max) {
  for (;;) {
    if (at_.IsNone() && !Advance()) return {};
    const ScanPiece piece = at_.IsRun() ? RunPiece(to, rows_max) : PagePiece(to, rows_max);
    // The rest of it, without a row to return, is behind `to`.
    if (piece.rows > 0 || !at_.IsNone()) return piece;
  }
}

template <ScanDirection kDirection>
ScanPiece BasicTreeScanner<kDirection>::Next(uint64_t to, uint32_t rows_max) {
  return NextPiece(to, rows_max);
}

template <ScanDirection kDirection>
uint32_t BasicTreeScanner<kDirection>::Read(uint64_t to, uint64_t* keys, uint64_t* values,
                                            uint32_t rows_max) {
  uint32_t rows = 0;
  while (rows < rows_max) {
    if (at_.IsNone() && !Advance()) break;
    const uint32_t room = rows_max - rows;
    ScanPiece piece;
    if (at_.IsRun()) {
      piece = RunPiece(to, room);
      if constexpr (kBackward) {
        internal::CopyBackward<false>(piece.pairs + piece.rows, piece.rows, keys + rows,
                                      values + rows);
      } else {
        internal::CopyForward<false>(piece.pairs, piece.rows, keys + rows, values + rows);
      }
    } else {
      piece = PagePiece(to, room);
      if (piece.rows > 0) {
        internal::TakeAll<kBackward, false>(piece, {}, keys + rows, values + rows, piece.rows);
      }
    }
    rows += piece.rows;
    // The rest of it, without a row to return, is behind `to`.
    if (piece.rows == 0 && !at_.IsNone()) break;
  }
  return rows;
}

template class BasicTreeScanner<ScanDirection::kForward>;
template class BasicTreeScanner<ScanDirection::kBackward>;

}  // namespace eris::storage
