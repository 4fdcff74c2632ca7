// Keys and ranges of keys: in messages numbers of the object's type, here u64 keys
// (include/eris/key_encoding.h), or pairs of them. Any thread, no state.
#ifndef ERIS_WIRE_KEYS_H_
#define ERIS_WIRE_KEYS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/types.h"
#include "eris/v1/catalog.pb.h"

namespace eris::wire {

// The name of the field that is set, e.g. "i64"; "none".
absl::string_view FieldOf(const v1::Key& key);
// The key type that uses the set field; UINT64 also if none is set.
ColumnType TypeOf(const v1::Key& key);

// `name` ("range.start") is for messages. Errors: InvalidArgument, naming both types; NaN.
absl::StatusOr<uint64_t> KeyFrom(absl::string_view name, ColumnType type, const v1::Key& key);
// A key outside the type becomes the nearest one.
void FillKey(ColumnType type, uint64_t key, v1::Key* message);
// Errors: InvalidArgument, as NoKey.
absl::Status SetKey(absl::string_view name, ColumnType type, uint64_t key, v1::Key& message);
// Whether the type has such a key. Otherwise it would be another number in a message, or none.
bool IsKeyOf(ColumnType type, uint64_t key);
// The error for a key outside the type; `name` is e.g. "keys[7]": InvalidArgument.
absl::Status NoKey(absl::string_view name, ColumnType type, uint64_t key);

// Errors: as KeyFrom; the short form for other types than UINT64, or both forms; a second part for
// one-part keys, or without its first; inverted.
absl::StatusOr<KeyRange> RangeFrom(absl::string_view name, const KeyTypes& types,
                                   const v1::KeyRange& range);
// For a range of a partition: a key outside the type becomes the nearest one. A bound before all
// keys stays unset, and so does a lowest second part. UINT64 without second parts: in the short
// form.
void FillRange(const KeyTypes& types, const KeyRange& range, v1::KeyRange* message);
// For a range from a user: a lower bound below all keys, and an upper one above them, stay unset.
// Errors: InvalidArgument, as NoKey; second parts in a range of one-part keys.
absl::Status SetRange(absl::string_view name, const KeyTypes& types, const KeyRange& range,
                      v1::KeyRange& message);
// The beginning of a range filled by FillRange. 0: before all keys.
uint64_t RangeStart(ColumnType type, const v1::KeyRange& message);

}  // namespace eris::wire

#endif  // ERIS_WIRE_KEYS_H_
