#include "storage/tree_scanner.h"

#include <algorithm>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace eris::storage {
namespace {

// How many children before the one being read its block is prefetched, and how much of it: the rest
// of a run comes with the processor's own prefetching.
constexpr unsigned kAheadChildren = 3;

void PrefetchBlock(TreeRef ref) {
  const auto* block = static_cast<const char*>(ref.block());
  const unsigned lines = ref.IsRun() ? ref.lines() : 4;
  for (unsigned i = 0; i < lines; ++i) __builtin_prefetch(block + i * base::kCacheLineBytes, 0, 3);
}

// Rows to columns.
void Copy(const Pair* pairs, uint32_t count, uint64_t* keys, uint64_t* values) {
  uint32_t i = 0;
#ifdef __SSE2__
  for (; i + 2 <= count; i += 2) {
    const __m128i first = _mm_load_si128(reinterpret_cast<const __m128i*>(pairs + i));
    const __m128i second = _mm_load_si128(reinterpret_cast<const __m128i*>(pairs + i + 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(keys + i), _mm_unpacklo_epi64(first, second));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(values + i), _mm_unpackhi_epi64(first, second));
  }
#endif
  for (; i < count; ++i) {
    keys[i] = pairs[i].key;
    values[i] = pairs[i].value;
  }
}

}  // namespace

TreeScanner::TreeScanner(const PrefixTree& tree, uint64_t from) {
  TreeRef ref = tree.root();
  while (ref.IsTreeNode() && ref.PrefixMatches(from)) {
    const Child child = ChildAt(ref, ref.Byte(from));
    Push(ref, child.start + 1);
    ref = child.ref();
  }
  if (ref.IsNone()) return;
  if (ref.IsRun()) {
    ref.run()->Sort();
    at_ = ref;
    next_ = ref.run()->LowerBound(from);
  } else if (ref.IsPage() && ref.PrefixMatches(from)) {
    at_ = ref;
    next_ = ref.Byte(from);
  } else if (ref.header()->prefix > from) {
    EnterFirst(ref);
  }
}

void TreeScanner::Push(TreeRef ref, unsigned next) {
  Frame& frame = frames_[depth_++];
  frame = {ref, next, next};
  for (unsigned i = 0; i < kAheadChildren; ++i) PrefetchNext(frame);
}

void TreeScanner::PrefetchNext(Frame& frame) {
  if (frame.ahead >= 256) return;
  const Child child = NextChild(frame.ref, frame.ahead);
  frame.ahead = child.start + 1;
  if (child.start < 256) PrefetchBlock(child.ref());
}

void TreeScanner::EnterFirst(TreeRef ref) {
  while (ref.IsTreeNode()) {
    const Child child = NextChild(ref, 0);
    Push(ref, child.start + 1);
    ref = child.ref();
  }
  at_ = ref;
  next_ = 0;
  if (ref.IsRun()) ref.run()->Sort();
}

bool TreeScanner::Advance() {
  at_ = TreeRef();
  while (depth_ > 0) {
    Frame& frame = frames_[depth_ - 1];
    const Child child = frame.next < 256 ? NextChild(frame.ref, frame.next) : Child{};
    if (child.start == 256) {
      --depth_;
      continue;
    }
    frame.next = child.start + 1;
    PrefetchNext(frame);
    EnterFirst(child.ref());
    return true;
  }
  return false;
}

uint32_t TreeScanner::ReadRun(uint64_t last, uint64_t* keys, uint64_t* values, uint32_t rows_max,
                              bool* behind) {
  TreeRun* run = at_.run();
  const Pair* const pairs = run->pairs() + next_;
  uint32_t rows = std::min<uint32_t>(rows_max, run->count - next_);
  if (rows > 0 && pairs[rows - 1].key > last) {
    rows = static_cast<uint32_t>(
        std::upper_bound(pairs, pairs + rows, last,
                         [](uint64_t key, const Pair& pair) { return key < pair.key; }) -
        pairs);
    *behind = true;
  }
  Copy(pairs, rows, keys, values);
  next_ += rows;
  return rows;
}

uint32_t TreeScanner::ReadPage(uint64_t last, uint64_t* keys, uint64_t* values, uint32_t rows_max,
                               bool* behind) {
  const TreePage* page = at_.page();
  uint32_t rows = 0;
  for (; rows < rows_max; ++rows) {
    const unsigned byte = internal::NextBit(page->bitmap, next_);
    if (byte == 256) break;
    const uint64_t key = page->header.prefix | byte;
    if (key > last) {
      *behind = true;
      break;
    }
    keys[rows] = key;
    values[rows] = page->slots[byte];
    next_ = byte + 1;
  }
  return rows;
}

uint32_t TreeScanner::Read(uint64_t last, uint64_t* keys, uint64_t* values, uint32_t rows_max) {
  uint32_t rows = 0;
  bool behind = false;
  while (rows < rows_max && !behind) {
    if (at_.IsNone() && !Advance()) break;
    const uint32_t room = rows_max - rows;
    rows += at_.IsRun() ? ReadRun(last, keys + rows, values + rows, room, &behind)
                        : ReadPage(last, keys + rows, values + rows, room, &behind);
    if (rows < rows_max && !behind) at_ = TreeRef();
  }
  return rows;
}

}  // namespace eris::storage
