#include "routing/incoming_buffer.h"

namespace eris::routing {

template class BasicIncomingBuffer<base::RealMemory>;

}  // namespace eris::routing
