// The engine's description of an object as a message. Any thread, no state.
#ifndef ERIS_SERVER_DATA_OBJECT_MESSAGE_H_
#define ERIS_SERVER_DATA_OBJECT_MESSAGE_H_

#include "eris/types.h"
#include "eris/v1/catalog.pb.h"

namespace eris::server {

void FillObject(const ObjectInfo& info, v1::Object* object);

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_OBJECT_MESSAGE_H_
