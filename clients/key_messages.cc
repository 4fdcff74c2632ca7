#include "clients/key_messages.h"

#include "eris/key_encoding.h"

namespace eris::client {

KeyType KeyTypeFrom(v1::KeyType type) {
  const bool known = type >= v1::KEY_TYPE_UINT64 && type <= v1::KEY_TYPE_DATE32;
  return known ? static_cast<KeyType>(type) : KeyType::kUint64;
}

v1::KeyType ToProto(KeyType type) { return static_cast<v1::KeyType>(type); }

void SetKey(KeyType type, uint64_t key, v1::Key& message) {
  switch (type) {
    case KeyType::kInt64:
      return message.set_i64(Int64FromKey(key));
    case KeyType::kFloat64:
      return message.set_f64(Float64FromKey(key));
    case KeyType::kDate:
      return message.set_date32(DateFromKey(key));
    default:
      return message.set_u64(key);
  }
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

void SetRange(KeyType type, const KeyRange& range, v1::KeyRange& message) {
  if (type == KeyType::kUint64) {
    message.set_lo(range.lo);
    if (range.hi) message.set_hi(*range.hi);
    return;
  }
  if (range.lo > LowestKey(type)) SetKey(type, range.lo, *message.mutable_start());
  // Up to the highest key and beyond is the same as to the end.
  if (range.hi && *range.hi <= HighestKey(type)) SetKey(type, *range.hi, *message.mutable_end());
}

uint64_t RangeStart(KeyType type, const v1::KeyRange& message) {
  if (type == KeyType::kUint64) return message.lo();
  return message.has_start() ? KeyFrom(type, message.start()) : 0;
}

}  // namespace eris::client
