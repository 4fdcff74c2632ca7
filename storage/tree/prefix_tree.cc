#include "storage/tree/prefix_tree.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/check.h"
#include "storage/tree/tree_path.h"

namespace eris::storage {
namespace {

// Keys of a last-level TreeNode from which on a page takes less than its runs. Far above the number
// at which a page becomes a run again (prefix_tree_erase.cc).
constexpr uint64_t kPageKeysMin = 96;
// For a run, in M lookups/s at 16 M sparse keys: none 9.5, 4 9.6, 6 9.4, 8 10.8, 10 11.5, 12 9.2.
constexpr unsigned kLookupLines = 10;

// How many of the 64 bytes are below `limit` (up to 256).
unsigned CountBelow(const uint8_t* bytes, unsigned limit) {
  if (limit == 0) return 0;
#ifdef __SSE2__
  const __m128i last = _mm_set1_epi8(static_cast<char>(limit - 1));
  uint64_t below = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const __m128i some = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes) + i);
    const __m128i is = _mm_cmpeq_epi8(_mm_max_epu8(some, last), last);
    below |= uint64_t{static_cast<unsigned>(_mm_movemask_epi8(is))} << (16 * i);
  }
  return static_cast<unsigned>(std::popcount(below));
#else
  unsigned below = 0;
  for (unsigned i = 0; i < 64; ++i) below += bytes[i] < limit;
  return below;
#endif
}

// Keys of the runs below a TreeNode of the last level, whatever they count as.
uint64_t RunKeysBelow(TreeRef ref) {
  uint64_t keys = 0;
  for (Child child = NextChild(ref, 0); child.start < 256;
       child = NextChild(ref, child.start + 1)) {
    keys += child.ref().Keys();
  }
  return keys;
}

// Where to cut pairs in two: the byte at `shift` from which on they go to the upper part, so that
// the lower one is nearest to half of them; or, when keys come in order, to all, so that full runs
// stay behind. REQUIRES: two different bytes.
unsigned SplitByte(const Pair* pairs, unsigned count, unsigned shift, bool ascending) {
  static_assert(kRunPairsMax < 64);
  alignas(16) uint8_t bytes[64];
  for (unsigned i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(ByteAt(pairs[i].key, shift));
  if (ascending) return bytes[count - 1];
  // Bytes behind the last one are as high as any, and so never below the median.
  std::fill(bytes + count, std::end(bytes), uint8_t{255});
  const unsigned half = count / 2;
  unsigned median = 0;  // the highest byte with at most half of them below
  for (unsigned step = 128; step > 0; step /= 2) {
    median += CountBelow(bytes, median + step) <= half ? step : 0;
  }
  // Before the median's keys, or behind them.
  const unsigned below = CountBelow(bytes, median);
  const unsigned not_above = median == 255 ? count : CountBelow(bytes, median + 1);
  const bool behind = below == 0 || (not_above < count && not_above - half < half - below);
  return behind ? median + 1 : median;
}

}  // namespace

TreeRef PrefixTree::NewRun(const Pair* pairs, unsigned room, unsigned count) {
  const unsigned lines = RunLinesFor(room);
  void* block = AllocateRun(lines);
  return block == nullptr ? TreeRef() : WriteRun(block, lines, pairs, count);
}

TreeRef PrefixTree::Descend(uint64_t key, Path& path) const {
  TreeRef ref = root_;
  while (ref.IsTreeNode() && ref.PrefixMatches(key)) {
    path.nodes[path.depth++] = ref;
    ref = TreeRef(*SlotOf(ref, ref.Byte(key)));
  }
  return ref;
}

void PrefixTree::SetLink(Path& path, unsigned depth, uint64_t key, TreeRef ref) {
  if (depth == 0) {
    root_ = ref;
  } else {
    ReplaceChild(path.nodes[depth - 1], path.nodes[depth - 1].Byte(key), ref);
  }
  if (depth < path.depth) path.nodes[depth] = ref;
}

