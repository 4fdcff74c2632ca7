// Which columns of an object the fields of a file's records are. Pure functions; any thread.
#ifndef ERIS_CLIENTS_CLI_FILES_FILE_COLUMNS_H_
#define ERIS_CLIENTS_CLI_FILES_FILE_COLUMNS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "clients/cli/files/delimited.h"
#include "clients/cli/files/field_forms.h"
#include "eris/batch.h"
#include "eris/schema.h"

namespace eris::cli {

// The columns that an index or a hash keeps of a file, each by its name, or by its number from 1.
struct ColumnChoice {
  std::vector<std::string> key{"1"};  // one for each column of the key
  std::string value{};                // empty: the first column that is no key
  std::string table{};                // TPC-H table whose column names hold; empty: none
};

struct RowFileFormat {
  DelimitedFormat delimited{};
  // The first record is a header. Unset: it is one, without a choice, if it names any column of the
  // object, and must then name all, in any order; with a choice, if none of its key fields is a
  // key.
  std::optional<bool> header = false;
  // Without it fields are the object's columns, in order, or as the header names them; those that
  // the object has not are passed over.
  std::optional<ColumnChoice> choice{};
  uint64_t string_bytes_max = kTableStringBytesMax;  // of one string
  // Fields are the object's columns, in order, whatever a header says.
  bool in_order = false;
  std::vector<std::string> names{};  // of fields, instead of those of the header
  std::vector<std::string> nulls{};  // texts that are null, as an empty field is
  bool nulls_in_strings = true;      // else only in columns of other types
  // By column: its type is a guess, so no value may lose digits by it (LosesDigits). Empty: none.
  std::vector<bool> guessed{};
  uint64_t skip_lines = 0;           // at the beginning of the file
  FieldForms forms{};
  // One JSON object a line, instead of delimited text. Its fields are the columns, or the choice.
  bool json = false;
  std::vector<std::string> keys{};  // of NDJSON, by column; empty: the columns' names
  bool only_keys = false;           // another key makes a line bad, instead of being passed over
};

struct FileColumns {
  static constexpr size_t kNone = ~size_t{0};
  struct Field {
    size_t column = kNone;  // of the object; kNone: passed over
    std::string name{};     // for messages; empty: it has none
  };
  bool header = false;  // the first record is one
  std::vector<Field> fields{};
};

// `file`: its name, for messages. `first`: the first record, no field if there is none.
// `may_be_header`: nothing but empty lines stands before it. Errors: InvalidArgument (a column that
// is not there, or twice; a name where none is known; columns that an index would lose).
absl::StatusOr<FileColumns> FindColumns(const std::string& file, const RowFileFormat& format,
                                        const Schema& schema,
                                        absl::Span<const absl::string_view> first,
                                        bool may_be_header);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_FILE_COLUMNS_H_
