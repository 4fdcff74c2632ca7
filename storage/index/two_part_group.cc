#include "storage/index/two_part_group.h"

#include <algorithm>
#include <limits>

#include "memory/size_class.h"
#include "storage/tree/tree_count.h"
#include "storage/tree/tree_scanner.h"

namespace eris::storage {
namespace {

constexpr uint64_t kLastOfGroup = std::numeric_limits<uint64_t>::max();

constexpr bool BlocksFillTheirClass() {
  for (unsigned capacity = 1; capacity <= kGroupBlockRowsMax; ++capacity) {
    const size_t bytes = TwoPartGroup::BytesFor(capacity);
    if (memory::SizeClassBytes(memory::SizeClassOf(bytes)) != bytes) return false;
  }
  return true;
}
static_assert(BlocksFillTheirClass());

// A block with room for exactly `rows`; none (0) if there is no memory.
TwoPartGroup NewBlock(memory::LocalCache& cache, unsigned rows) {
  void* const block = cache.Allocate(TwoPartGroup::BytesFor(rows));
  return block == nullptr ? TwoPartGroup(0) : TwoPartGroup::OfBlock(block, rows, rows);
}

void FreeBlock(memory::LocalCache& cache, TwoPartGroup group) {
  cache.Free(group.seconds(), group.Bytes());
}

// Copies both columns, with a new row at `at`. A loop, because for most blocks a call of memmove
// would take longer.
void CopyWith(TwoPartGroup from, unsigned at, uint64_t second, uint64_t value, uint64_t* seconds,
              uint64_t* values) {
  const unsigned rows = from.rows();
  for (unsigned i = 0; i < rows; ++i) {
    const unsigned to = i + (i >= at);
    seconds[to] = from.seconds()[i];
    values[to] = from.values()[i];
  }
  seconds[at] = second;
  values[at] = value;
}

bool AddToBlock(memory::LocalCache& cache, uint64_t& word, uint64_t second, uint64_t value) {
  const TwoPartGroup group(word);
  const unsigned rows = group.rows();
  const unsigned at = group.LowerBound(second);
  if (rows < group.capacity()) {  // an earlier shrink had failed
    uint64_t* const seconds = group.seconds();
    uint64_t* const values = group.values();
    std::copy_backward(seconds + at, seconds + rows, seconds + rows + 1);
    std::copy_backward(values + at, values + rows, values + rows + 1);
    seconds[at] = second;
    values[at] = value;
    word = TwoPartGroup::OfBlock(seconds, rows + 1, group.capacity()).word();
    return true;
  }
  TwoPartGroup grown(0);
  if (rows < kGroupBlockRowsMax) {
    grown = NewBlock(cache, rows + 1);
    if (grown.IsNone()) return false;
    CopyWith(group, at, second, value, grown.seconds(), grown.values());
  } else {
    uint64_t seconds[kGroupBlockRowsMax + 1];
    uint64_t values[kGroupBlockRowsMax + 1];
    CopyWith(group, at, second, value, seconds, values);
    grown = TwoPartGroup(NewGroup(cache, seconds, values, rows + 1));
    if (grown.IsNone()) return false;
  }
  FreeBlock(cache, group);
  word = grown.word();
  return true;
}

bool EraseFromBlock(memory::LocalCache& cache, uint64_t& word, uint64_t second) {
  const TwoPartGroup group(word);
  const unsigned rows = group.rows();
  const unsigned at = group.LowerBound(second);
  if (at == rows || group.seconds()[at] != second) return false;
  if (rows == 1) {
    FreeBlock(cache, group);
    word = 0;
    return true;
  }
  TwoPartGroup shrunk = NewBlock(cache, rows - 1);
  const bool moves = !shrunk.IsNone();
  if (!moves) shrunk = TwoPartGroup::OfBlock(group.seconds(), rows - 1, group.capacity());
  for (const auto& [from, to] :
       {std::pair(group.seconds(), shrunk.seconds()), std::pair(group.values(), shrunk.values())}) {
    if (moves) std::copy_n(from, at, to);
    std::copy(from + at + 1, from + rows, to + at);
  }
  if (moves) FreeBlock(cache, group);
  word = shrunk.word();
  return true;
}

// If there is memory for it.
void MakeBlock(memory::LocalCache& cache, uint64_t& word) {
  const auto rows = static_cast<unsigned>(TwoPartGroup(word).Rows());
  const TwoPartGroup block = NewBlock(cache, rows);
  if (block.IsNone()) return;
  {
    GroupTree tree(cache, word);
    TreeScanner(*tree, 0).Read(kLastOfGroup, block.seconds(), block.values(), rows);
    tree->Clear();
  }
  word = block.word();
}

}  // namespace

uint64_t NewGroup(memory::LocalCache& cache, const uint64_t* seconds, const uint64_t* values,
                  size_t count) {
  uint64_t word = 0;
  if (count <= kGroupBlockRowsMax) {
    const TwoPartGroup block = NewBlock(cache, static_cast<unsigned>(count));
    if (block.IsNone()) return 0;
    std::copy_n(seconds, count, block.seconds());
    std::copy_n(values, count, block.values());
    return block.word();
  }
  GroupTree tree(cache, word);
  return tree->Build(seconds, values, count) ? tree->Release().word() : 0;
}

void FreeGroup(memory::LocalCache& cache, uint64_t word) {
  const TwoPartGroup group(word);
  if (group.IsBlock()) {
    FreeBlock(cache, group);
  } else {
    GroupTree(cache, word)->Clear();
  }
}

uint64_t FreeGroups(memory::LocalCache& cache, const uint64_t* words, uint32_t count) {
  uint64_t rows = 0;
  for (uint32_t i = 0; i < count; ++i) {
    rows += GroupRows(words[i]);
    FreeGroup(cache, words[i]);
  }
  return rows;
}

bool BringGroup(memory::LocalCache& cache, uint64_t& word, HomeWork& work) {
  const TwoPartGroup group(word);
  if (group.IsBlock()) {
    const void* const block = work.Move(cache, group.seconds(), group.Bytes());
    word = TwoPartGroup::OfBlock(block, group.rows(), group.capacity()).word();
    work.next_second = 0;
    return true;
  }
  HomeWork inside = work;
  inside.next_key = work.next_second;
  inside.next_second = 0;
  inside.resumes = work.next_second > 0;
  const bool complete = GroupTree(cache, word)->BringHome(inside);
  work.bytes_left = inside.bytes_left;
  work.moved_bytes = inside.moved_bytes;
  work.refused = inside.refused;
  work.spilled_stays = inside.spilled_stays;
  work.next_second = complete ? 0 : inside.next_key;
  return complete;
}

uint64_t* FindRow(memory::LocalCache& cache, uint64_t word, uint64_t second) {
  const TwoPartGroup group(word);
  if (group.IsBlock()) return group.FindInBlock(second);
  uint64_t* value = nullptr;
  GroupTree(cache, word)->FindGroup(&second, 1, &value);
  return value;
}

bool AddRow(memory::LocalCache& cache, uint64_t& word, uint64_t second, uint64_t value) {
  if (TwoPartGroup(word).IsBlock()) return AddToBlock(cache, word, second, value);
  return GroupTree(cache, word)->Upsert(second, value) == UpsertResult::kInserted;
}

bool EraseRow(memory::LocalCache& cache, uint64_t& word, uint64_t second) {
  if (TwoPartGroup(word).IsBlock()) return EraseFromBlock(cache, word, second);
  if (!GroupTree(cache, word)->Erase(second)) return false;
  if (word != 0 && TwoPartGroup(word).Rows() <= kGroupTreeRowsLeft) MakeBlock(cache, word);
  return true;
}

uint64_t CountRows(memory::LocalCache& cache, uint64_t word, uint64_t first, uint64_t last) {
  const TwoPartGroup group(word);
  if (!group.IsBlock()) return CountKeys(*GroupTree(cache, word), first, last);
  return (last == kLastOfGroup ? group.rows() : group.LowerBound(last + 1)) -
         group.LowerBound(first);
}

}  // namespace eris::storage