uint64_t* PrefixTree::Find(uint64_t key) const {
  TreeRef ref = root_;
  while (ref.IsTreeNode()) ref = TreeRef(*SlotOf(ref, ref.Byte(key)));
  if (ref.IsRun()) {
    // One key alone: what it may need comes side by side. A number that does not depend on the run,
    // since a branch on it is mispredicted; nearly all of the average run.
    const auto* block = static_cast<const char*>(ref.block());
    for (unsigned i = 0; i < kLookupLines; ++i) {
      __builtin_prefetch(block + i * base::kCacheLineBytes, 0, 3);
    }
    Pair* const pair = ref.run()->Find(key);
    return pair == nullptr ? nullptr : &pair->value;
  }
  if (ref.IsNone() || !ref.PrefixMatches(key)) return nullptr;
  const unsigned byte = ref.Byte(key);
  return internal::TestBit(ref.page()->bitmap, byte) ? &ref.page()->slots[byte] : nullptr;
}

UpsertResult PrefixTree::Upsert(uint64_t key, uint64_t value) {
  uint64_t* there;
  if (!InsertIfAbsent(key, value, there)) return UpsertResult::kNoMemory;
  if (there == nullptr) return UpsertResult::kInserted;
  *there = value;
  return UpsertResult::kReplaced;
}

bool PrefixTree::InsertIfAbsent(uint64_t key, uint64_t value, uint64_t*& there) {
  Path path;
  const TreeRef end = Descend(key, path);
  there = nullptr;
  if (end.IsRun()) {
    if (Pair* pair = end.run()->Find(key)) {
      there = &pair->value;
      return true;
    }
  } else if (end.IsPage() && end.PrefixMatches(key) &&
             internal::TestBit(end.page()->bitmap, end.Byte(key))) {
    there = &end.page()->slots[end.Byte(key)];
    return true;
  }
  if (!Insert(path, end, key, value)) return false;
  path.AddKeys(1);
  return true;
}

void PrefixTree::Reweigh(uint64_t key, int64_t by) {
  Path path;
  const TreeRef end = Descend(key, path);
  path.AddKeys(by);
  if (end.IsPage()) end.header()->keys = end.header()->keys + static_cast<uint64_t>(by);
}

uint64_t PrefixTree::RunWeight(TreeRef ref) const {
  uint64_t sum = 0;
  const Pair* const pairs = ref.run()->pairs();
  for (unsigned i = 0; i < ref.run()->count; ++i) sum += weight_(pairs[i].value);
  return sum;
}

uint64_t PrefixTree::PageKeys(const TreePage* page) const {
  if (weight_ == nullptr) return page->header.keys;
  uint64_t keys = 0;
  for (const uint64_t word : page->bitmap) keys += static_cast<unsigned>(std::popcount(word));
  return keys;
}

bool PrefixTree::Insert(Path& path, TreeRef end, uint64_t key, uint64_t value) {
  if (end.IsNone()) {
    const Pair pair{key, value};
    root_ = NewRun(&pair, 1, 1);
    return !root_.IsNone();
  }
  if (end.IsRun()) return InsertIntoRun(path, end, key, value);
  if (end.IsTreeNode() || !end.PrefixMatches(key)) return InsertBeside(path, end, key, value);
  TreePage* page = end.page();
  const unsigned byte = end.Byte(key);
  internal::SetBit(page->bitmap, byte);
  page->slots[byte] = value;
  page->header.keys = page->header.keys + 1;
  return true;
}

bool PrefixTree::InsertIntoRun(Path& path, TreeRef ref, uint64_t key, uint64_t value) {
  if (ref.run()->count == kRunPairsMax) return SplitRun(path, ref, key, value);
  if (ref.run()->count == ref.run()->capacity()) {
    const unsigned lines = RunLinesFor(ref.run()->count + 1u);
    void* block = AllocateRun(lines);
    if (block == nullptr) return false;
    const TreeRef grown = CopyRun(ref.run(), lines, block);
    Free(ref);
    SetLink(path, path.depth, key, grown);
    ref = grown;
  } else if (cache_->Scattered(ref.Bytes())) [[unlikely]] {
    ref = Gather(ref);
    SetLink(path, path.depth, key, ref);
  }
  ref.run()->Append(key, value);
  return true;
}

