// FreeRows: frees a tree from its low end, without searching a key and without memory.
#include <algorithm>
#include <cstdint>

#include "storage/tree/prefix_tree.h"

namespace eris::storage {
namespace {

// Values may refer to long memory: this many are freed before the limit is checked again.
constexpr uint32_t kValuesAtOnce = 4;

// About the number of rows of a run or a page: without values to read, a run that is freed need not
// be read.
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
    if (free_values == nullptr) {
      rows_left -= RowsAbout(ref);
    } else if (FreeValuesOf(ref, rows_left, free_values)) {
      return ref;
    }
    Free(ref);
    return TreeRef();
  }
  Child child = NextChild(ref, 0);
  while (child.start < 256 && rows_left > 0) {
    // The rest of a child is the child itself.
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

bool PrefixTree::FreeValuesOf(TreeRef ref, int64_t& rows_left, FreeValues free_values) {
  uint64_t values[256];
  uint8_t bytes[256];  // of the page's values
  uint32_t count = 0;
  if (ref.IsRun()) {
    for (; count < ref.run()->count; ++count) values[count] = ref.run()->pairs()[count].value;
  } else {
    for (unsigned byte = internal::NextBit(ref.page()->bitmap, 0); byte < 256;
         byte = internal::NextBit(ref.page()->bitmap, byte + 1)) {
      bytes[count] = static_cast<uint8_t>(byte);
      values[count++] = ref.page()->slots[byte];
    }
  }
  // From the end, so that the remaining values need not move.
  while (count > 0 && rows_left > 0) {
    const uint32_t some = std::min(count, kValuesAtOnce);
    count -= some;
    rows_left -= static_cast<int64_t>(free_values(*cache_, values + count, some));
    if (ref.IsRun()) continue;
    for (uint32_t i = count; i < count + some; ++i) {
      internal::ClearBit(ref.page()->bitmap, bytes[i]);
    }
  }
  if (ref.IsRun()) ref.run()->DropLast(count);
  return count > 0;
}

}  // namespace eris::storage
