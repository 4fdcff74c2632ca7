// Reads parts of a file, from which its columns are inferred. One thread.
#ifndef ERIS_CLIENTS_CLI_LOADING_FILE_SAMPLE_H_
#define ERIS_CLIENTS_CLI_LOADING_FILE_SAMPLE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/inference/inference.h"
#include "clients/cli/loading/import_flags.h"
#include "clients/cli/loading/input_file.h"

namespace eris::cli {

// What a file seems to be, and how it is read then.
struct InferredTable {
  InferredFile file;
  Schema schema{};                  // with the key and the types of the flags
  std::vector<bool> given_types{};  // by column: it is one of the flags
};

// Looks at the beginning of the file and at places at even distances behind it, a few MB in all.
// The position of the descriptor does not change. Errors: InvalidArgument (a file that cannot be
// read twice, or has no line; columns of --key and --types that are not there), Unavailable
// (reading failed).
absl::StatusOr<InferredTable> InferTable(const InputFile& input, const ImportFlags& flags);

// The same of a file for a table that exists: how the file is written, but not its types. A
// delimiter by which it has other columns than the table is not believed. Nothing if it cannot be
// looked at: then it is read as the flags say.
std::optional<InferredFile> InferForms(const InputFile& input, const ImportFlags& flags,
                                       const Schema& schema);
// Whether a header, or the keys of NDJSON, name all columns of the table.
bool NamesAll(const InferredFile& file, const Schema& schema);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_FILE_SAMPLE_H_