bool PrefixTree::SplitRun(Path& path, TreeRef ref, uint64_t key, uint64_t value) {
  TreeRun* run = ref.run();
  Pair all[kRunPairsMax + 1];
  const unsigned count = run->count + 1u;
  std::copy_n(run->pairs(), run->count, all);
  all[count - 1] = {key, value};
  const bool ascending = run->sorted == run->count && all[count - 2].key < key;
  uint64_t differences = 0;
  for (const Pair& pair : all) differences |= pair.key ^ key;
  const unsigned shift = ShiftOf(differences);
  const TreeRef parent = path.Last();
  const bool beside = !parent.IsNone() && shift == parent.shift();
  if (beside && shift == kShiftLast && parent.Keys() + 1 >= kPageKeysMin &&
      (weight_ == nullptr || RunKeysBelow(parent) + 1 >= kPageKeysMin)) {
    return MakePage(path, key, value);
  }
  const unsigned upper_start = SplitByte(all, count, shift, ascending);
  const auto is_upper = [&](const Pair& pair) { return ByteAt(pair.key, shift) >= upper_start; };
  unsigned upper_count = 0;
  for (const Pair& pair : all) upper_count += is_upper(pair);
  const TreeRef lower = NewRun(nullptr, count - upper_count, 0);
  const TreeRef upper = lower.IsNone() ? TreeRef() : NewRun(nullptr, upper_count, 0);
  bool done = false;
  if (upper.IsNone()) {
  } else if (beside) {
    done = AddChild(path, key, upper_start, upper);
    // `upper` has its interval; what is left of the run's own is the lower one's.
    if (done) ReplaceChild(path.Last(), upper_start - 1, lower);
  } else {
    done = PutOver(path, key, lower, upper, shift, upper_start);
    if (done) path.Last().header()->keys = KeysOf(ref);
  }
  if (!done) {
    if (!lower.IsNone()) Free(lower);
    if (!upper.IsNone()) Free(upper);
    return false;
  }
  // Without a branch on where a pair goes: it is a coin's toss.
  TreeRun* const halves[2] = {lower.run(), upper.run()};
  uint8_t* tags[2] = {halves[0]->tags(), halves[1]->tags()};
  Pair* pairs[2] = {halves[0]->pairs(), halves[1]->pairs()};
  for (const Pair& pair : all) {
    const bool half = is_upper(pair);
    *tags[half]++ = TagOf(pair.key);
    *pairs[half]++ = pair;
  }
  const unsigned counts[2] = {count - upper_count, upper_count};
  for (unsigned half = 0; half < 2; ++half) {
    halves[half]->count = static_cast<uint8_t>(counts[half]);
    halves[half]->sorted = static_cast<uint8_t>(ascending ? counts[half] : 1);
  }
  Free(ref);
  return true;
}

// Puts a new TreeNode with two children where the descent has come to; the path then ends in it.
bool PrefixTree::PutOver(Path& path, uint64_t key, TreeRef lower, TreeRef upper, unsigned shift,
                         unsigned upper_start) {
  void* block = Allocate(TreeNodeKind::k5);
  if (block == nullptr) return false;
  const TreeRef node = FormatTreeNode(block, TreeNodeKind::k5, shift, key);
  ChildList list;
  list.Add(0, lower);
  list.Add(upper_start, upper);
  WriteChildren(node, list);
  SetLink(path, path.depth, key, node);
  path.nodes[path.depth++] = node;
  return true;
}

