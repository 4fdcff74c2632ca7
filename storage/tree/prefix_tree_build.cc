// Build: makes a tree of ascending keys, bottom up, with full runs, and writes each block once.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "storage/tree/prefix_tree.h"

namespace eris::storage {
namespace {

// Leaves room, so that the next insert does not split a run.
constexpr size_t kBuiltPairs = RunCapacity(SmallerRunLines(kRunLinesMax));
// From this number of keys in a last-level TreeNode on, a page takes no more memory than runs.
constexpr size_t kBuiltPageKeys = 120;

}  // namespace

bool PrefixTree::Build(const uint64_t* keys, const uint64_t* values, size_t count) {
  ERIS_CHECK(empty());
  if (count == 0) return true;
  root_ = BuildPart(keys, values, count);
  return !root_.IsNone();
}

uint64_t PrefixTree::WeightOf(const uint64_t* values, size_t count) const {
  if (weight_ == nullptr) return count;
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += weight_(values[i]);
  return sum;
}

// None if there is no memory; then everything has been freed.
TreeRef PrefixTree::BuildPart(const uint64_t* keys, const uint64_t* values, size_t count) {
  if (count <= kBuiltPairs) return BuildRun(keys, values, count);
  const unsigned shift = ShiftOf(keys[0] ^ keys[count - 1]);
  if (shift == kShiftLast && count >= kBuiltPageKeys) return BuildPage(keys, values, count);

  // The keys of one byte stay together: in a run with their neighbours or, if there are too many,
  // in a part of their own.
  ChildList list;
  uint64_t in_run = 0;  // keys before `at` that are not in a run
  size_t at = 0;
  bool enough = true;
  const auto end_run = [&] {
    if (in_run == 0 || !enough) return;
    const size_t first = at - in_run;
    const TreeRef run = BuildRun(keys + first, values + first, in_run);
    enough = !run.IsNone();
    if (enough) list.Add(ByteAt(keys[first], shift), run);
    in_run = 0;
  };
  while (at < count && enough) {
    const unsigned byte = ByteAt(keys[at], shift);
    size_t end = at + 1;
    while (end < count && ByteAt(keys[end], shift) == byte) ++end;
    const size_t same = end - at;
    if (in_run + same > kBuiltPairs) end_run();
    if (same <= kBuiltPairs) {
      in_run += same;
    } else if (enough) {
      const TreeRef part = BuildPart(keys + at, values + at, same);
      enough = !part.IsNone();
      if (enough) list.Add(byte, part);
    }
    at = end;
  }
  end_run();
  void* block = nullptr;
  const TreeNodeKind kind = KindFor(list.count);
  if (enough) block = Allocate(kind);
  if (block == nullptr) {
    for (unsigned i = 0; i < list.count; ++i) FreeSubtree(TreeRef(list.words[i]));
    return TreeRef();
  }
  const TreeRef node = FormatTreeNode(block, kind, shift, keys[0]);
  WriteChildren(node, list);
  node.header()->keys = WeightOf(values, count);
  return node;
}

TreeRef PrefixTree::BuildRun(const uint64_t* keys, const uint64_t* values, size_t count) {
  Pair pairs[kRunPairsMax];
  for (size_t i = 0; i < count; ++i) pairs[i] = {keys[i], values[i]};
  return NewRun(pairs, static_cast<unsigned>(count), static_cast<unsigned>(count));
}

TreeRef PrefixTree::BuildPage(const uint64_t* keys, const uint64_t* values, size_t count) {
  void* block = Allocate(TreeNodeKind::kPage);
  if (block == nullptr) return TreeRef();
  const TreeRef ref = FormatPage(block, keys[0]);
  for (size_t i = 0; i < count; ++i) {
    internal::SetBit(ref.page()->bitmap, ByteAt(keys[i], kShiftLast));
    ref.page()->slots[ByteAt(keys[i], kShiftLast)] = values[i];
  }
  ref.page()->header.keys = WeightOf(values, count);
  return ref;
}

}  // namespace eris::storage
