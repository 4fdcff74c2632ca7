// Stands between a query's operators and the engine's memory for queries, for measuring: counts
// what they ask for, and may take it from malloc, which a preloaded allocator then is. The linker
// makes calls of QueryMemory::Allocate and QueryMemory::Free come here (CMakeLists.txt, --wrap), so
// the engine has no switch for it.
#ifndef ERIS_BENCH_STUDY_QUERY_MEMORY_SEAM_H_
#define ERIS_BENCH_STUDY_QUERY_MEMORY_SEAM_H_

#include <cstdint>

namespace eris::bench::study {

// Before the first query. Then nothing limits or counts the memory of queries in the engine.
void TakeQueryMemoryFromMalloc();

// Bytes that operators have asked for and not freed. Any thread.
struct QueryMemoryAsked {
  uint64_t now = 0;
  uint64_t most = 0;  // since the last call
};
QueryMemoryAsked AskedQueryMemory();

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_QUERY_MEMORY_SEAM_H_
