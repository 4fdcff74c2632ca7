// The options of `eris import`. One thread.
#ifndef ERIS_CLIENTS_CLI_LOADING_IMPORT_FLAGS_H_
#define ERIS_CLIENTS_CLI_LOADING_IMPORT_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/files/delimited.h"
#include "clients/cli/files/field_forms.h"
#include "clients/cli/files/object_flags.h"
#include "clients/cli/text/flags.h"

namespace eris::cli {

inline constexpr char kNdjson[] = "ndjson";

// Whether a file of that name is assumed to have TPC-H's format.
bool IsTblPath(absl::string_view path);

struct ImportFlags {
  std::string object;
  std::string path;
  std::string format;  // csv, tbl or ndjson; empty: from the file's name
  std::string delimiter;
  std::string escape;  // empty: none, or what is inferred
  std::optional<bool> header;
  std::string table;
  std::string key;     // empty: the first columns; for a new table none
  std::string value;   // empty: the first column outside the key
  ObjectFlags create;  // for a missing object; for an existing one they must match
  bool create_missing = true;
  bool keep = false;  // keep an object that a failed import has created
  std::string on_error = "abort";
  bool progress = true;
  uint32_t batch = 32768;
  uint32_t in_flight = 8;
  bool dry_run = false;
  bool infer = false;  // show what the file is, and load nothing
  std::string types;   // "column=type,...", instead of inferred ones
  std::optional<std::string> null_text{};
  uint64_t skip_lines = 0;
  FieldForms forms{};

  void AddTo(Flags& verb);

  // Whether one of them is for an index or a hash, which keeps chosen columns.
  bool AreForIndex() const;
  // Whether a missing object gets the columns that the file seems to have.
  bool Infers() const { return infer || (create.schema.empty() && !AreForIndex()); }
  bool IsTbl() const;
  bool IsJson() const { return format == kNdjson; }
  // Errors: InvalidArgument (the delimiter).
  absl::StatusOr<DelimitedFormat> Delimited() const;
  // The key columns named by the flag, or else the first ones.
  std::vector<std::string> KeyColumns(size_t parts) const;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_IMPORT_FLAGS_H_
