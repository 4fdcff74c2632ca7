// Literals and types of a plan as values and column types of ERIS, and casts. Any thread, no state.
#ifndef ERIS_SERVER_SUBSTRAIT_LITERALS_H_
#define ERIS_SERVER_SUBSTRAIT_LITERALS_H_

#include <google/protobuf/message.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/substrait/part.h"
#include "server/substrait/place.h"
#include "substrait/algebra.pb.h"
#include "substrait/type.pb.h"

namespace eris::server::plans {

// The name of the field that is set in the oneof of that name; empty if none is.
// REQUIRES: the message's type has such a oneof.
absl::string_view NameInOneof(const google::protobuf::Message& message, const char* oneof);

// A literal null that remembers its type. Types that ERIS does not have are forgotten.
Part NullOfType(const ::substrait::Type& type);

// A boolean becomes a condition. Errors: InvalidArgument (no value, a decimal of a wrong length or
// scale), Unimplemented (a type that ERIS does not have).
absl::StatusOr<Part> TakeLiteral(const ::substrait::Expression::Literal& literal,
                                 const Place& place);

// Columns have seconds with so many digits behind the point.
inline constexpr int kMicrosecondDigits = 6;
// The digits of its seconds' fraction that a type of timestamps has; nullopt for other types.
std::optional<int> TimestampDigits(const ::substrait::Type& type);

// The kind of values that a type has; nullopt for a type that ERIS does not have.
std::optional<ValueKind> KindOfType(const ::substrait::Type& type);

// The type of a column for the values of a type; nullopt for a type that ERIS does not have.
std::optional<ValueType> ColumnOfType(const ::substrait::Type& type);

// `part` cast to `type`: the part itself if the cast changes nothing, a literal where it can be
// computed here, else a kCast. Errors: InvalidArgument (no type, a decimal's precision or scale, a
// text that is no date or timestamp), Unimplemented (other casts).
absl::StatusOr<Part> CastPart(Part part, const ::substrait::Type& type, bool null_on_failure,
                              const Place& place);

}  // namespace eris::server::plans

#endif  // ERIS_SERVER_SUBSTRAIT_LITERALS_H_
