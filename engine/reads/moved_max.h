// How often a read may find its ranges moved before it gives up. Shared by scans, aggregates and
// joins.
#ifndef ERIS_ENGINE_READS_MOVED_MAX_H_
#define ERIS_ENGINE_READS_MOVED_MAX_H_

#include <cstdint>

namespace eris::engine {

// Answers "moved" in a row, with no part answered in between. Each stands for a transfer that has
// not been published, and costs one trip to an AEU, which holds the part while the range is on its
// way.
inline constexpr uint32_t kMovedMax = 10'000;

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_MOVED_MAX_H_
