// Executes a plan's filter: narrows a block's bitmap to the rows that pass. Belongs to one
// TableRun; no latch. Paper: ERIS 3.1.
//
// Once per segment it checks the bounds of the columns. A condition that no row can pass prunes the
// segment, and one that all rows pass is skipped. A condition on strings with a dictionary is
// evaluated for each code. The results are kept while the filter stays in the segment: a later
// slice evaluates only new codes.
#ifndef ERIS_STORAGE_TABLE_BLOCK_FILTER_H_
#define ERIS_STORAGE_TABLE_BLOCK_FILTER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/table/plan/plan_body.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {

class BlockFilter {
 public:
  explicit BlockFilter(const PlanBody& plan) : plan_(plan), codes_(plan.predicates.size()) {}

  // After values.BeginSegment. False: no row of the segment can pass.
  bool BeginSegment(const BlockValues& values);
  // Conditions that must still be tested for this segment's rows.
  const std::vector<uint32_t>& active() const { return active_; }

  // Clears the rows of the block begun in `values` that do not pass. False: an arithmetic result is
  // outside its type; values.status() says which.
  [[nodiscard]] bool Keep(BlockValues& values, uint64_t* mask);
  // The same for one of plan.case_conditions, in dense or picked mode.
  [[nodiscard]] bool KeepTrue(BlockValues& values, uint32_t predicate, uint64_t* mask) {
    return KeepOne(values, predicate, mask);
  }

 private:
  using Kind = PredicateNode::Kind;
  enum class Verdict : uint8_t { kNone, kSome, kAll };

  // The result of a string condition for each code of the segment's dictionary.
  struct CodeTable {
    uint64_t segment = 0;  // by its id; 0: none
    uint32_t judged = 0;   // codes below this have been evaluated
    uint32_t passing = 0;  // how many of them pass
    bool one_run = false;  // first to last pass, and no others
    uint16_t first = 0, last = 0;
    std::vector<uint8_t> passes{};
  };

  Verdict Judge(const BlockValues& values, uint32_t predicate);
  Verdict JudgeRange(const BlockValues& values, const PredicateNode& node) const;
  Verdict JudgeSet(const BlockValues& values, const PredicateNode& node) const;
  Verdict JudgeCodes(const BlockValues& values, uint32_t predicate);
  bool KeepOne(BlockValues& values, uint32_t predicate, uint64_t* mask);
  bool KeepAny(BlockValues& values, const PredicateNode& node, uint64_t* mask);
  bool KeepRange(BlockValues& values, const PredicateNode& node, uint64_t* mask);
  bool KeepSet(BlockValues& values, const PredicateNode& node, uint64_t* mask);
  bool KeepCompared(BlockValues& values, const PredicateNode& node, uint64_t* mask);
  bool KeepStrings(BlockValues& values, uint32_t predicate, uint64_t* mask);
  bool KeepStringsCompared(BlockValues& values, const PredicateNode& node, uint64_t* mask);
  bool KeepNulls(BlockValues& values, const PredicateNode& node, uint64_t* mask);

  const PlanBody& plan_;
  std::vector<CodeTable> codes_;  // by predicate
  std::vector<uint32_t> active_;
};

// Whether `text` satisfies the string condition of `node`, ignoring `negated`.
bool Matches(const PredicateNode& node, std::string_view text);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_BLOCK_FILTER_H_
