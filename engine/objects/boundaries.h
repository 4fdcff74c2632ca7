// The first boundaries of a new object: pure functions from what the creator knows to partition
// starts.
#ifndef ERIS_ENGINE_OBJECTS_BOUNDARIES_H_
#define ERIS_ENGINE_OBJECTS_BOUNDARIES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "eris/options.h"

namespace eris::engine {

// More would only slow routing down; a partition is worth at least some megabytes.
inline constexpr size_t kPartitionsMax = 1 << 16;

// Ascending starts of the partitions, the first one 0. From split points when there are any, else
// even pieces of the expected range, at most one per AEU (fewer if it has fewer keys); unset, of
// all values of the first key column, of dates those of 1900 to 2099. All this is about that column
// alone: of a clustered table about the key's first eight bytes (options.h). A heap table has one
// partition per AEU: 0, 1, 2, ... Errors: InvalidArgument (split points that do not ascend
// strictly, the lowest key among them, too many; an inverted or empty range; a bound that no key of
// the type can be; second parts in the expected range; bounds for a heap table). REQUIRES: a
// checked schema.
absl::StatusOr<std::vector<uint64_t>> InitialStarts(const CreateOptions& options, uint32_t aeus);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_BOUNDARIES_H_
