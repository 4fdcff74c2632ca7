// The values of a plan over one block of a segment: columns are used in place; computed values go
// to scratch memory, each once per block. Belongs to one TableRun; no latch. Paper: ERIS 3.1.
//
// A block has one of two modes. Dense: row i of a vector is row i of the block. Picked: it is the
// i-th of the picked rows. The bounds of a segment's columns tell whether arithmetic can leave its
// type. If it cannot, whole vectors are computed modulo 2^64, which is then exact. If it can,
// values are computed row by row, and only for rows that count.
#ifndef ERIS_STORAGE_TABLE_BLOCK_VALUES_H_
#define ERIS_STORAGE_TABLE_BLOCK_VALUES_H_

#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "storage/table/plan/plan_body.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

// Calls what(i) for each bit set in a bitmap of `rows` rows.
template <class What>
void ForRows(const uint64_t* mask, uint32_t rows, What what) {
  for (uint32_t w = 0; w * 64 < rows; ++w) {
    for (uint64_t bits = mask[w]; bits != 0; bits &= bits - 1) {
      what(w * 64 + static_cast<uint32_t>(__builtin_ctzll(bits)));
    }
  }
}

// Writes the rows of a block whose bits are set to `picks`; how many they are.
inline uint32_t PickRows(const uint64_t* mask, uint32_t rows, uint16_t* picks) {
  uint32_t count = 0;
  for (uint32_t first = 0; first < rows; first += 64) {
    const uint64_t word = mask[first / 64];
    if (word == ~uint64_t{0}) {
      for (uint32_t i = 0; i < 64; ++i) picks[count + i] = static_cast<uint16_t>(first + i);
      count += 64;
      continue;
    }
    for (uint64_t left = word; left != 0; left &= left - 1) {
      picks[count++] = static_cast<uint16_t>(first + static_cast<uint32_t>(__builtin_ctzll(left)));
    }
  }
  return count;
}

inline bool BitAt(const uint64_t* bits, uint32_t row) { return (bits[row / 64] >> row % 64) & 1; }

inline std::string_view StringAt(const SegmentColumn& column, uint32_t row) {
  if (column.dictionary != nullptr) {
    const DictionaryView& dictionary = *column.dictionary;
    const uint16_t code = static_cast<const uint16_t*>(column.values)[row];
    return {dictionary.bytes + dictionary.offsets[code],
            dictionary.offsets[code + 1] - dictionary.offsets[code]};
  }
  return {static_cast<const char*>(column.values) + column.offsets[row],
          column.offsets[row + 1] - column.offsets[row]};
}

// Memory aligned to cache lines, not initialised.
class ScratchMemory {
 public:
  // Throws std::bad_alloc, as containers do; the run converts it to a status.
  explicit ScratchMemory(size_t bytes)
      : memory_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}))) {}
  ~ScratchMemory() { ::operator delete (memory_, std::align_val_t{64}); }
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;
  std::byte* data() const { return memory_; }

 private:
  std::byte* const memory_;
};

struct BlockVector {
  enum class Kind : uint8_t { kInt32, kInt64, kUint64, kDouble, kInt128, kString };
  Kind kind = Kind::kInt64;
  const void* data = nullptr;
  const uint64_t* validity = nullptr;  // nullptr: nothing is null

