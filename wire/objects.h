// What the catalogue says of an object, as a message. Any thread, no state.
#ifndef ERIS_WIRE_OBJECTS_H_
#define ERIS_WIRE_OBJECTS_H_

#include "eris/types.h"
#include "eris/v1/catalog.pb.h"

namespace eris::wire {

void FillObject(const ObjectInfo& info, v1::Object* object);
// Key types that this program does not know are UINT64: the server is newer.
ObjectInfo ObjectFrom(const v1::Object& object);

}  // namespace eris::wire

#endif  // ERIS_WIRE_OBJECTS_H_
