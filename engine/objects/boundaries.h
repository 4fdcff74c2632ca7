// The first boundaries of a new object: pure functions from the creator's options to partition
// starts.
#ifndef ERIS_ENGINE_OBJECTS_BOUNDARIES_H_
#define ERIS_ENGINE_OBJECTS_BOUNDARIES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "eris/options.h"

namespace eris::engine {

// More would only slow down routing; a partition should have at least some megabytes.
inline constexpr size_t kPartitionsMax = 1 << 16;

// Ascending starts of the partitions, the first one 0. Uses the split points if there are any.
// Otherwise even pieces of the expected range, at most one per AEU (fewer if it has fewer keys). If
// that is unset: of all values of the first key column, for dates those of 1900 to 2099. Everything
// refers to that column; for a clustered table to the key's first eight bytes (options.h). A heap
// table has one partition per AEU: 0, 1, 2, ...
// Errors: InvalidArgument (split points that do not ascend strictly, that include the lowest key,
// or are too many; an inverted or empty range; a bound that no key of the type can have; second
// parts in the expected range; bounds for a heap table). REQUIRES: a checked schema.
absl::StatusOr<std::vector<uint64_t>> InitialStarts(const CreateOptions& options, uint32_t aeus);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_BOUNDARIES_H_