  // Calls function(const T*) with the values. REQUIRES: neither kInt128 nor kString.
  template <class Function>
  auto Visit(Function function) const {
    switch (kind) {
      case Kind::kInt32:
        return function(static_cast<const int32_t*>(data));
      case Kind::kInt64:
        return function(i64());
      case Kind::kUint64:
        return function(u64());
      default:
        break;
    }
    return function(f64());
  }
  template <class T>
  static constexpr Kind KindOf() {
    if constexpr (std::is_same_v<T, int32_t>) return Kind::kInt32;
    if constexpr (std::is_same_v<T, int64_t>) return Kind::kInt64;
    if constexpr (std::is_same_v<T, uint64_t>) return Kind::kUint64;
    if constexpr (std::is_same_v<T, double>) return Kind::kDouble;
  }
  const int64_t* i64() const { return static_cast<const int64_t*>(data); }
  const uint64_t* u64() const { return static_cast<const uint64_t*>(data); }
  const double* f64() const { return static_cast<const double*>(data); }
  const Int128* i128() const { return static_cast<const Int128*>(data); }
  const std::string_view* strings() const { return static_cast<const std::string_view*>(data); }
  // Row i of integers of at least 64 bits.
  Int128 Integer(uint32_t i) const {
    if (kind == Kind::kInt128) return i128()[i];
    return kind == Kind::kUint64 ? Int128{u64()[i]} : Int128{i64()[i]};
  }
};

// That of a value's vector in 64 bits at least.
inline BlockVector::Kind KindOf(const ValueNode& node) {
  switch (node.value_class) {
    case ValueClass::kUnsigned:
      return BlockVector::Kind::kUint64;
    case ValueClass::kDouble:
      return BlockVector::Kind::kDouble;
    case ValueClass::kInt128:
      return BlockVector::Kind::kInt128;
    case ValueClass::kString:
      return BlockVector::Kind::kString;
    default:
      return BlockVector::Kind::kInt64;
  }
}

class BlockFilter;

class BlockValues {
 public:
  // `conditions` finds the rows for which the conditions of a kCase are true. Both outlive it.
  BlockValues(const PlanBody& plan, BlockFilter& conditions);
  // The size of the scratch memory.
  static size_t BytesOf(const PlanBody& plan);

  // Takes the bounds of each value from those of `segment`.
  void BeginSegment(const SegmentView& segment);
  // Begins dense mode: rows [base, base + rows) of the segment.
  void BeginBlock(uint32_t base, uint32_t rows);
  // Begins picked mode: rows picks[0 .. count) of the block, ascending.
  void Pick(const uint16_t* picks, uint32_t count);

  // The vector of a value. It is valid until the next block; if rows are computed one by one, until
  // the next call, and then only for the rows in `needed` (nullptr: all). nullptr: one of those is
  // outside its type; status() says which. Strings are those of the segment and of the plan; a null
  // one is empty.
  [[nodiscard]] const BlockVector* Evaluate(uint32_t value, const uint64_t* needed);
  // The same in 64 bits at least.
  [[nodiscard]] const BlockVector* EvaluateWide(uint32_t value, const uint64_t* needed);
  // The non-null rows of a column; nullptr: all. Dense mode.
  const uint64_t* Validity(uint32_t value) const;

  const SegmentView& segment() const { return *segment_; }
  const SegmentColumn& column(uint32_t value) const {
    return segment_->columns[plan_.values[value].column];
  }
  uint32_t base() const { return base_; }
  bool dense() const { return picks_ == nullptr; }
  uint32_t rows() const { return rows_; }  // length of the vectors
  const absl::Status& status() const { return status_; }

  // For the current segment.
  struct Bounds {
    bool known = false;  // lo and hi, or for a double real_lo and real_hi
    Int128 lo = 0, hi = 0;
    double real_lo = 0, real_hi = 0;
    bool leaves = false;    // the value itself may be outside its type
    bool checked = false;   // or a value that it is computed from
    bool nulls = false;     // there may be some
    bool all_null = false;  // there are only nulls
  };
  const Bounds& bounds(uint32_t value) const { return bounds_[value]; }
  // Whether the sum of a block of such values fits in 64 bits.
  bool Narrow(uint32_t value) const;

 private:
  struct Slot {
    size_t room = 0;          // where its values are in the scratch memory; its validity is before
    uint64_t stamp = 0;       // of the block or request that `vector` belongs to
    uint64_t wide_stamp = 0;  // the same for `wide`
    BlockVector vector{};
    BlockVector wide{};
  };

