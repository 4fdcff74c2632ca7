// Literals of a plan's own rows, as values of their columns.
#ifndef ERIS_CAPI_PLAN_LITERALS_H_
#define ERIS_CAPI_PLAN_LITERALS_H_

#include "absl/status/statusor.h"
#include "eris/expression.h"
#include "eris/schema.h"

namespace eris::capi {

// `text` as a literal of expressions, and as a value of the column's type. Errors: InvalidArgument
// (NULL, no literal, of another type, digits that the column does not hold).
absl::StatusOr<Value> LiteralFrom(const ColumnSchema& column, const char* text);

}  // namespace eris::capi

#endif  // ERIS_CAPI_PLAN_LITERALS_H_
