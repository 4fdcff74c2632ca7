#include "storage/query/operators/join_keys.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "base/prefetch.h"
#include "storage/query/operators/text_hash.h"
#include "storage/table/groups/group_table.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {
namespace {

enum class KeyClass : uint8_t { kSigned, kUnsigned, kDouble, kInt128, kString };

KeyClass KeyClassOf(ColumnType type) {
  return VisitColumnType(type, []<class T>(ColumnTraits<T>) {
    if constexpr (std::is_void_v<T>) return KeyClass::kString;
    if constexpr (std::is_same_v<T, Int128Halves>) return KeyClass::kInt128;
    if constexpr (std::is_same_v<T, double>) return KeyClass::kDouble;
    return std::is_same_v<T, uint64_t> ? KeyClass::kUnsigned : KeyClass::kSigned;
  });
}

bool IsIntegerLike(ColumnType type) {
  return KeyClassOf(type) == KeyClass::kSigned || KeyClassOf(type) == KeyClass::kUnsigned;
}

absl::Status BadKey(absl::string_view text) noexcept {
  return base::LeanStatus(absl::StatusCode::kInvalidArgument, text);
}

// The value of an integer-like column in 64 bits.
uint64_t IntegerAt(const SegmentColumn& column, uint32_t row) {
  if (ColumnValueBytes(column.type) == 4) {
    return static_cast<uint64_t>(int64_t{static_cast<const int32_t*>(column.values)[row]});
  }
  return static_cast<const uint64_t*>(column.values)[row];
}

template <class T>
const T& At(const SegmentColumn& column, uint32_t row) {
  return static_cast<const T*>(column.values)[row];
}

}  // namespace

absl::Status JoinKeys::Check(std::span<const EnvelopeColumn> build,
                             std::span<const EnvelopeColumn> probe, std::span<const JoinKey> keys) {
  if (keys.empty() || keys.size() > kJoinKeysMax) {
    return BadKey("a join needs 1 to 16 keys");
  }
  static_assert(kJoinKeysMax == 16);
  for (const JoinKey& key : keys) {
    if (key.build >= build.size() || key.probe >= probe.size()) {
      return BadKey("the key of a join is no column of its input");
    }
    const EnvelopeColumn& one = build[key.build];
    const EnvelopeColumn& other = probe[key.probe];
    if (KeyClassOf(one.type) != KeyClassOf(other.type) || one.scale != other.scale) {
      return base::OrNoMemory("no memory for a query", [&]() -> absl::Status {
        return absl::InvalidArgumentError(absl::StrCat(
            "the keys of a join are not cast to one type: ", ColumnTypeName(one.type), " of scale ",
            int{one.scale}, " and ", ColumnTypeName(other.type), " of scale ", int{other.scale}));
      });
    }
  }
  return absl::OkStatus();
}

JoinKeys::JoinKeys(std::span<const EnvelopeColumn> build, std::span<const JoinKey> keys,
                   uint64_t seed)
    : count_(static_cast<uint32_t>(keys.size())), mix_(seed), seed_(seed) {
  ERIS_CHECK(count_ >= 1 && count_ <= kJoinKeysMax);
  for (uint32_t i = 0; i < count_; ++i) {
    parts_[i].columns = keys[i];
    parts_[i].type = build[keys[i].build].type;
  }
}

void JoinKeys::Widen(const Envelope& envelope) {
  for (uint32_t i = 0; i < count_; ++i) {
    Part& part = parts_[i];
    const SegmentColumn::Bounds* const bounds = envelope.column(part.columns.build).bounds;
    if (bounds == nullptr || !IsIntegerLike(part.type)) continue;  // no values, or nothing known
    part.range.Widen(*bounds, KeyClassOf(part.type) == KeyClass::kSigned);
  }
}

uint32_t JoinKeys::NullsOf(const Envelope& envelope) const {
  uint32_t nulls = 0;
  for (const Part& part : std::span(parts_).first(count_)) {
    nulls = std::max(nulls, envelope.column(part.columns.build).nulls);
  }
  return nulls;
}

void JoinKeys::Decide() {
  const auto parts = std::span(parts_).first(count_);
  if (!std::all_of(parts.begin(), parts.end(),
                   [](auto& part) { return IsIntegerLike(part.type); })) {
    form_ = count_ == 1 && parts_[0].type == ColumnType::kFloat64 ? Form::kDouble : Form::kHashed;
    return;
  }
  form_ = Form::kNumber;
  numbers_ = 1;
  constexpr Uint128 kNumbersMax = Uint128{1} << 64;
  for (Part& part : parts) {
    if (!part.range.any) {  // only nulls: no row joins
      form_ = Form::kNumber;
      numbers_ = 0;
      return;
    }
    if (form_ == Form::kHashed) continue;
    part.stride = static_cast<uint64_t>(numbers_);
    const Uint128 span = Uint128{part.range.last} + 1;
    if (span > kNumbersMax / numbers_) {
      form_ = Form::kHashed;
    } else {
      numbers_ *= span;
    }
  }
}

// Adds one key column to the words of the picked rows, and drops rows without a value.
class JoinKeys::WordMaker {
 public:
  WordMaker(const JoinKeys& keys, uint32_t base, uint32_t count, uint16_t* picks, uint64_t* words)
      : keys_(keys), base_(base), count_(count), picks_(picks), words_(words) {}

