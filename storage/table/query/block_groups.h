// Finds the group of each row of a block. Belongs to one TableRun; no latch. Paper: ERIS 3.1.
//
// Group columns that are carried are looked at only for the first row of a group. If a segment's
// other group columns have few codes together (dictionaries, integers in a narrow range), a row's
// concatenated codes index one small table of groups. Otherwise keys are made, column by column,
// for kGroupsAtOnce rows at a time, and looked up in the hash table of the groups. Groups found for
// a segment's codes are kept for later slices of it.
#ifndef ERIS_STORAGE_TABLE_BLOCK_GROUPS_H_
#define ERIS_STORAGE_TABLE_BLOCK_GROUPS_H_

#include <cstdint>
#include <vector>

#include "storage/table/groups/group_table.h"
#include "storage/table/plan/plan_body.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {

class BlockGroups {
 public:
  // The concatenated codes of all group columns are used only if they have at most this many bits.
  // Their table then stays in the second-level cache, and is cleared quickly when a segment's codes
  // have changed between two slices.
  static constexpr uint32_t kCodeBitsMax = 14;
  static constexpr uint32_t kDirectMax = 1u << kCodeBitsMax;

  explicit BlockGroups(const PlanBody& plan);

  void BeginSegment(const SegmentView& segment);
  // Writes the group of row i of the block at `base` to ids[i] for each row in `mask`; other
  // elements are unspecified (kNoGroup or some group). False: too many groups, table.status().
  [[nodiscard]] bool Find(const SegmentView& segment, uint32_t base, uint32_t rows,
                          const uint64_t* mask, GroupTable& table, uint32_t* ids);

 private:
  // How a column's values become codes below 1 << bits.
  struct Coder {
    bool dictionary = false;
    uint32_t bits = 0;
    uint32_t shift = 0;
    uint32_t null_code = 0;
    uint64_t lo = 0;                  // the value with code 0; 0 for dictionaries
    std::vector<uint32_t> numbers{};  // for a dictionary: by code, the string's number in the table
  };

  bool SmallDomain(const SegmentColumn& column, Coder& coder) const;
  void AddCodes(const SegmentColumn& column, const Coder& coder, uint32_t base, uint32_t rows,
                bool first, uint32_t* codes) const;
  // Finds the groups of rows picks[0 .. count) of the block, at most kGroupsAtOnce. False:
  // table.status().
  bool FindSome(const SegmentView& segment, uint32_t base, const uint16_t* picks, uint32_t count,
                GroupTable& table, uint32_t* groups);
  // Writes what the new groups among them carry, from `known` on, which their number was before.
  bool CarrySome(const SegmentView& segment, uint32_t base, const uint16_t* picks, uint32_t count,
                 GroupTable& table, const uint32_t* groups, uint32_t known, GroupKeys& keys);
  // Writes the words of one column of their keys, or of what they carry. False: as above.
  bool AddToKeys(size_t i, const SegmentColumn& column, uint32_t base, const uint16_t* picks,
                 uint32_t count, GroupTable& table, GroupKeys& keys);
  // The same for a column of strings; those of nulls are left out.
  static bool AddStrings(Coder& coder, const SegmentColumn& column, uint32_t base,
                         const uint16_t* picks, uint32_t count, GroupTable& table, uint64_t* words);
  static bool PlaceStrings(const SegmentColumn& column, uint32_t base, const uint16_t* picks,
                           uint32_t count, GroupTable& table, uint64_t* words);

  const PlanBody& plan_;
  std::vector<Coder> coders_;  // by group column
  uint64_t segment_ = 0;       // the segment of these codes, by its id; 0: none
  bool direct_ = false;
  std::vector<uint32_t> groups_;  // for direct codes: by concatenated codes; kNoGroup: unknown
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_BLOCK_GROUPS_H_
