// Names of column types as people write them: ERIS's own, and those of SQL, without regard to case.
// Pure functions; any thread.
//
//   INTEGER, INT           int32        VARCHAR, TEXT, CHAR    string
//   BIGINT                 int64        BLOB, BYTEA, BINARY    bytes
//   DOUBLE, REAL, FLOAT    float64      DATETIME               timestamp
//   NUMERIC                decimal
#ifndef ERIS_TEXT_TYPE_NAME_H_
#define ERIS_TEXT_TYPE_NAME_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "eris/column_type.h"

namespace eris::text {

// A type that a column of an object may have.
std::optional<ColumnType> ColumnTypeFromName(absl::string_view name);

// "; did you mean bigint?" for a name that resembles one; empty if there is none.
std::string TypeNameHint(absl::string_view name);

}  // namespace eris::text

#endif  // ERIS_TEXT_TYPE_NAME_H_
