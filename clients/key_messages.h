// Keys and ranges of keys in messages: encoded here (include/eris/key_encoding.h), numbers of the
// object's type there. Pure functions; any thread.
#ifndef ERIS_CLIENTS_KEY_MESSAGES_H_
#define ERIS_CLIENTS_KEY_MESSAGES_H_

#include <cstdint>

#include "eris/types.h"
#include "eris/v1/catalog.pb.h"

namespace eris::client {

// UINT64 for a type that this client does not know: the server is newer.
KeyType KeyTypeFrom(v1::KeyType type);
v1::KeyType ToProto(KeyType type);

void SetKey(KeyType type, uint64_t key, v1::Key& message);
// 0 where the message has no key of that type.
uint64_t KeyFrom(KeyType type, const v1::Key& message);
void SetRange(KeyType type, const KeyRange& range, v1::KeyRange& message);
// Where a range begins. 0: before all keys.
uint64_t RangeStart(KeyType type, const v1::KeyRange& message);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_KEY_MESSAGES_H_
