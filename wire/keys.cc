#include "wire/keys.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"

namespace eris::wire {

namespace {

absl::string_view FieldOf(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64:
      return "i64";
    case ColumnType::kFloat64:
      return "f64";
    case ColumnType::kDate:
      return "date32";
    case ColumnType::kTimestamp:
      return "timestamp_us";
    default:
      return "u64";
  }
}

}  // namespace

absl::string_view FieldOf(const v1::Key& key) {
  switch (key.value_case()) {
    case v1::Key::kU64:
      return "u64";
    case v1::Key::kI64:
      return "i64";
    case v1::Key::kF64:
      return "f64";
    case v1::Key::kDate32:
      return "date32";
    case v1::Key::kTimestampUs:
      return "timestamp_us";
    default:
      return "none";
  }
}

ColumnType TypeOf(const v1::Key& key) {
  switch (key.value_case()) {
    case v1::Key::kI64:
      return ColumnType::kInt64;
    case v1::Key::kF64:
      return ColumnType::kFloat64;
    case v1::Key::kDate32:
      return ColumnType::kDate;
    case v1::Key::kTimestampUs:
      return ColumnType::kTimestamp;
    default:
      return ColumnType::kUint64;
  }
}

absl::StatusOr<uint64_t> KeyFrom(absl::string_view name, ColumnType type, const v1::Key& key) {
  if (type == ColumnType::kUint64 && key.has_u64()) return key.u64();
  if (type == ColumnType::kInt64 && key.has_i64()) return KeyFromInt64(key.i64());
  if (type == ColumnType::kDate && key.has_date32()) return KeyFromDate(key.date32());
  if (type == ColumnType::kTimestamp && key.has_timestamp_us()) {
    return KeyFromInt64(key.timestamp_us());
  }
  if (type == ColumnType::kFloat64 && key.has_f64()) {
    if (!IsNan(key.f64())) return KeyFromFloat64(key.f64());
    return absl::InvalidArgumentError(absl::StrCat(name, " is NaN, which is no key"));
  }
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", FieldOf(key), " is set, must be ",
                                                 FieldOf(type), " as the keys of the object"));
}

namespace {

std::string BoundText(const KeyTypes& types, uint64_t first, uint64_t second) {
  std::string text = KeyText(types.first, first);
  if (types.two_parts()) absl::StrAppend(&text, "/", KeyText(*types.second, second));
  return text;
}

// The second part of the bound `name`, or the lowest one.
absl::StatusOr<uint64_t> SecondFrom(const std::string& name, const KeyTypes& types, bool is_set,
                                    bool has_first, const v1::Key& second) {
  if (!is_set) return 0;
  if (!types.two_parts()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, "_second is set, but the keys of the object have ", KeyPartsText(types)));
  }
  if (!has_first) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "_second is set without ", name, ", the first part of that bound"));
  }
  ERIS_ASSIGN_OR_RETURN(const uint64_t key,
                        KeyFrom(absl::StrCat(name, "_second"), *types.second, second));
  // Same as unset: no key is below it.
  return key == LowestKey(*types.second) ? 0 : key;
}

}  // namespace

absl::StatusOr<KeyRange> RangeFrom(absl::string_view name, const KeyTypes& types,
                                   const v1::KeyRange& message) {
  const ColumnType type = types.first;
  const bool is_short = message.lo() != 0 || message.has_hi();
  const bool is_typed = message.has_start() || message.has_end();
  if (is_short && (is_typed || type != ColumnType::kUint64)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": lo and hi are for keys of type uint64",
                                                   is_typed ? " and not beside start and end" : "",
                                                   "; the keys of the object are ",
                                                   ColumnTypeName(type), ": set start and end"));
  }
  KeyRange range{.lo = message.lo(), .hi = std::nullopt};
  if (message.has_hi()) range.hi = message.hi();
  if (message.has_start()) {
    ERIS_ASSIGN_OR_RETURN(range.lo, KeyFrom(absl::StrCat(name, ".start"), type, message.start()));
  }
  if (message.has_end()) {
    ERIS_ASSIGN_OR_RETURN(range.hi, KeyFrom(absl::StrCat(name, ".end"), type, message.end()));
  }
  // In the short form an lo of 0 cannot be distinguished from none: it counts if there is an hi.
  ERIS_ASSIGN_OR_RETURN(range.lo_second,
                        SecondFrom(absl::StrCat(name, ".start"), types, message.has_start_second(),
                                   is_short || message.has_start(), message.start_second()));
  ERIS_ASSIGN_OR_RETURN(range.hi_second,
                        SecondFrom(absl::StrCat(name, ".end"), types, message.has_end_second(),
                                   range.hi.has_value(), message.end_second()));
  if (range.Inverted()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is inverted: hi ", BoundText(types, *range.hi, range.hi_second),
                     " is below lo ", BoundText(types, range.lo, range.lo_second)));
  }
  return range;
}

