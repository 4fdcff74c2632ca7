#include "wire/bounds.h"

#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "wire/keys.h"

namespace eris::wire {
namespace {

constexpr int kNarrowShift = 32;

// A bound of a message as the engine's word.
absl::StatusOr<uint64_t> WordFrom(const BoundType& type, absl::string_view name, uint64_t key) {
  if (!type.narrow) return key;
  return VisitColumnType(type.column, [&]<class T>(ColumnTraits<T>) -> absl::StatusOr<uint64_t> {
    if constexpr (std::is_integral_v<T>) {
      if (type.key_type.first == type.column) return key << kNarrowShift;
      const auto number =
          DecodeKey<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(key);
      if (std::in_range<T>(number)) return EncodeKey(static_cast<T>(number)) << kNarrowShift;
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", number, ", must be between ", std::numeric_limits<T>::min(),
                       " and ", std::numeric_limits<T>::max(), ": the first key column is ",
                       absl::AsciiStrToUpper(ColumnTypeName(type.column))));
    } else {
      return key;
    }
  });
}
uint64_t KeyOfWord(const BoundType& type, uint64_t word) {
  return type.narrow ? NearestKey(type.column, word >> kNarrowShift) : word;
}

absl::Status CheckWord(absl::string_view name, const BoundType& type, uint64_t word) {
  if (!type.narrow || word << kNarrowShift == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is ", word, ", no bound of a first key column of four bytes: must be a multiple of ",
      uint64_t{1} << kNarrowShift));
}

}  // namespace

BoundType BoundTypeOf(ObjectKind kind, const Schema& schema) {
  if (schema.key.empty()) return {.bounded = false};
  const ColumnType column = schema.columns[schema.key[0]].type;
  BoundType type{.key_type = NearestKeyType(column),
                 .narrow = kind == ObjectKind::kTable && ColumnValueBytes(column) == 4,
                 .column = column};
  if (kind == ObjectKind::kIndex && schema.key.size() > 1) {
    type.key_type.second = schema.columns[schema.key[1]].type;
  }
  return type;
}

absl::StatusOr<uint64_t> BoundFrom(absl::string_view name, const BoundType& type,
                                   const v1::Key& message) {
  ERIS_ASSIGN_OR_RETURN(const uint64_t key, KeyFrom(name, type.key_type.first, message));
  return WordFrom(type, name, key);
}

absl::StatusOr<KeyRange> BoundsFrom(absl::string_view name, const BoundType& type,
                                    const v1::KeyRange& message) {
  if (type.key_type.two_parts() && (message.has_start_second() || message.has_end_second())) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ".", message.has_start_second() ? "start" : "end",
                     "_second is set: partitions are cut between first parts alone"));
  }
  ERIS_ASSIGN_OR_RETURN(KeyRange range, RangeFrom(name, type.key_type, message));
  if (!type.narrow) return range;
  if (message.has_start()) {
    ERIS_ASSIGN_OR_RETURN(range.lo, WordFrom(type, absl::StrCat(name, ".start"), range.lo));
  }
  if (message.has_end()) {
    ERIS_ASSIGN_OR_RETURN(range.hi, WordFrom(type, absl::StrCat(name, ".end"), *range.hi));
  }
  return range;
}

std::string BoundText(const BoundType& type, uint64_t word) {
  return KeyText(type.key_type.first, KeyOfWord(type, word));
}

absl::Status SetBound(absl::string_view name, const BoundType& type, uint64_t word,
                      v1::Key& message) {
  ERIS_RETURN_IF_ERROR(CheckWord(name, type, word));
  return SetKey(name, type.key_type.first, KeyOfWord(type, word), message);
}

absl::Status SetBounds(absl::string_view name, const BoundType& type, const KeyRange& range,
                       v1::KeyRange& message) {
  if (!type.narrow) return SetRange(name, type.key_type, range, message);
  // From before every possible key, and to the end: unset.
  if (range.lo != 0) {
    ERIS_RETURN_IF_ERROR(
        SetBound(absl::StrCat(name, ".lo"), type, range.lo, *message.mutable_start()));
  }
  if (!range.hi) return absl::OkStatus();
  return SetBound(absl::StrCat(name, ".hi"), type, *range.hi, *message.mutable_end());
}

void FillBounds(const BoundType& type, const KeyRange& range, v1::KeyRange* message) {
  if (!type.bounded) return;
  KeyRange shown{.lo = KeyOfWord(type, range.lo), .hi = std::nullopt};
  if (range.hi) shown.hi = KeyOfWord(type, *range.hi);
  // Before every possible key, for a type of four bytes.
  if (range.lo == 0) shown.lo = 0;
  FillRange(type.key_type.first, shown, message);
}

}  // namespace eris::wire
