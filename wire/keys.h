// Keys and ranges of keys in messages: numbers of the object's type there, u64 keys here
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

// What is set in it: "i64"; "none".
absl::string_view FieldOf(const v1::Key& key);
// The type whose keys have that field; UINT64 also if none is set.
ColumnType TypeOf(const v1::Key& key);

// `name` ("range.start") stands in messages. Errors: InvalidArgument, naming both types; NaN.
absl::StatusOr<uint64_t> KeyFrom(absl::string_view name, ColumnType type, const v1::Key& key);
// A key that the type does not have becomes the nearest.
void FillKey(ColumnType type, uint64_t key, v1::Key* message);
// Errors: InvalidArgument, as NoKey.
absl::Status SetKey(absl::string_view name, ColumnType type, uint64_t key, v1::Key& message);
// Whether the type has such a key. One that it does not have would be another number in a message,
// or none.
bool IsKeyOf(ColumnType type, uint64_t key);
// The error that says so of `name` ("keys[7]"): InvalidArgument.
absl::Status NoKey(absl::string_view name, ColumnType type, uint64_t key);

// Errors: as KeyFrom; the short form where it does not belong, or both forms; a second part where
// keys have one, or without its first; inverted.
absl::StatusOr<KeyRange> RangeFrom(absl::string_view name, const KeyTypes& types,
                                   const v1::KeyRange& range);
// A range that partitions have: a key that the type does not have becomes the nearest. A bound in
// front of all keys stays unset, and so does a lowest second part. UINT64 without second parts: in
// the short form.
void FillRange(const KeyTypes& types, const KeyRange& range, v1::KeyRange* message);
// A range that a user asks for: a lower bound below all keys, and an upper one beyond them, stay
// unset. Errors: InvalidArgument, as NoKey; second parts in a range of one-part keys.
absl::Status SetRange(absl::string_view name, const KeyTypes& types, const KeyRange& range,
                      v1::KeyRange& message);
// Where a range begins that FillRange has filled. 0: before all keys.
uint64_t RangeStart(ColumnType type, const v1::KeyRange& message);

}  // namespace eris::wire

#endif  // ERIS_WIRE_KEYS_H_
