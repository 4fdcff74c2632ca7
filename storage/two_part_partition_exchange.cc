// How ranges of a TwoPartPartition change hands: by first parts, groups whole.
#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/range_ops.h"
#include "storage/tree_scanner.h"
#include "storage/two_part_partition.h"

namespace eris::storage {
namespace {

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kWordsPerRun = 256;

// The groups at the low end of a partition, and their rows.
struct LowGroups {
  std::vector<uint64_t> firsts;
  std::vector<uint64_t> words;
  uint64_t rows = 0;
};

// As many as have no more than rows_max rows together, or one (with rows_max 0 none).
void TakeLow(const PrefixTree& firsts, uint64_t rows_max, LowGroups& out) {
  uint64_t keys[kWordsPerRun];
  uint64_t words[kWordsPerRun];
  TreeScanner scanner(firsts, 0);
  uint32_t read = kWordsPerRun;
  while (out.rows < rows_max && read == kWordsPerRun) {
    read = scanner.Read(kLast, keys, words, kWordsPerRun);
    for (uint32_t i = 0; i < read; ++i) {
      const uint64_t rows = GroupRows(words[i]);
      if (out.rows > 0 && out.rows + rows > rows_max) return;
      out.firsts.push_back(keys[i]);
      out.words.push_back(words[i]);
      out.rows += rows;
    }
  }
}

// To the columns from `at` on.
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
    const uint32_t rows = scanner.Read(kLast, seconds, values, wanted);
    ERIS_CHECK(rows == wanted);
    seconds += rows;
    values += rows;
    left -= rows;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Partition>> TwoPartPartition::SplitAt(const Key& key) {
  if (absl::Status status = CheckWidth(key); !status.ok()) return status;
  if (key <= range_.lo || !range_.Contains(key)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot split ", Text(range_), " at ", key.head));
  }
  absl::StatusOr<std::unique_ptr<TwoPartPartition>> upper = Create(Range{key, range_.hi}, cache());
  if (!upper.ok()) return upper.status();
  if (!firsts_.SplitAt(key.head, (*upper)->firsts_)) return NoMemory("split a partition");
  range_.hi = key;
  return std::unique_ptr<Partition>(*std::move(upper));
}

absl::Status TwoPartPartition::Absorb(Partition& other) {
  auto* rows = dynamic_cast<TwoPartPartition*>(&other);
  if (rows == nullptr) return absl::InvalidArgumentError("not a partition of two-part keys");
  if (rows == this) return absl::InvalidArgumentError("a partition cannot absorb itself");
  if (!Adjacent(rows->range_, range_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(rows->range_), " is not adjacent to ", Text(range_)));
  }
  if (&rows->cache() != &cache()) {
    return absl::InvalidArgumentError("the partitions have different caches");
  }
  if (!firsts_.Absorb(rows->firsts_)) return NoMemory("absorb a partition");
  Widen(range_, rows->range_);
  MakeEmpty(rows->range_);
  return absl::OkStatus();
}

absl::Status TwoPartPartition::PrepareExtract(const Range& leaving) {
  if (absl::Status status = CheckWidth(leaving); !status.ok()) return status;
  if (leaving.lo == range_.lo && !leaving.Empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the rows of an index leave from the low end of ", Text(range_), ", not as ", Text(leaving)));
}

absl::Status TwoPartPartition::Extract(uint32_t rows_max, ExchangeChunk& out) {
  ExchangeChunk chunk;
  LowGroups low;
  try {  // the copy stands on the general heap, whose only word for "no" is an exception
    TakeLow(firsts_, rows_max, low);
    chunk.keys.reserve(low.rows);
    chunk.seconds.resize(low.rows);
    chunk.values.resize(low.rows);
  } catch (const std::bad_alloc&) {
    return NoMemory(absl::StrCat("extract ", rows_max, " rows"));
  }
  for (size_t i = 0; i < low.words.size(); ++i) {
    const size_t at = chunk.keys.size();
    CopyRows(cache(), low.words[i], chunk.seconds.data() + at, chunk.values.data() + at);
    chunk.keys.insert(chunk.keys.end(), GroupRows(low.words[i]), low.firsts[i]);
  }
  chunk.covers = range_;
  if (low.rows == size()) {
    firsts_.Clear();
    MakeEmpty(range_);
  } else {
    // More rows follow, so the last first part of the chunk is not the last one there is.
    const uint64_t cut = low.rows == 0 ? range_.lo.head : low.firsts.back() + 1;
    DropBelow(cut, low.firsts);
    chunk.covers.hi = Key::FromU64(cut);
    range_.lo = Key::FromU64(cut);
  }
  for (const uint64_t word : low.words) FreeGroup(cache(), word);
  out = std::move(chunk);
  return absl::OkStatus();
}

void TwoPartPartition::DropBelow(uint64_t cut, const std::vector<uint64_t>& firsts) {
  PrefixTree rest(cache(), firsts_.weight());
  if (firsts_.SplitAt(cut, rest)) {
    firsts_.Swap(rest);  // the end of `rest` frees the words
    return;
  }
  for (const uint64_t first : firsts) {
    const std::optional<uint64_t> word = firsts_.Lookup(first);
    firsts_.Reweigh(first, 1 - static_cast<int64_t>(GroupRows(*word)));
    firsts_.Erase(first);
  }
}

absl::Status TwoPartPartition::Ingest(const ExchangeChunk& chunk) {
  if (absl::Status status = CheckChunk(chunk, /*two_parts=*/true); !status.ok()) return status;
  if (!Adjacent(chunk.covers, range_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk ", Text(chunk.covers), " is not adjacent to ", Text(range_)));
  }
  std::vector<uint64_t> firsts;
  std::vector<uint64_t> words;
  const size_t count = chunk.keys.size();
  const auto make = [&] {
    try {
      for (size_t at = 0; at < count;) {
        size_t end = at + 1;
        while (end < count && chunk.keys[end] == chunk.keys[at]) ++end;
        firsts.push_back(chunk.keys[at]);
        words.push_back(0);  // before the group, so that none is lost
        words.back() = NewGroup(cache(), &chunk.seconds[at], &chunk.values[at], end - at);
        if (words.back() == 0) return false;
        at = end;
      }
    } catch (const std::bad_alloc&) {
      return false;
    }
    PrefixTree rows(cache(), firsts_.weight());
    return rows.Build(firsts.data(), words.data(), firsts.size()) && firsts_.Absorb(rows);
  };
  if (!make()) {
    for (const uint64_t word : words) {
      if (word != 0) FreeGroup(cache(), word);
    }
    return NoMemory(absl::StrCat("ingest ", count, " rows"));
  }
  Widen(range_, chunk.covers);
  return absl::OkStatus();
}

void TwoPartPartition::FreeGroups() {
  uint64_t firsts[kWordsPerRun];
  uint64_t words[kWordsPerRun];
  TreeScanner scanner(firsts_, 0);
  uint32_t read;
  do {
    read = scanner.Read(kLast, firsts, words, kWordsPerRun);
    for (uint32_t i = 0; i < read; ++i) FreeGroup(cache(), words[i]);
  } while (read == kWordsPerRun);
}

}  // namespace eris::storage
