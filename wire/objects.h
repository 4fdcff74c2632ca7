// Objects of the catalogue and options of their creation, as messages. Any thread, no state.
#ifndef ERIS_WIRE_OBJECTS_H_
#define ERIS_WIRE_OBJECTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/options.h"
#include "eris/types.h"
#include "eris/v1/catalog.pb.h"

namespace eris::wire {

// Partition bounds of tables are the engine's words: u64.
void FillObject(const ObjectInfo& info, v1::Object* object);
// Errors: Internal (an unknown schema: the server is newer).
absl::StatusOr<ObjectInfo> ObjectFrom(const v1::Object& object);

// Errors: InvalidArgument (kind; a table without a schema; types; bounds of another type than the
// first key column, NaN, inverted, or for an object without a key). The engine checks the rest.
absl::StatusOr<CreateOptions> CreateOptionsFrom(const v1::CreateObjectRequest& request);
// Errors: InvalidArgument (a bound that the first key column cannot have).
absl::Status FillCreateOptions(const CreateOptions& options, v1::CreateObjectRequest* request);

}  // namespace eris::wire

#endif  // ERIS_WIRE_OBJECTS_H_
