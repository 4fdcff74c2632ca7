// The keys and values of a part of an NDJSON file. Pure functions; any thread.
#ifndef ERIS_CLIENTS_CLI_INFERENCE_JSON_SAMPLE_H_
#define ERIS_CLIENTS_CLI_INFERENCE_JSON_SAMPLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/inference/inference.h"

namespace eris::cli {

// One for each key, in the order in which they come.
struct JsonKey {
  std::string key;
  std::vector<std::string> texts{};  // of values that are not null
  bool strings = false;              // one of them is a string that is neither empty nor IsNullText
  bool nested = false;               // one is an array or an object
};

// Bad lines are left out: the import will name them. Errors: InvalidArgument (no line is good; what
// is wrong with the first one).
absl::StatusOr<std::vector<JsonKey>> SampleJson(const std::string& file, const FileSample& sample);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_INFERENCE_JSON_SAMPLE_H_