void FillKey(ColumnType type, uint64_t key, v1::Key* message) {
  key = std::clamp(key, LowestKey(type), HighestKey(type));
  switch (type) {
    case ColumnType::kInt64:
      return message->set_i64(Int64FromKey(key));
    case ColumnType::kFloat64:
      return message->set_f64(Float64FromKey(key));
    case ColumnType::kDate:
      return message->set_date32(DateFromKey(key));
    case ColumnType::kTimestamp:
      return message->set_timestamp_us(Int64FromKey(key));
    default:
      return message->set_u64(key);
  }
}

bool IsKeyOf(ColumnType type, uint64_t key) {
  return key >= LowestKey(type) && key <= HighestKey(type);
}

absl::Status NoKey(absl::string_view name, ColumnType type, uint64_t key) {
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", key, ", no key of type ",
                                                 KeyTypeName(type), ": encoded they are ",
                                                 LowestKey(type), " to ", HighestKey(type)));
}

absl::Status SetKey(absl::string_view name, ColumnType type, uint64_t key, v1::Key& message) {
  if (!IsKeyOf(type, key)) return NoKey(name, type, key);
  FillKey(type, key, &message);
  return absl::OkStatus();
}

void FillRange(const KeyTypes& types, const KeyRange& range, v1::KeyRange* message) {
  const ColumnType type = types.first;
  const bool lo_second = types.two_parts() && range.lo_second > LowestKey(*types.second);
  const bool hi_second =
      types.two_parts() && range.hi && range.hi_second > LowestKey(*types.second);
  if (type == ColumnType::kUint64 && !lo_second && !hi_second) {
    message->set_lo(range.lo);
    if (range.hi) message->set_hi(*range.hi);
    return;
  }
  if (range.lo > LowestKey(type) || lo_second) FillKey(type, range.lo, message->mutable_start());
  if (range.hi) FillKey(type, *range.hi, message->mutable_end());
  if (lo_second) FillKey(*types.second, range.lo_second, message->mutable_start_second());
  if (hi_second) FillKey(*types.second, range.hi_second, message->mutable_end_second());
}

absl::Status SetRange(absl::string_view name, const KeyTypes& types, const KeyRange& range,
                      v1::KeyRange& message) {
  const ColumnType type = types.first;
  const bool seconds = range.lo_second != 0 || range.hi_second != 0;
  if (seconds && !types.two_parts()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has second parts (lo_second ",
                                                   range.lo_second, ", hi_second ", range.hi_second,
                                                   "), its keys have ", KeyPartsText(types)));
  }
  if (type == ColumnType::kUint64 && !seconds) {
    message.set_lo(range.lo);
    if (range.hi) message.set_hi(*range.hi);
    return absl::OkStatus();
  }
  if (!range.hi && range.hi_second != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " without hi: hi_second is ", range.hi_second, ", must be 0"));
  }
  const auto text = [&](const char* bound) { return absl::StrCat(name, bound); };
  absl::Status status;
  // Below the lowest key, of either part, is the same as from it.
  const bool from_second = range.lo_second > (seconds ? LowestKey(*types.second) : 0);
  if (range.lo > LowestKey(type) || (range.lo == LowestKey(type) && from_second)) {
    status = SetKey(text(".lo"), type, range.lo, *message.mutable_start());
    if (status.ok() && from_second) {
      status = SetKey(text(".lo_second"), *types.second, range.lo_second,
                      *message.mutable_start_second());
    }
  }
  // Up to the highest key and beyond is the same as to the end.
  if (!status.ok() || !range.hi || *range.hi > HighestKey(type)) return status;
  const bool all_seconds = range.hi_second > (seconds ? HighestKey(*types.second) : 0);
  if (all_seconds && *range.hi == HighestKey(type)) return status;
  status = SetKey(text(".hi"), type, *range.hi + all_seconds, *message.mutable_end());
  if (status.ok() && range.hi_second != 0 && !all_seconds) {
    status =
        SetKey(text(".hi_second"), *types.second, range.hi_second, *message.mutable_end_second());
  }
  return status;
}

uint64_t RangeStart(ColumnType type, const v1::KeyRange& message) {
  if (type == ColumnType::kUint64) return message.lo();
  return message.has_start() ? KeyFrom("start", type, message.start()).value_or(0) : 0;
}

}  // namespace eris::wire
