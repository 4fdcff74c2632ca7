// Which group each row of a block is of. Of one TableRun; no latch. Paper: ERIS 3.1.
//
// Where a segment's group columns have few codes together (dictionaries, integers between near
// bounds), a row's codes side by side lead through one small table to its group; else its key goes
// through the hash table of the groups. What has been found of a segment's codes is kept for later
// slices of it.
#ifndef ERIS_STORAGE_TABLE_BLOCK_GROUPS_H_
#define ERIS_STORAGE_TABLE_BLOCK_GROUPS_H_

#include <cstdint>
#include <vector>

#include "storage/table/query/block_values.h"
#include "storage/table/query/group_table.h"
#include "storage/table/query/plan_body.h"

namespace eris::storage {

class BlockGroups {
 public:
  // All group columns' codes side by side have at most so many bits, where they are used.
  static constexpr uint32_t kCodeBitsMax = 14;
  static constexpr uint32_t kDirectMax = 1u << kCodeBitsMax;

  explicit BlockGroups(const PlanBody& plan);

  void BeginSegment(const SegmentView& segment);
  // Writes the group of row i of the block at `base` to ids[i] for each row in `mask`; other rows'
  // are kNoGroup or some group. False: too many groups, table.status().
  [[nodiscard]] bool Find(const SegmentView& segment, uint32_t base, uint32_t rows,
                          const uint64_t* mask, GroupTable& table, uint32_t* ids);

 private:
  // How a column's values become codes below 1 << bits.
  struct Coder {
    bool dictionary = false;
    uint32_t bits = 0;
    uint32_t shift = 0;
    uint32_t null_code = 0;
    uint64_t lo = 0;                  // the value whose code is 0; of dictionaries 0
    std::vector<uint32_t> numbers{};  // dictionary: of codes, the table's number of the string
  };

  bool SmallDomain(const SegmentColumn& column, Coder& coder) const;
  void AddCodes(const SegmentColumn& column, const Coder& coder, uint32_t base, uint32_t rows,
                bool first, uint32_t* codes) const;
  bool KeyOf(const SegmentView& segment, uint32_t row, GroupTable& table, GroupKey& key);

  const PlanBody& plan_;
  std::vector<Coder> coders_;  // by group column
  uint64_t segment_ = 0;       // whose codes these are, by its id; 0: nobody's
  bool direct_ = false;
  std::vector<uint32_t> groups_;  // direct: by codes side by side; kNoGroup: unknown
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_BLOCK_GROUPS_H_
