// Keys and ranges of keys in messages: encoded here (include/eris/key_encoding.h), numbers of the
// object's type there. Pure functions; any thread.
#ifndef ERIS_CLIENTS_KEY_MESSAGES_H_
#define ERIS_CLIENTS_KEY_MESSAGES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "eris/types.h"
#include "eris/v1/catalog.pb.h"

namespace eris::client {

// UINT64 for a type that this client does not know: the server is newer.
KeyType KeyTypeFrom(v1::KeyType type);
// A second type that is unspecified: keys of one part.
KeyTypes KeyTypesFrom(v1::KeyType type, v1::KeyType second);
v1::KeyType ToProto(KeyType type);

// Of what is encoded: whether the type has such a key. One that it does not have would be another
// number in a message, or none.
bool IsKeyOf(KeyType type, uint64_t key);
// The error that says so of `name` ("keys[7]"): InvalidArgument.
absl::Status NoKey(absl::string_view name, KeyType type, uint64_t key);

// Errors of both: InvalidArgument, as NoKey; second parts in a range of one-part keys.
absl::Status SetKey(absl::string_view name, KeyType type, uint64_t key, v1::Key& message);
absl::Status SetRange(absl::string_view name, const KeyTypes& types, const KeyRange& range,
                      v1::KeyRange& message);
// 0 where the message has no key of that type.
uint64_t KeyFrom(KeyType type, const v1::Key& message);
// An object as the catalogue describes it.
ObjectInfo ObjectFrom(const v1::Object& object);
// Where a range begins. 0: before all keys.
uint64_t RangeStart(KeyType type, const v1::KeyRange& message);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_KEY_MESSAGES_H_