  void BoundsOf(uint32_t value);
  void ColumnBounds(const ValueNode& node, Bounds& out) const;
  void DatePartBounds(const ValueNode& node, Bounds& out) const;
  void CaseBounds(const ValueNode& node, Bounds& out) const;
  void CastBounds(const ValueNode& node, Bounds& out) const;
  // Intervals of the arguments, carried through the operation in 128 bits.
  void ArithmeticBounds(const ValueNode& node, Bounds& out) const;
  void DivisionBounds(const ValueNode& node, Bounds& out) const;
  bool Make(uint32_t value, const uint64_t* needed, BlockVector& out);
  bool Arithmetic(uint32_t value, const uint64_t* needed, BlockVector& out);
  bool CheckedArithmetic(uint32_t value, const uint64_t* needed, const BlockVector& left,
                         const BlockVector& right, BlockVector& out);
  // A kQuotient or kRemainder.
  bool Divide(uint32_t value, const uint64_t* needed, BlockVector& out);
  // Calls what(i) for the rows of `needed` that are valid.
  template <class What>
  void ForNeeded(const uint64_t* needed, const uint64_t* validity, What what) const;
  bool Case(uint32_t value, const uint64_t* needed, BlockVector& out);
  bool Cast(uint32_t value, const uint64_t* needed, BlockVector& out);
  bool Substring(uint32_t value, const uint64_t* needed, BlockVector& out);
  void Strings(uint32_t value, BlockVector& out);
  // Copies the rows of `taken` from a branch of a kCase.
  void TakeBranch(uint32_t value, const BlockVector& from, const uint64_t* taken);
  bool OutsideType(const ValueNode& node);
  void PickValidity(uint32_t value, BlockVector& out);
  // The vectors are not copied. A copy of values just written, with loads wider than the stores,
  // would wait until all stores before it are done; the loads for the next block would wait too.
  const BlockVector* Request(uint32_t value, const uint64_t* needed);
  const BlockVector* RequestWide(uint32_t value, const uint64_t* needed);
  void PickColumn(uint32_t value, BlockVector& out);
  void Fill(uint32_t value, BlockVector& out);
  void ToDouble(uint32_t value, const BlockVector& from, BlockVector& out);
  const uint64_t* BothValid(uint32_t value, const uint64_t* left, const uint64_t* right);
  uint64_t* Room(uint32_t value) const {
    return reinterpret_cast<uint64_t*>(memory_.data() + slots_[value].room);
  }
  uint64_t* ValidityRoom(uint32_t value) const { return Room(value) - kBlockWords; }

  const PlanBody& plan_;
  BlockFilter& conditions_;
  const ScratchMemory memory_;
  std::vector<Slot> slots_;
  std::vector<Bounds> bounds_;
  const SegmentView* segment_ = nullptr;
  uint32_t base_ = 0;
  uint32_t rows_ = 0;
  const uint16_t* picks_ = nullptr;
  uint64_t stamps_ = 0;   // last stamp used
  uint64_t block_ = 0;    // stamp of values valid for the whole block
  uint64_t request_ = 0;  // and for only one request: rows computed one by one
  absl::Status status_;
};

template <class What>
void BlockValues::ForNeeded(const uint64_t* needed, const uint64_t* validity, What what) const {
  for (uint32_t w = 0; w * 64 < rows_; ++w) {
    const uint32_t rest = rows_ - w * 64;
    uint64_t rows = rest >= 64 ? ~uint64_t{0} : (uint64_t{1} << rest) - 1;
    if (needed != nullptr) rows &= needed[w];
    if (validity != nullptr) rows &= validity[w];
    for (; rows != 0; rows &= rows - 1) {
      what(w * 64 + static_cast<uint32_t>(__builtin_ctzll(rows)));
    }
  }
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_BLOCK_VALUES_H_
