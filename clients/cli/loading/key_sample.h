// Where to cut the key space before a file is loaded: a sample of its keys, and the quantiles of
// the sample. Any thread.
#ifndef ERIS_CLIENTS_CLI_FILES_KEY_SAMPLE_H_
#define ERIS_CLIENTS_CLI_FILES_KEY_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/files/delimited.h"
#include "eris/schema.h"

namespace eris::cli {

// 100000 put each quantile within 0.5 % of the keys (three standard deviations), far inside the
// 20 % by which an AEU's share may pass the mean.
inline constexpr size_t kSampleRecordsMax = 100'000;

// Keys, as words (key_bounds.h), of the field `key_field`, from 0, which is `column`, of up to
// `records_max` records at even distances in the file. Records that do not parse are passed over:
// loading will name them. `fd` must be seekable; its position stays. Errors: Unavailable (reading
// failed).
absl::StatusOr<std::vector<uint64_t>> SampleKeys(int fd, uint64_t file_bytes,
                                                 const DelimitedFormat& format, size_t key_field,
                                                 size_t records_max, const ColumnSchema& column);

// Bounds that cut the distinct keys of the sample into `partitions` equal runs: partitions - 1 of
// them, strictly ascending; fewer when there are too few distinct keys. `others`: bounds of objects
// that are there; the first of them that gives each run 0.5 to 1.1 times its share is taken, so
// that what is read together lies together.
std::vector<uint64_t> SplitPoints(std::vector<uint64_t> sample, size_t partitions,
                                  const std::vector<std::vector<uint64_t>>& others = {});

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_KEY_SAMPLE_H_
