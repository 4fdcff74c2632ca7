// The scalar functions of a plan as expressions, by their names without signatures, and the options
// of all functions. Any thread, no state.
#ifndef ERIS_SERVER_SUBSTRAIT_FUNCTIONS_H_
#define ERIS_SERVER_SUBSTRAIT_FUNCTIONS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/substrait/part.h"
#include "server/substrait/place.h"
#include "substrait/algebra.pb.h"

namespace eris::server::plans {

bool IsFunction(absl::string_view name);

// An argument that the function takes from an enumeration is a literal with its text. Errors:
// InvalidArgument (a wrong number of arguments, kinds of values that the function does not take,
// limits as in Compose), Unimplemented (what ERIS computes only for literals; parts of dates that
// it does not have). REQUIRES: IsFunction(name).
absl::StatusOr<Part> CallFunction(absl::string_view name, std::vector<Part> arguments,
                                  const Place& place);

// `result`: of the function, scalar or aggregate. Errors: Unimplemented (an option for which no
// preference is what ERIS does for such results).
absl::Status CheckOptions(
    const google::protobuf::RepeatedPtrField<::substrait::FunctionOption>& options,
    ValueKind result, const Place& place);

}  // namespace eris::server::plans

#endif  // ERIS_SERVER_SUBSTRAIT_FUNCTIONS_H_
