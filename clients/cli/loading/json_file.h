// Which files are NDJSON. One thread.
#ifndef ERIS_CLIENTS_CLI_LOADING_JSON_FILE_H_
#define ERIS_CLIENTS_CLI_LOADING_JSON_FILE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/cli/loading/import_flags.h"
#include "clients/cli/loading/input_file.h"

namespace eris::cli {

// Sets the format to ndjson if none is given and the file is called .ndjson or .jsonl, or is called
// .json and begins with an object; behind the ending there may be that of a compressed file.
// Errors: InvalidArgument (one array of JSON; flags that are for delimited text).
absl::Status SetJsonFormat(const InputFile& input, ImportFlags& flags);

// What a file is by its name: .ndjson and .jsonl, or .json, or none of them.
enum class JsonName { kNone, kLines, kJson };
JsonName JsonNameOf(absl::string_view path);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_JSON_FILE_H_
