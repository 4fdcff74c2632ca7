// What a file of delimited text or of NDJSON is, by a part of it: its delimiter, whether it has a
// header, which texts are nulls, and the names and types of its columns. Pure functions; any
// thread.
#ifndef ERIS_CLIENTS_CLI_INFERENCE_INFERENCE_H_
#define ERIS_CLIENTS_CLI_INFERENCE_INFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/files/delimited.h"
#include "clients/cli/files/field_forms.h"
#include "eris/schema.h"

namespace eris::cli {

// What the user has said, and need not be found out.
struct KnownOfFile {
  bool json = false;  // NDJSON
  std::optional<DelimitedFormat> delimited{};
  char escape = '\0';  // of a format that is not known
  std::optional<bool> header{};
  std::optional<std::vector<std::string>> nulls{};
  FieldForms forms{};  // what is set of it
  // The table that the file is for, if it exists: only values of its fractions and dates tell how
  // the file writes those.
  const Schema* table = nullptr;
};

// A part of a file. `beginning`: of the file, behind lines that are passed over. `others`: places
// further behind, each from somewhere in a line.
struct FileSample {
  absl::string_view beginning;
  uint64_t lines_before = 0;  // that are passed over
  bool is_whole = false;  // nothing follows the beginning
  std::vector<absl::string_view> others{};
};

struct InferredFile {
  bool json = false;
  DelimitedFormat delimited{};  // unless it is NDJSON
  bool header = false;
  std::vector<std::string> nulls{};  // besides an empty field
  bool nulls_given = false;          // by the user: then they are null in strings, too
  FieldForms forms{};
  // Each may be null. int64, uint64, float64, date, timestamp, string, or bytes where a text is not
  // UTF-8.
  std::vector<ColumnSchema> columns{};
  std::vector<std::string> keys{};   // of NDJSON: the key of each column
  std::vector<std::string> notes{};  // names that had to be changed, lines above the table
};

// `file`: its name, for messages. Errors: InvalidArgument (it has no record).
absl::StatusOr<InferredFile> InferFile(const std::string& file, const FileSample& sample,
                                       const KnownOfFile& known);

// "delimiter ',', a header, null is 'NA' except in strings", for people.
std::string FormatText(const InferredFile& file);

// Which column has the name; columns.size(): none.
size_t PlaceOf(const InferredFile& file, absl::string_view name);

// Whether a text is one of those that mean null in files of statistics programs and databases. In
// strings it is text, in columns of other types null.
bool IsNullText(absl::string_view text);
// Whether the nulls of a file are null in a column of the type.
bool NullsHold(const InferredFile& file, ColumnType type);


// Adds a column for a key of NDJSON that no line of the sample has, by its first value, which is
// not null. `is_string`: in quotes.
void AddColumn(const std::string& key, absl::string_view text, bool is_string, InferredFile& file);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_INFERENCE_INFERENCE_H_
