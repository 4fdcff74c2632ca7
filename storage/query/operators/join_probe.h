// Probes a join table with the rows of a block, and hands out pairs of rows. Used by one thread at
// a time; several probes may share a table. Not from the paper.
#ifndef ERIS_STORAGE_QUERY_JOIN_PROBE_H_
#define ERIS_STORAGE_QUERY_JOIN_PROBE_H_

#include <cstdint>

#include "storage/query/operators/join_table.h"
#include "storage/query/rows/query_memory.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// Rows of a block, and for each a row of the build side. Memory of the caller.
struct RowPairs {
  uint16_t* probe = nullptr;   // row of the block, minus its base; ascending, may repeat
  RowNumber* build = nullptr;  // kNoRow: the row has no partner
  uint32_t capacity = 0;
  uint32_t count = 0;  // filled
};

class JoinProbe {
 public:
  // Both outlive the probe; the table is built.
  JoinProbe(const JoinTable& table, QueryMemory& memory);

  // Allocates what all blocks need. False: no memory. Call it first.
  [[nodiscard]] bool Prepare();

  enum class Rows : uint8_t {
    kPartners,    // only rows with a partner
    kAllOfProbe,  // and those without one, once each with kNoRow: a left join
  };
  // Begins a block, and gives up one that is not done: the rows [base, base + rows) of `view`, at
  // most kBlockRows from a multiple of 64 on. SegmentView::kept is not looked at. `view` stays
  // valid until the block is done.
  void Begin(const SegmentView& view, uint32_t base, uint32_t rows, Rows which);
  // Appends pairs of the block. True: these were the last ones. False: `out` is full; call it again
  // with another one. REQUIRES: out.count < out.capacity.
  [[nodiscard]] bool Next(RowPairs& out);

  // For semi and anti joins with a condition, instead of Next: appends pairs of the block's rows
  // whose bits in `matched` are not set, one of each row, in the next call two of each, then four,
  // but no more than there is room for. So a row has less than twice the pairs that it needed to
  // match. Bit i of `matched` is for row base + i. True: these were the last ones. REQUIRES: room
  // for a pair of each row; the block has begun with kPartners.
  [[nodiscard]] bool NextOfUnmatched(const uint64_t* matched, RowPairs& out);

  // For semi joins: clears the bits of rows without a partner; for anti joins (`with` false) of
  // those with one. Bit i of `mask` is for row base + i; bits from `rows` on are 0. Other arguments
  // as of Begin. A block that is not done is given up.
  void Keep(const SegmentView& view, uint32_t base, uint32_t rows, uint64_t* mask, bool with);

 private:
  // Everything that a block needs, in one block of memory.
  struct Scratch {
    uint64_t words[kBlockRows + 1];
    RowNumber found[kBlockRows + 1];
    uint16_t picks[kBlockRows + 1];
  };

  // Finds the rows that have a partner, of those in `mask` (nullptr: of all), and the first partner
  // of each. Returns how many they are.
  uint32_t FindPartners(uint32_t base, uint32_t rows, const uint64_t* mask);
  // Replaces candidates, whose hashes are equal, by the first one whose keys are equal, or kNoRow.
  void Verify(uint32_t base, const uint16_t* picks, RowNumber* found, uint32_t count) const;
  RowNumber FirstEqual(uint32_t row, RowNumber candidate) const;
  RowNumber PartnerAfter(uint16_t pick, RowNumber partner) const;
  // Adds the rows without a partner to the `partners` ones with one.
  void AddOthers(uint32_t rows, uint32_t partners);

  const JoinTable& table_;
  QueryArray<Scratch> scratch_;
  const SegmentView* view_ = nullptr;
  uint32_t base_ = 0;
  uint32_t count_ = 0;          // rows in scratch_
  uint32_t at_ = 0;             // the row that comes next
  RowNumber partner_ = kNoRow;  // its next partner, if some have been handed out
  bool within_ = false;         // whether that is so
  uint32_t each_ = 1;           // pairs of each row, at most, in the next NextOfUnmatched
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_JOIN_PROBE_H_
