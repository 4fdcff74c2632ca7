#include "storage/query/operators/row_hash.h"

#include <algorithm>
#include <type_traits>

#include "storage/query/operators/text_hash.h"
#include "storage/table/groups/group_table.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {
namespace {

constexpr uint64_t kSeed = 0x2545'f491'4f6c'dd1d;
constexpr uint64_t kMultiplier = 0x9e37'79b9'7f4a'7c15;
constexpr uint64_t kNull = 0x6a09'e667'f3bc'c908;

// Other than the hash of a join table: rows of one AEU would fill a part of its buckets only.
uint64_t Mixed(uint64_t hash, uint64_t value) { return FoldProduct(hash ^ value, kMultiplier); }

template <class Word>
void Mix(const SegmentColumn& column, uint32_t base, uint32_t rows, uint64_t* hashes, Word word) {
  if (column.validity == nullptr) {
    for (uint32_t i = 0; i < rows; ++i) hashes[i] = Mixed(hashes[i], word(base + i));
    return;
  }
  for (uint32_t i = 0; i < rows; ++i) {
    const bool valid = BitAt(column.validity, base + i);
    hashes[i] = Mixed(hashes[i], valid ? word(base + i) : kNull);
  }
}

}  // namespace

void HashRows(const SegmentView& view, std::span<const uint32_t> keys, uint32_t base, uint32_t rows,
              uint64_t* hashes) {
  std::fill_n(hashes, rows, kSeed);
  for (const uint32_t key : keys) {
    const SegmentColumn& column = view.columns[key];
    VisitColumnType(column.type, [&]<class T>(ColumnTraits<T>) {
      if constexpr (std::is_void_v<T>) {
        Mix(column, base, rows, hashes,
            [&](uint32_t row) { return HashText(StringAt(column, row), kSeed); });
      } else {
        const T* const values = static_cast<const T*>(column.values);
        if constexpr (std::is_same_v<T, Int128Halves>) {
          Mix(column, base, rows, hashes, [&](uint32_t row) {
            return Mixed(values[row].low, static_cast<uint64_t>(values[row].high));
          });
        } else if constexpr (std::is_same_v<T, double>) {
          Mix(column, base, rows, hashes, [&](uint32_t row) { return GroupWord(values[row]); });
        } else {
          Mix(column, base, rows, hashes, [&](uint32_t row) {
            return static_cast<uint64_t>(static_cast<int64_t>(values[row]));
          });
        }
      }
    });
  }
}

}  // namespace eris::storage
