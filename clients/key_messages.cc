#include "clients/key_messages.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"

namespace eris::client {

KeyType KeyTypeFrom(v1::KeyType type) {
  const bool known = type >= v1::KEY_TYPE_UINT64 && type <= v1::KEY_TYPE_DATE32;
  return known ? static_cast<KeyType>(type) : KeyType::kUint64;
}

KeyTypes KeyTypesFrom(v1::KeyType type, v1::KeyType second) {
  KeyTypes types = KeyTypeFrom(type);
  if (second != v1::KEY_TYPE_UNSPECIFIED) types.second = KeyTypeFrom(second);
  return types;
}

v1::KeyType ToProto(KeyType type) { return static_cast<v1::KeyType>(type); }

bool IsKeyOf(KeyType type, uint64_t key) {
  return key >= LowestKey(type) && key <= HighestKey(type);
}

absl::Status NoKey(absl::string_view name, KeyType type, uint64_t key) {
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", key, ", no key of type ",
                                                 KeyTypeName(type), ": encoded they are ",
                                                 LowestKey(type), " to ", HighestKey(type)));
}

absl::Status SetKey(absl::string_view name, KeyType type, uint64_t key, v1::Key& message) {
  if (!IsKeyOf(type, key)) return NoKey(name, type, key);
  switch (type) {
    case KeyType::kInt64:
      message.set_i64(Int64FromKey(key));
      break;
    case KeyType::kFloat64:
      message.set_f64(Float64FromKey(key));
      break;
    case KeyType::kDate:
      message.set_date32(DateFromKey(key));
      break;
    default:
      message.set_u64(key);
  }
  return absl::OkStatus();
}

uint64_t KeyFrom(KeyType type, const v1::Key& message) {
  switch (type) {
    case KeyType::kInt64:
      return message.has_i64() ? KeyFromInt64(message.i64()) : 0;
    case KeyType::kFloat64:
      return message.has_f64() ? KeyFromFloat64(message.f64()) : 0;
    case KeyType::kDate:
      return message.has_date32() ? KeyFromDate(message.date32()) : 0;
    default:
      return message.u64();
  }
}

absl::Status SetRange(absl::string_view name, const KeyTypes& types, const KeyRange& range,
                      v1::KeyRange& message) {
  const KeyType type = types.first;
  const bool seconds = range.lo_second != 0 || range.hi_second != 0;
  if (seconds && !types.two_parts()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has second parts (lo_second ",
                                                   range.lo_second, ", hi_second ", range.hi_second,
                                                   "), its keys have ", KeyPartsText(types)));
  }
  if (type == KeyType::kUint64 && !seconds) {
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

uint64_t RangeStart(KeyType type, const v1::KeyRange& message) {
  if (type == KeyType::kUint64) return message.lo();
  return message.has_start() ? KeyFrom(type, message.start()) : 0;
}

ObjectInfo ObjectFrom(const v1::Object& object) {
  ObjectInfo info;
  info.name = object.name();
  info.id = ObjectId{object.id()};
  info.kind = static_cast<ObjectKind>(object.kind());
  info.key_type = KeyTypesFrom(object.key_type(), object.second_key_type());
  if (object.value_type() == v1::VALUE_TYPE_BYTES) info.value_type = ValueType::kBytes;
  info.keys = object.keys();
  info.memory_bytes = object.memory_bytes();
  for (const v1::Partition& partition : object.partitions()) {
    info.partition_starts.push_back(RangeStart(info.key_type.first, partition.range()));
    info.partition_owners.push_back(AeuId{partition.aeu()});
  }
  return info;
}

}  // namespace eris::client