// The TreeNode or page at the path's end has the place, not the prefix, of the key.
bool PrefixTree::InsertBeside(Path& path, TreeRef other, uint64_t key, uint64_t value) {
  const uint64_t prefix = other.header()->prefix;
  const unsigned shift = ShiftOf((prefix ^ key) & PrefixMask(other.shift()));
  const bool above = key > prefix;
  const TreeRef parent = path.Last();
  const bool at_parent = !parent.IsNone() && shift == parent.shift();
  if (at_parent) {
    // A neighbouring run takes bytes for which `other` has no keys.
    const unsigned others = parent.Byte(prefix);
    const unsigned start = ChildAt(parent, others).start;
    const Child neighbour = above ? NextChild(parent, start + 1) : PreviousChild(parent, start);
    if (neighbour.start < 256 && neighbour.ref().IsRun()) {
      const TreeRef run = neighbour.ref();
      MoveStart(parent, above ? neighbour.start : start, above ? others + 1 : others);
      return InsertIntoRun(path, run, key, value);
    }
  }
  const Pair pair{key, value};
  const TreeRef run = NewRun(&pair, 1, 1);
  if (run.IsNone()) return false;
  bool done = false;
  if (!at_parent) {
    done = PutOver(path, key, above ? other : run, above ? run : other, shift,
                   ByteAt(above ? key : prefix, shift));
    if (done) path.Last().header()->keys = other.Keys();
  } else if (above) {
    done = AddChild(path, key, parent.Byte(prefix) + 1, run);
  } else {
    done = AddChild(path, key, parent.Byte(prefix), other);
    if (done) ReplaceChild(path.Last(), path.Last().Byte(key), run);
  }
  if (!done) Free(run);
  return done;
}

// Adds a child to the path's last TreeNode, which may grow for it.
bool PrefixTree::AddChild(Path& path, uint64_t key, unsigned start, TreeRef child) {
  TreeRef node = path.Last();
  if (node.Children() == CapacityOf(node.kind())) {
    const TreeNodeKind kind = KindFor(node.Children() + 1);
    void* block = Allocate(kind);
    if (block == nullptr) return false;
    const TreeRef grown = CopyTreeNode(node, kind, block);
    Free(node);
    SetLink(path, path.depth - 1, key, grown);
    node = grown;
  } else if (cache_->Scattered(node.Bytes())) [[unlikely]] {
    node = Gather(node);
    SetLink(path, path.depth - 1, key, node);
  }
  InsertChild(node, start, child);
  return true;
}

// Turns the path's last TreeNode, of the last level, and its runs into a page, with the key.
bool PrefixTree::MakePage(Path& path, uint64_t key, uint64_t value) {
  void* block = Allocate(TreeNodeKind::kPage);
  if (block == nullptr) return false;
  const TreeRef node = path.Last();
  const TreeRef ref = FormatPage(block, key);
  TreePage* page = ref.page();
  const auto put = [&](const Pair& pair) {
    internal::SetBit(page->bitmap, ByteAt(pair.key, kShiftLast));
    page->slots[ByteAt(pair.key, kShiftLast)] = pair.value;
  };
  for (Child child = NextChild(node, 0); child.start < 256;
       child = NextChild(node, child.start + 1)) {
    TreeRun* run = child.ref().run();
    for (unsigned i = 0; i < run->count; ++i) put(run->pairs()[i]);
    Free(child.ref());
  }
  put({key, value});
  page->header.keys = node.Keys() + 1;
  --path.depth;
  SetLink(path, path.depth, key, ref);
  Free(node);
  return true;
}

TreeRef PrefixTree::Gather(TreeRef ref) {
  const size_t bytes = ref.Bytes();
  void* block = cache_->AllocateToMove(ref.block(), bytes);
  if (block == nullptr) return ref;
  std::memcpy(block, ref.block(), bytes);
  cache_->FreeMoved(ref.block(), bytes);
  return TreeRef::To(block, ref.kind(), ref.shift());
}

void PrefixTree::Clear() {
  FreeSubtree(root_);
  root_ = TreeRef();
}

void PrefixTree::FreeSubtree(TreeRef ref) {
  if (ref.IsNone()) return;
  if (ref.IsTreeNode()) {
    for (Child child = NextChild(ref, 0); child.start < 256;
         child = NextChild(ref, child.start + 1)) {
      FreeSubtree(child.ref());
    }
  }
  Free(ref);
}

void PrefixTree::Swap(PrefixTree& other) {
  ERIS_CHECK(cache_ == other.cache_);
  ERIS_CHECK(weight_ == other.weight_);
  std::swap(root_, other.root_);
}

}  // namespace eris::storage
