// Sorts the rows of an EnvelopeList, in steps, and hands out their numbers in order. With a limit
// it keeps little more than twice as many entries as that, and compares new rows with the limit's.
// Rows with equal keys come in the order of their numbers. Used by one thread. Not from the paper.
//
//   rows -> runs of some hundred, sorted -> merged in pairs, those of equal level first -> one run
//
// A run is a list of pages, and a merge frees the pages that it has read: so the memory is 16 bytes
// per row, and a few pages. Young runs are merged while they are in the core's cache.
#ifndef ERIS_STORAGE_QUERY_SORTED_ROWS_H_
#define ERIS_STORAGE_QUERY_SORTED_ROWS_H_

#include <array>
#include <cstdint>
#include <span>

#include "storage/query/operators/sort_keys.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/query/rows/query_memory.h"

namespace eris::storage {

inline constexpr uint64_t kNoLimit = ~uint64_t{0};

class SortedRows {
 public:
  // `memory` and `list` outlive it; the list is complete. `limit`: only so many rows, the first
  // ones. REQUIRES: SortKeys::Check is OK.
  SortedRows(QueryMemory& memory, const EnvelopeList& list, std::span<const SortKey> keys,
             uint64_t limit = kNoLimit);
  ~SortedRows();
  SortedRows(const SortedRows&) = delete;
  SortedRows& operator=(const SortedRows&) = delete;

  // One step: at most kStepRows rows are read, or merged.
  StepResult Step();

  // After kDone: how many rows Read still hands out.
  uint64_t rows_left() const { return runs_count_ == 0 ? 0 : runs_[0].rows; }
  // The next rows in order, at most `rows_max`. Returns how many they are; 0: there are no more.
  uint32_t Read(RowNumber* rows, uint32_t rows_max);
  // Frees a piece of its memory; nothing else may be asked any more. False: all is free.
  bool FreeSome();

 private:
  static constexpr uint32_t kStepRows = 2048;
  // A comparison by values costs as much as merging this many rows, or more.
  static constexpr uint32_t kCompareCost = 8;
  // Rows of a new run, if prefixes decide and if not. Few: a merge does not mispredict branches, as
  // std::sort does. They are read in chunks of a third of that.
  static constexpr uint32_t kRunRows = 192;
  static constexpr uint32_t kRunRowsByValue = 96;
  static constexpr uint32_t kChunksPerRun = 3;
  static constexpr uint32_t kMeasuredAtOnce = 256;  // envelopes
  static constexpr uint32_t kFreedAtOnce = 8;       // pages

  struct Entry {
    uint64_t prefix;
    RowNumber row;
  };
  struct Page {
    static constexpr uint32_t kEntries = 2047;
    Page* next;
    uint32_t count;
    Entry entries[kEntries];
  };
  static_assert(sizeof(Page) == 32u << 10);
  static_assert(kRunRows + kRunRows / kChunksPerRun <= Page::kEntries);
  struct Run {
    Page* first = nullptr;
    Page* last = nullptr;
    uint64_t rows = 0;
    uint32_t level = 0;
  };
  // The level of a run with as many rows as the limit. Two of them are merged at once.
  static constexpr uint32_t kFullLevel = 63;
  // One of each level, and two of the last.
  static constexpr uint32_t kRunsMax = kFullLevel + 3;
  enum class Phase : uint8_t { kMeasure, kRuns, kLast, kDone };

  bool Less(const Entry& a, const Entry& b, uint32_t& cost) const;
  void Measure();
  StepResult ReadRows();
  // Reads up to `count` rows of the current envelope into the open page; those that come behind the
  // limit's are left out.
  void ReadChunk(uint32_t count);
  void CloseRun();
  void Push(Run run);
  StepResult Merge();
  uint32_t MergePages(const Page& a, const Page& b, Entry* out, uint32_t room, uint32_t& cost);
  // The rest of one of the runs, if the other one has been merged.
  uint32_t CopyPage(const Run& run, Entry* out, uint32_t room);
  void LeavePageAtEnd(Page*& page, uint32_t& at);
  void EndMerge();
  // An empty page; nullptr: no memory.
  Page* TakePage();
  void Recycle(Page* first, Page* last) {
    last->next = free_;
    free_ = first;
  }
  // Frees some pages of a list. True: it has more.
  bool FreeSome(Page*& first);

  QueryMemory& memory_;
  const EnvelopeList& list_;
  SortKeys keys_;
  const uint64_t limit_;
  Phase phase_ = Phase::kMeasure;
  uint32_t envelope_ = 0;  // the row that is measured or read next
  uint32_t row_ = 0;
  Page* open_ = nullptr;  // the rows of the next run
  std::array<Run, kRunsMax> runs_{};
  uint32_t runs_count_ = 0;
  // At most `limit` rows are not above it, if there is one.
  Entry threshold_{};
  bool has_threshold_ = false;
  // A merge of the last two runs, from the rows of their first pages on.
  bool merging_ = false;
  std::array<uint32_t, 2> at_{};
  Run merged_{};
  Page* free_ = nullptr;
  uint32_t read_at_ = 0;  // in the first page
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_SORTED_ROWS_H_
