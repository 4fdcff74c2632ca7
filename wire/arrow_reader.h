// Batches of rows in Arrow's IPC format, as columns that an object takes. Columns are found by
// their names. Those of the same layout are read where they are; others are converted into copies.
// What a client says is not believed: bounds of buffers, offsets, counts of nulls and values are
// checked before anything reads them. Any thread.
//
//   column of the object   what a client may send
//   int32, int64           the same, or an integer whose every value fits the type
//   uint64                 uint64, or a shorter integer; a negative value is refused
//   float64                double
//   date                   date32
//   timestamp              timestamp of any unit and zone, in whole microseconds
//   decimal(s)             decimal32, 64 or 128 of scale s, with values of up to 18 digits
//   string                 string, large_string, binary, large_binary
#ifndef ERIS_WIRE_ARROW_READER_H_
#define ERIS_WIRE_ARROW_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eris/schema.h"
#include "wire/arrow_header.h"
#include "wire/columns.h"

namespace eris::wire {

class ArrowReader {
 public:
  // Asked once for a batch, when its rows are known and the bytes that copies will need. An error
  // ends Read.
  using Charge = absl::FunctionRef<absl::Status(uint64_t rows, uint64_t copied_bytes)>;

  // For the columns `columns` of `schema`, which is copied. A nullable column that the client does
  // not send is null in all rows. REQUIRES: a header of kSchema. Errors: InvalidArgument: a column
  // that is not there, comes twice, is missing and not nullable, or of a type that the object's
  // does not take; the message names a cast.
  static absl::StatusOr<ArrowReader> Make(const Schema& schema, absl::Span<const uint32_t> columns,
                                          const ArrowHeader& header);

  // The rows of a batch, none or more, in the order of `columns`. Points into `body`, or into
  // copies. Errors: InvalidArgument (a header of another kind; compressed; parts that do not fit
  // each other; a null in a column without nulls; a value that does not fit), ResourceExhausted (no
  // memory for copies), and those of `charge`.
  absl::StatusOr<ViewedColumns> Read(const ArrowHeader& header, absl::string_view body,
                                     Charge charge) const;

 private:
  enum class Way : uint8_t {
    kInPlace,
    kInteger,     // into a wider type
    kDecimal32,   // into 64 bits
    kDecimal64,   // in place, but with a look at each value
    kDecimal128,  // into 64 bits
    kTimestamp,   // of another unit
    kOffsets32,
    kOffsets64,  // into 32 bits
    kMissing     // nulls
  };
  struct Column {
    ColumnSchema schema{};
    Way way = Way::kMissing;
    uint32_t field = 0;   // its number among the client's
    uint32_t buffer = 0;  // the first of its buffers, which is that of its nulls
    uint8_t value_bytes = 0;
    bool is_signed = true;
    int32_t scale = 0;  // of timestamps: the client's
  };
  // The parts of a column, within the body.
  struct Parts {
    uint64_t nulls = 0;
    absl::string_view validity{};
    absl::string_view values{};
    absl::string_view offsets{};
  };
  class BatchReader;

  static std::optional<Way> WayFor(const ColumnSchema& column, const ArrowField& field);
  absl::Status AddColumn(const ColumnSchema& column, absl::Span<const ArrowField> fields);

  std::vector<Column> columns_;
  uint32_t fields_ = 0;
  uint32_t buffers_ = 0;
};

}  // namespace eris::wire

#endif  // ERIS_WIRE_ARROW_READER_H_
