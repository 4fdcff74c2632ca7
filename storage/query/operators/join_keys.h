// The keys of a join: turns those of a row into one word of 64 bits, the same on both sides for
// equal keys. Rows with a null or a NaN among their keys have none, as they join nothing. Filled
// from the build side's bounds by one thread; then immutable, any thread. Not from the paper.
//
// Form      keys                                        equal words
// kNumber   integers, dates, decimals whose bounds on   equal keys: the word is the key's number
//           the build side span at most 2^64 keys       among those within the bounds
// kDouble   one double                                  equal keys
// kHashed   all others                                  most likely equal keys: Equal compares them
#ifndef ERIS_STORAGE_QUERY_JOIN_KEYS_H_
#define ERIS_STORAGE_QUERY_JOIN_KEYS_H_

#include <array>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "storage/hash/hash_table_mix.h"
#include "storage/query/operators/number_bounds.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/table/kernels/exact_number.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

inline constexpr uint32_t kJoinKeysMax = 16;

struct JoinKey {
  uint32_t build = 0;  // columns of the two sides
  uint32_t probe = 0;
};

class JoinKeys {
 public:
  enum class Form : uint8_t { kNumber, kDouble, kHashed };
  enum class Side : uint8_t { kBuild, kProbe };

  // InvalidArgument: no key or more than kJoinKeysMax, a column that does not exist, or two columns
  // that are not compared as they are: of different classes (signed integers with dates and
  // decimals, unsigned integers, doubles, 128 bits, strings) or scales.
  static absl::Status Check(std::span<const EnvelopeColumn> build,
                            std::span<const EnvelopeColumn> probe, std::span<const JoinKey> keys);

  // REQUIRES: Check is OK for them.
  JoinKeys(std::span<const EnvelopeColumn> build, std::span<const JoinKey> keys, uint64_t seed);

  // Takes in the bounds of an envelope of the build side. Call it for all, then Decide.
  void Widen(const Envelope& envelope);
  void Decide();
  // How many rows of the envelope have a null among their keys, at least.
  uint32_t NullsOf(const Envelope& envelope) const;

  Form form() const { return form_; }
  // For kNumber: words are below it. 0: no row of the build side has a word.
  Uint128 numbers() const { return numbers_; }
  uint64_t Hash(uint64_t word) const { return form_ == Form::kHashed ? word : mix_(word); }

  // The words of the rows [base, base + rows) of a view, at most kBlockRows, from a multiple of 64
  // on. `mask`: bit i is for row base + i; nullptr: all rows. Writes the rows that have a word,
  // minus base and ascending, and their words; returns how many they are. Both arrays have room for
  // one more than `rows`.
  uint32_t Words(Side side, const SegmentView& view, uint32_t base, uint32_t rows,
                 const uint64_t* mask, uint16_t* picks, uint64_t* words) const;

  // For kHashed, of rows that have a word.
  bool Equal(const SegmentView& probe, uint32_t row, const EnvelopeList& build,
             RowNumber number) const;
  // Fetches what Equal reads first.
  void FetchForEqual(const EnvelopeList& build, RowNumber number) const;

 private:
  struct Part {
    JoinKey columns{};
    ColumnType type = ColumnType::kInt64;  // of the build side
    // kNumber: adds (value - range.min) * stride.
    NumberBounds range{};
    uint64_t stride = 1;
  };
  class WordMaker;

  std::array<Part, kJoinKeysMax> parts_{};
  const uint32_t count_;
  const HashMix mix_;
  const uint64_t seed_;
  Form form_ = Form::kHashed;
  Uint128 numbers_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_JOIN_KEYS_H_
