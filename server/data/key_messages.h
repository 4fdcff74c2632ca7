// Key types, keys and ranges of keys in messages: numbers of the object's type there, u64 keys here
// (key_encoding.h), or pairs of them. Any thread, no state.
#ifndef ERIS_SERVER_DATA_KEY_MESSAGES_H_
#define ERIS_SERVER_DATA_KEY_MESSAGES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/types.h"
#include "eris/v1/catalog.pb.h"

namespace eris::server {

// Unspecified is UINT64; a second type that is unspecified: keys of one part. Errors:
// InvalidArgument (a number that is no key type).
absl::StatusOr<KeyTypes> KeyTypesFrom(v1::KeyType type, v1::KeyType second);
v1::KeyType ToMessage(KeyType type);

// What is set in it: "i64"; "none".
absl::string_view FieldOf(const v1::Key& key);
// `name` ("range.start") stands in messages. Errors: InvalidArgument, naming both types; NaN.
absl::StatusOr<uint64_t> KeyFrom(absl::string_view name, KeyType type, const v1::Key& key);
// Errors: as KeyFrom; the short form where it does not belong, or both forms; a second part where
// keys have one, or without its first; inverted.
absl::StatusOr<KeyRange> RangeFrom(absl::string_view name, const KeyTypes& types,
                                   const v1::KeyRange& range);

// A key that the type does not have becomes the nearest.
void FillKey(KeyType type, uint64_t key, v1::Key* message);
// A bound in front of all keys stays unset, and so does a lowest second part. UINT64 without second
// parts: in the short form.
void FillRange(const KeyTypes& types, const KeyRange& range, v1::KeyRange* message);

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_KEY_MESSAGES_H_
