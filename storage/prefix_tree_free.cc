// FreeRows: takes a tree apart from its low end, without a key looked for and without memory.
#include <cstdint>
#include <limits>

#include "storage/prefix_tree.h"

namespace eris::storage {
namespace {

// Rows of a run or a page, about: without their values to look at, a run that is freed need not be
// read.
int64_t RowsAbout(TreeRef ref) {
  return ref.IsRun() ? RunCapacity(ref.lines()) : static_cast<int64_t>(ref.Keys());
}

}  // namespace

int64_t PrefixTree::FreeRows(int64_t rows_max, FreeValues free_values) {
  if (!root_.IsNone()) root_ = FreePart(root_, rows_max, free_values);
  return rows_max;
}

TreeRef PrefixTree::FreePart(TreeRef ref, int64_t& rows_left, FreeValues free_values) {
  if (!ref.IsTreeNode()) {
    rows_left -= free_values == nullptr ? RowsAbout(ref) : FreeValuesOf(ref, free_values);
    Free(ref);
    return TreeRef();
  }
  Child child = NextChild(ref, 0);
  while (child.start < 256 && rows_left > 0) {
    // What is left of a child is itself.
    if (!FreePart(child.ref(), rows_left, free_values).IsNone()) break;
    child = NextChild(ref, child.start + 1);
  }
  if (child.start == 256) {
    Free(ref);
    return TreeRef();
  }
  ChildList rest;
  rest.AddFrom(ref, child.start, 256);
  WriteChildren(ref, rest);
  return ref;
}

int64_t PrefixTree::FreeValuesOf(TreeRef ref, FreeValues free_values) {
  uint64_t values[256];
  uint32_t count = 0;
  if (ref.IsRun()) {
    for (; count < ref.run()->count; ++count) values[count] = ref.run()->pairs()[count].value;
  } else {
    for (unsigned byte = internal::NextBit(ref.page()->bitmap, 0); byte < 256;
         byte = internal::NextBit(ref.page()->bitmap, byte + 1)) {
      values[count++] = ref.page()->slots[byte];
    }
  }
  return static_cast<int64_t>(free_values(*cache_, values, count));
}

}  // namespace eris::storage
