// The order of a sort: compares two rows of a list, and makes prefixes of 64 bits, most of which
// decide by themselves. Filled from the list's bounds by one thread; then immutable. Not from the
// paper.
//
// A prefix has the keys' values one after the other, each minus the smallest one and as narrow as
// the bounds allow, with a bit more if there are nulls. It ends with the first key that does not
// fit or has no bounds: of that it has the leading bits, and equal prefixes are then compared by
// the values themselves.
#ifndef ERIS_STORAGE_QUERY_SORT_KEYS_H_
#define ERIS_STORAGE_QUERY_SORT_KEYS_H_

#include <array>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "eris/query_plan.h"
#include "storage/query/rows/envelope_list.h"

namespace eris::storage {

inline constexpr uint32_t kSortKeysMax = 64;

class SortKeys {
 public:
  // InvalidArgument: no key or more than kSortKeysMax, or a column that does not exist.
  static absl::Status Check(std::span<const EnvelopeColumn> columns, std::span<const SortKey> keys);

  // `list` outlives it. REQUIRES: Check is OK.
  SortKeys(const EnvelopeList& list, std::span<const SortKey> keys);

  // Takes in the bounds of an envelope. Call it for all, then Decide.
  void Widen(const Envelope& envelope);
  void Decide();

  // Whether rows with equal prefixes have equal keys.
  bool exact() const { return rest_ == count_; }
  // The prefixes of `count` rows of an envelope, from `first` on.
  void Prefixes(const Envelope& envelope, uint32_t first, uint32_t count, uint64_t* prefixes) const;
  // Below, at or above 0, as a comes before b, is equal or comes after it. REQUIRES: their prefixes
  // are equal.
  int CompareRest(RowNumber a, RowNumber b) const;

 private:
  struct Part {
    SortKey key{};
    ColumnType type = ColumnType::kInt64;
    bool any = false;  // `min` and `last` are known: for integers
    bool nulls = false;
    uint64_t min = 0;  // order codes are between min and min + last
    uint64_t last = ~uint64_t{0};
    uint32_t bits = 0;   // in the prefix, without the bit for nulls
    uint32_t shift = 0;  // bits that the prefix lacks
    bool in_prefix = false;
  };
  void AddToPrefixes(const Part& part, const SegmentColumn& column, uint32_t first, uint32_t count,
                     uint64_t* prefixes) const;
  static int Compare(const Part& part, const SegmentColumn& a, uint32_t row_a,
                     const SegmentColumn& b, uint32_t row_b);

  const EnvelopeList& list_;
  std::array<Part, kSortKeysMax> parts_{};
  const uint32_t count_;
  uint32_t rest_ = 0;  // the first part that prefixes do not decide
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_SORT_KEYS_H_
