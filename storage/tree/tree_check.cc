#include "storage/tree/tree_check.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/tree/tree_node.h"
#include "storage/tree/tree_run.h"

namespace eris::storage {
namespace {

// The keys that are allowed at a place of the tree.
struct Interval {
  uint64_t first = 0;
  uint64_t last = ~uint64_t{0};
  bool Has(uint64_t key) const { return first <= key && key <= last; }
};

absl::Status Fault(TreeRef ref, absl::string_view what) {
  return absl::InternalError(
      absl::StrCat("TreeNode of ", CapacityOf(ref.kind()), " at shift ", ref.shift(),
                   " with prefix ", absl::Hex(ref.header()->prefix, absl::kZeroPad16), ": ", what));
}

absl::Status RunFault(TreeRef ref, absl::string_view what) {
  return absl::InternalError(absl::StrCat(
      "run of ", int{ref.run()->count}, " pairs in ", ref.lines(), " lines, the first key ",
      absl::Hex(ref.run()->pairs()[0].key, absl::kZeroPad16), ": ", what));
}

absl::Status CheckRun(TreeRef ref, const Interval& interval) {
  TreeRun* run = ref.run();
  if (ref.lines() < 1 || ref.lines() > kRunLinesMax || run->lines != ref.lines()) {
    return RunFault(ref, absl::StrCat(int{run->lines}, " lines in its header"));
  }
  if (run->count < 1 || run->count > run->capacity()) return RunFault(ref, "too many or none");
  if (run->sorted > run->count) return RunFault(ref, "more sorted than there are");
  for (unsigned i = 0; i < run->count; ++i) {
    const Pair& pair = run->pairs()[i];
    if (!interval.Has(pair.key)) {
      return RunFault(ref, absl::StrCat("key ", absl::Hex(pair.key, absl::kZeroPad16),
                                        " lies outside its interval"));
    }
    if (run->tags()[i] != TagOf(pair.key)) return RunFault(ref, absl::StrCat("tag ", i));
    if (i > 0 && i < run->sorted && run->pairs()[i - 1].key >= pair.key) {
      return RunFault(ref, absl::StrCat("not sorted at ", i));
    }
    if (run->Find(pair.key) != &pair) return RunFault(ref, absl::StrCat("key twice at ", i));
  }
  return absl::OkStatus();
}

absl::Status CheckPage(const PrefixTree& tree, TreeRef ref, const Interval& interval) {
  const TreePage* page = ref.page();
  if (ref.shift() != kShiftLast) return Fault(ref, "a page above the last level");
  if ((page->header.prefix & 0xff) != 0) return Fault(ref, "bits below the prefix");
  uint64_t keys = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!internal::TestBit(page->bitmap, byte)) continue;
    keys += tree.WeightOf(page->slots[byte]);
    if (!interval.Has(page->header.prefix | byte)) {
      return Fault(ref, absl::StrCat("byte ", byte, " lies outside its interval"));
    }
  }
  if (keys == 0 || keys != page->header.keys) {
    const uint64_t counted = page->header.keys;
    return Fault(ref, absl::StrCat(keys, " keys seen, ", counted, " counted"));
  }
  return absl::OkStatus();
}

absl::Status CheckTreeNode(const PrefixTree& tree, TreeRef ref, const Interval& interval);

absl::Status CheckRef(const PrefixTree& tree, TreeRef ref, const Interval& interval) {
  if (ref.IsRun()) return CheckRun(ref, interval);
  if (ref.IsPage()) return CheckPage(tree, ref, interval);
  return CheckTreeNode(tree, ref, interval);
}

absl::Status CheckTreeNode(const PrefixTree& tree, TreeRef ref, const Interval& interval) {
  const unsigned children = ref.Children();
  if (children < 2 || children > CapacityOf(ref.kind())) {
    return Fault(ref, absl::StrCat(children, " children"));
  }
  const uint64_t prefix = ref.header()->prefix;
  if ((prefix & ~PrefixMask(ref.shift())) != 0) return Fault(ref, "bits below the prefix");
  unsigned children_seen = 0;
  uint64_t keys_seen = 0;
  for (Child child = NextChild(ref, 0); child.start < 256;) {
    if (children_seen == 0 && child.start != 0) return Fault(ref, "the first start is not 0");
    if (++children_seen > children) return Fault(ref, "more children than counted");
    const Child next = NextChild(ref, child.start + 1);
    if (next.start <= child.start) return Fault(ref, "starts do not ascend");
    const unsigned last_byte = next.start - 1;
    for (unsigned byte = child.start; byte <= last_byte; ++byte) {
      if (*SlotOf(ref, byte) != *child.slot) {
        return Fault(ref, absl::StrCat("byte ", byte, " does not lead to its child"));
      }
    }
    const TreeRef below = child.ref();
    if (below.kind() == TreeNodeKind::kNone || below.kind() > TreeNodeKind::k256) {
      return Fault(ref, absl::StrCat("no reference at byte ", child.start));
    }
    Interval part{prefix | uint64_t{child.start} << ref.shift(),
                  prefix | uint64_t{last_byte} << ref.shift() | ~(~uint64_t{0} << ref.shift())};
    if (!below.IsRun()) {
      if (below.shift() >= ref.shift()) {
        return Fault(ref, absl::StrCat("shift does not fall at byte ", child.start));
      }
      const uint64_t byte = below.header()->prefix >> ref.shift() << ref.shift();
      if (!part.Has(below.header()->prefix)) {
        return Fault(ref, absl::StrCat("child at byte ", child.start, " has prefix ",
                                       absl::Hex(below.header()->prefix, absl::kZeroPad16)));
      }
      part = {byte, byte | ~(~uint64_t{0} << ref.shift())};
    }
    part.first = std::max(part.first, interval.first);
    part.last = std::min(part.last, interval.last);
    ERIS_RETURN_IF_ERROR(CheckRef(tree, below, part));
    keys_seen += tree.KeysOf(below);
    child = next;
  }
  if (children_seen != children) {
    return Fault(ref, absl::StrCat(children_seen, " children seen, ", children, " counted"));
  }
  if (keys_seen != ref.header()->keys) {
    const uint64_t counted = ref.header()->keys;
    return Fault(ref, absl::StrCat(keys_seen, " keys seen, ", counted, " counted"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTree(const PrefixTree& tree) {
  return tree.root().IsNone() ? absl::OkStatus() : CheckRef(tree, tree.root(), {});
}

}  // namespace eris::storage
