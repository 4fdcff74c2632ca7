// liberis.so is linked from archives, but a library needs a source of its own: this one. All other
// code is in capi/ and the folders below it.
#include "eris/eris.h"

namespace eris::capi {

// The oldest thing that programs may rely on: a code is an int32_t of C.
static_assert(sizeof(eris_code) == 4);

}  // namespace eris::capi
