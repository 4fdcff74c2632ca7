// Determines where to cut the key space before a file is loaded: a sample of its keys, and the
// quantiles of the sample. Any thread.
#ifndef ERIS_CLIENTS_CLI_LOADING_KEY_SAMPLE_H_
#define ERIS_CLIENTS_CLI_LOADING_KEY_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/files/delimited.h"
#include "clients/cli/files/field_forms.h"
#include "eris/schema.h"

namespace eris::cli {

// With 100000 each quantile is within 0.5 % of the keys (three standard deviations), far less than
// the 20 % by which an AEU's share may exceed the mean.
inline constexpr size_t kSampleRecordsMax = 100'000;

// As SplitRecord without the format.
using SplitFunction = absl::FunctionRef<SplitResult(
    absl::string_view text, bool at_end, std::vector<absl::string_view>& fields,
    std::string& scratch, size_t& consumed, std::string& problem)>;

// Keys, as words (key_bounds.h), of the field `key_field`, counted from 0, which is `column`, from
// up to `records_max` records at even distances in the file; fewer if its lines are long, and none
// if most are longer than 64 KiB. Records that do not parse are skipped: loading will report them.
// `fd` must be seekable; its position does not change. Errors: Unavailable (reading failed).
absl::StatusOr<std::vector<uint64_t>> SampleKeys(int fd, uint64_t file_bytes, SplitFunction split,
                                                 size_t key_field, size_t records_max,
                                                 const ColumnSchema& column,
                                                 const FieldForms& forms = {});
// The same of delimited text.
absl::StatusOr<std::vector<uint64_t>> SampleKeys(int fd, uint64_t file_bytes,
                                                 const DelimitedFormat& format, size_t key_field,
                                                 size_t records_max, const ColumnSchema& column,
                                                 const FieldForms& forms = {});

// Bounds that cut the distinct keys of the sample into `partitions` equal runs: partitions - 1
// bounds, strictly ascending, or fewer if there are too few distinct keys. `others`: bounds of
// existing objects. The first of them that gives each run 0.5 to 1.1 times its share is used, so
// that rows read together are on the same AEU.
std::vector<uint64_t> SplitPoints(std::vector<uint64_t> sample, size_t partitions,
                                  const std::vector<std::vector<uint64_t>>& others = {});

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_KEY_SAMPLE_H_
