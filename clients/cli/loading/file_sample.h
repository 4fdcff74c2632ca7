// Reads parts of a file, from which its columns are inferred. One thread.
#ifndef ERIS_CLIENTS_CLI_LOADING_FILE_SAMPLE_H_
#define ERIS_CLIENTS_CLI_LOADING_FILE_SAMPLE_H_

#include <cstdint>
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

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_FILE_SAMPLE_H_
