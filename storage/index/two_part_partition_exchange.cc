// Moving ranges of a TwoPartPartition: by first parts, whole groups.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "storage/index/two_part_partition.h"
#include "storage/range_ops.h"
#include "storage/scan.h"
#include "storage/tree/tree_count.h"
#include "storage/tree/tree_scanner.h"

namespace eris::storage {
namespace {

constexpr uint64_t kSecondsEnd = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kWordsPerRun = 256;

// The groups at one end of a partition, and their rows.
struct EndGroups {
  std::vector<uint64_t> firsts;  // ascending
  std::vector<uint64_t> words;
  uint64_t rows = 0;
};

// The groups from the first part `from` on to `to`, in the order of the scan: as many as have at
// most rows_max rows together, but at least one (none if rows_max is 0).
template <ScanDirection kDirection>
void TakeGroups(const PrefixTree& firsts, uint64_t from, uint64_t to, uint64_t rows_max,
                EndGroups& out) {
  uint64_t keys[kWordsPerRun];
  uint64_t words[kWordsPerRun];
  BasicTreeScanner<kDirection> scanner(firsts, from);
  uint32_t read = kWordsPerRun;
  while (out.rows < rows_max && read == kWordsPerRun) {
    read = scanner.Read(to, keys, words, kWordsPerRun);
    for (uint32_t i = 0; i < read; ++i) {
      const uint64_t rows = GroupRows(words[i]);
      if (out.rows > 0 && out.rows + rows > rows_max) return;
      out.firsts.push_back(keys[i]);
      out.words.push_back(words[i]);
      out.rows += rows;
    }
  }
}

EndGroups TakeEnd(const PrefixTree& firsts, const Range& leaving, Partition::End from,
                  uint64_t rows_max) {
  EndGroups groups;
  const uint64_t first = leaving.lo.head;
  const uint64_t last = LastFirstPartOf(leaving);
  if (from == Partition::End::kLow) {
    TakeGroups<ScanDirection::kForward>(firsts, first, last, rows_max, groups);
  } else {
    TakeGroups<ScanDirection::kBackward>(firsts, last, first, rows_max, groups);
    std::reverse(groups.firsts.begin(), groups.firsts.end());
    std::reverse(groups.words.begin(), groups.words.end());
  }
  return groups;
}

// Copies to the columns, from `at` on.
void CopyRows(memory::LocalCache& cache, uint64_t word, uint64_t* seconds, uint64_t* values) {
  const TwoPartGroup group(word);
  uint64_t left = group.Rows();
  if (group.IsBlock()) {
    std::copy_n(group.seconds(), left, seconds);
    std::copy_n(group.values(), left, values);
    return;
  }
  GroupTree tree(cache, word);
  TreeScanner scanner(*tree, 0);
  while (left > 0) {
    const auto wanted = static_cast<uint32_t>(std::min<uint64_t>(left, 1u << 30));
    const uint32_t rows = scanner.Read(kSecondsEnd, seconds, values, wanted);
    ERIS_CHECK(rows == wanted);
    seconds += rows;
    values += rows;
    left -= rows;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<OrderedPartition>> TwoPartPartition::SplitAt(const Key& key) {
  absl::StatusOr<std::unique_ptr<TwoPartPartition>> upper = Create(Range{key, key}, cache());
  if (!upper.ok()) return upper.status();
  ERIS_RETURN_IF_ERROR(firsts_.SplitAt(key, (*upper)->firsts_));
  return std::unique_ptr<OrderedPartition>(*std::move(upper));
}

absl::Status TwoPartPartition::Absorb(OrderedPartition& other) {
  auto* rows = dynamic_cast<TwoPartPartition*>(&other);
  if (rows == nullptr) return absl::InvalidArgumentError("not a partition of two-part keys");
  return firsts_.Absorb(rows->firsts_);
}

absl::Status TwoPartPartition::Lend(const Range& leaving, End from, const ChunkLimit& limit,
                                    ExchangeChunk& out) {
  ERIS_RETURN_IF_ERROR(firsts_.CanLend(leaving, from));
  out.ClearExtras();
  EndGroups groups;
  try {  // the copy is on the general heap, which reports "no memory" by an exception
    if (!leaving.Empty()) groups = TakeEnd(tree(), leaving, from, limit.rows);
    out.keys.resize(groups.rows);
    out.seconds.resize(groups.rows);
    out.values.resize(groups.rows);
  } catch (const std::bad_alloc&) {
    return NoMemory(absl::StrCat("lend ", limit.rows, " rows"));
  }
  firsts_.Settle();  // now that nothing can be refused any more
  size_t at = 0;
  for (size_t i = 0; i < groups.words.size(); ++i) {
    const uint64_t rows = GroupRows(groups.words[i]);
    CopyRows(cache(), groups.words[i], out.seconds.data() + at, out.values.data() + at);
    std::fill_n(out.keys.begin() + static_cast<ptrdiff_t>(at), rows, groups.firsts[i]);
    at += rows;
  }
  const uint64_t all =
      leaving.Empty() ? 0 : CountKeys(tree(), leaving.lo.head, LastFirstPartOf(leaving));
  out.covers = ChunkRange(leaving, from, groups.rows == all, out.keys);
  firsts_.Hide(out.covers, from, groups.rows);
  return absl::OkStatus();
}

absl::Status TwoPartPartition::Ingest(const ExchangeChunk& chunk) {
  ERIS_RETURN_IF_ERROR(CheckChunk(chunk, /*two_parts=*/true));
  std::vector<uint64_t> firsts;
  std::vector<uint64_t> words;
  const size_t count = chunk.keys.size();
  const absl::Status status = firsts_.Ingest(chunk.covers, count, [&](PrefixTree& rows) {
    try {
      for (size_t at = 0; at < count;) {
        size_t end = at + 1;
        while (end < count && chunk.keys[end] == chunk.keys[at]) ++end;
        firsts.push_back(chunk.keys[at]);
        words.push_back(0);  // before the group is made, so that none is lost
        words.back() = NewGroup(cache(), &chunk.seconds[at], &chunk.values[at], end - at);
        if (words.back() == 0) return false;
        at = end;
      }
    } catch (const std::bad_alloc&) {
      return false;
    }
    return rows.Build(firsts.data(), words.data(), firsts.size());
  });
  if (!status.ok()) {
    for (const uint64_t word : words) {
      if (word != 0) FreeGroup(cache(), word);
    }
  }
  return status;
}

}  // namespace eris::storage