  void Add(const Part& part, const SegmentColumn& column) {
    if (column.validity == nullptr) {
      AddColumn(part, column, [](uint32_t) { return true; });
    } else {
      const uint64_t* const validity = column.validity + base_ / 64;
      AddColumn(part, column, [=](uint32_t row) { return BitAt(validity, row); });
    }
    first_ = false;
  }
  uint32_t count() const { return count_; }

 private:
  template <class Valid>
  void AddColumn(const Part& part, const SegmentColumn& column, Valid valid) {
    if (IsByteString(column.type)) {
      // The code of a null may be none of the dictionary's.
      AddHashed(valid, [&](uint32_t row) {
        return valid(row) ? HashText(StringAt(column, base_ + row), keys_.seed_) : 0;
      });
      return;
    }
    VisitColumnType(column.type, [&]<class T>(ColumnTraits<T>) {
      if constexpr (!std::is_void_v<T>) {
        AddValues(part, static_cast<const T*>(column.values) + base_, valid);
      }
    });
  }

  template <class T, class Valid>
  void AddValues(const Part& part, const T* values, Valid valid) {
    if constexpr (std::is_same_v<T, double>) {
      const auto is_number = [=](uint32_t row) {
        return valid(row) & (values[row] == values[row]);
      };
      const auto word = [=](uint32_t row) { return GroupWord(values[row]); };
      if (keys_.form_ == Form::kDouble) {
        Keep(is_number, [=](uint32_t row, uint64_t) { return word(row); });
      } else {
        AddHashed(is_number, word);
      }
    } else if constexpr (std::is_same_v<T, Int128Halves>) {
      AddHashed(valid, [=](uint32_t row) { return values[row].low; });
      first_ = false;
      AddHashed([](uint32_t) { return true; }, [=](uint32_t row) { return values[row].high; });
    } else if (keys_.form_ == Form::kNumber) {
      const uint64_t min = part.range.min, last = part.range.last, stride = part.stride;
      Keep(
          [=](uint32_t row) { return valid(row) & (uint64_t(int64_t(values[row])) - min <= last); },
          [=](uint32_t row, uint64_t word) {
            return word + (uint64_t(int64_t(values[row])) - min) * stride;
          });
    } else {
      AddHashed(valid, [=](uint32_t row) { return uint64_t(int64_t(values[row])); });
    }
  }

  template <class Valid, class Value>
  void AddHashed(Valid valid, Value value) {
    const HashMix mix = keys_.mix_;
    Keep(valid, [=](uint32_t row, uint64_t word) { return mix(std::rotl(word, 29) + value(row)); });
  }

  // Without a branch on the rows: whether they are kept may be random.
  template <class Kept, class Word>
  void Keep(Kept kept, Word word) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      const uint16_t row = picks_[i];
      const uint64_t made = word(row, first_ ? 0 : words_[i]);
      picks_[count] = row;
      words_[count] = made;
      count += kept(row);
    }
    count_ = count;
  }

  const JoinKeys& keys_;
  const uint32_t base_;
  uint32_t count_;
  uint16_t* const picks_;
  uint64_t* const words_;
  bool first_ = true;
};

uint32_t JoinKeys::Words(Side side, const SegmentView& view, uint32_t base, uint32_t rows,
                         const uint64_t* mask, uint16_t* picks, uint64_t* words) const {
  ERIS_DCHECK(base % 64 == 0);
  ERIS_DCHECK(rows <= kBlockRows);
  uint32_t count = rows;
  if (mask != nullptr) {
    count = PickRows(mask, rows, picks);
  } else {
    for (uint32_t i = 0; i < rows; ++i) picks[i] = static_cast<uint16_t>(i);
  }
  if (form_ == Form::kNumber && numbers_ == 0) return 0;
  WordMaker maker(*this, base, count, picks, words);
  for (const Part& part : std::span(parts_).first(count_)) {
    maker.Add(part, view.columns[side == Side::kBuild ? part.columns.build : part.columns.probe]);
  }
  return maker.count();
}

bool JoinKeys::Equal(const SegmentView& probe, uint32_t row, const EnvelopeList& build,
                     RowNumber number) const {
  const Envelope& envelope = build[EnvelopeOf(number)];
  const uint32_t build_row = RowOf(number);
  for (const Part& part : std::span(parts_).first(count_)) {
    const SegmentColumn& one = envelope.column(part.columns.build);
    const SegmentColumn& other = probe.columns[part.columns.probe];
    bool equal = false;
    switch (KeyClassOf(part.type)) {
      case KeyClass::kSigned:
      case KeyClass::kUnsigned:
        equal = IntegerAt(one, build_row) == IntegerAt(other, row);
        break;
      case KeyClass::kDouble:
        equal = At<double>(one, build_row) == At<double>(other, row);
        break;
      case KeyClass::kInt128:
        equal = At<Int128Halves>(one, build_row) == At<Int128Halves>(other, row);
        break;
      case KeyClass::kString:
        equal = StringAt(one, build_row) == StringAt(other, row);
        break;
    }
    if (!equal) return false;
  }
  return true;
}

void JoinKeys::FetchForEqual(const EnvelopeList& build, RowNumber number) const {
  const Envelope& envelope = build[EnvelopeOf(number)];
  for (const Part& part : std::span(parts_).first(count_)) {
    const SegmentColumn& column = envelope.column(part.columns.build);
    if (IsByteString(part.type)) {
      base::Prefetch(column.offsets + RowOf(number));
    } else {
      base::Prefetch(static_cast<const std::byte*>(column.values) +
                     size_t{RowOf(number)} * ColumnValueBytes(part.type));
    }
  }
}

}  // namespace eris::storage
