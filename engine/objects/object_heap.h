// The memory of an object on the general heap, whatever its rows: the directory of its caches,
// figures and samples of each AEU, a manager for each NumaNode, tables of ranges. It counts towards
// the limit for data; otherwise clients could fill the machine with empty objects. Measured as
// resident memory of a server with 40 empty objects of 4 AEUs on one NumaNode, and with one object
// of 4,000 ranges: 167 KiB per object, 1 KiB per range. Since then each AEU's cache has grown by
// 7 KiB, its lists of remote spans.
#ifndef ERIS_ENGINE_OBJECTS_OBJECT_HEAP_H_
#define ERIS_ENGINE_OBJECTS_OBJECT_HEAP_H_

#include <cstdint>

namespace eris::engine {

inline constexpr uint64_t kHeapBytesOfMember = 41 << 10;
inline constexpr uint64_t kHeapBytesOfObject = 32 << 10;  // the directory of its caches
inline constexpr uint64_t kHeapBytesOfManager = 1 << 10;
inline constexpr uint64_t kHeapBytesOfRange = 1 << 10;

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_OBJECT_HEAP_H_
