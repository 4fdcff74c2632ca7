// Columns of Python as the engine's, and the engine's as numpy arrays. Called with the GIL.
#ifndef ERIS_CLIENTS_PYTHON_EMBEDDED_COLUMNS_H_
#define ERIS_CLIENTS_PYTHON_EMBEDDED_COLUMNS_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eris/batch.h"
#include "eris/schema.h"
#include "eris/types.h"

namespace eris::python {

namespace nb = nanobind;

// Columns that a call takes: each (values, offsets, validity) of contiguous arrays of one
// dimension, whose bytes are those of ColumnView; offsets are u32, None for numbers; validity is
// None if no row is null. Borrowed: the arrays outlive it.
class ColumnsIn {
 public:
  // Throws StatusError (InvalidArgument): not as many columns as types, other lengths or offsets.
  ColumnsIn(const nb::list& columns, const std::vector<ColumnSchema>& types);
  RowBatch batch() const { return {rows_, views_}; }
  uint64_t rows() const { return rows_; }

 private:
  uint64_t rows_ = 0;
  std::vector<ColumnView> views_;
};

// What a column of that type has in numpy, as (values, offsets or None); both are views, which keep
// `owner`. Strings are their bytes. The validity of rows: see the caller.
nb::tuple ColumnOut(const ColumnSchema& type, const ColumnView& column, uint64_t rows,
                    nb::handle owner);
// A view of bytes.
nb::object BytesOut(const std::string& bytes, nb::handle owner);

// A bound of a range: the parts of a key, or its first part alone, as numbers; for dates days.
// `table`: as CreateOptions::expected wants it of a table. Throws StatusError (InvalidArgument).
void ReadBound(const std::vector<ColumnSchema>& key, const nb::tuple& parts, bool table,
               uint64_t& first, uint64_t& second);
// The other way: a part of a key as a number.
nb::object KeyPart(ColumnType type, uint64_t encoded);
// None, or (parts, parts) with None for an open end.
KeyRange RangeFrom(const std::vector<ColumnSchema>& key, const std::optional<nb::tuple>& lo,
                   const std::optional<nb::tuple>& hi, bool table = false);

// (name, type's name, scale, nullable) each.
nb::list SchemaOut(const std::vector<ColumnSchema>& columns);
std::vector<ColumnSchema> SchemaIn(const nb::list& columns);
// The columns of the key, in its order.
std::vector<ColumnSchema> KeyOf(const Schema& schema);

}  // namespace eris::python

#endif  // ERIS_CLIENTS_PYTHON_EMBEDDED_COLUMNS_H_
