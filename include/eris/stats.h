// Statistics of a running engine. Counters are read without stopping anything: each is exact at
// some moment near the call, and they only grow unless said otherwise.
#ifndef ERIS_STATS_H_
#define ERIS_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "eris/memory_plan.h"
#include "eris/task_scheduling.h"
#include "eris/types.h"

namespace eris {

// What routing has moved, in keys; a command without keys counts as one. When the engine is idle,
// summed over all AEUs and the sessions: sent == delivered, and delivered == answered + forwarded.
struct RoutingStats {
  uint64_t sent = 0;        // by the AEU: passed on, or looked up for a join
  uint64_t delivered = 0;   // taken from its incoming buffers
  uint64_t answered = 0;    // executed here, or answered "moved" or "no such object"
  uint64_t forwarded = 0;   // belong to another AEU, and were sent on to it
  uint64_t redirected = 0;  // part of answered: went back to the sender as moved
  uint64_t refused = 0;     // found no room in an outgoing buffer
  uint64_t wakes = 0;       // system calls to wake other AEUs
  // Turns that found another AEU in the middle of a copy into this one's buffer. Frequent if AEUs
  // lose their cores to other threads.
  uint64_t writer_waits = 0;
};

struct AeuStats {
  AeuId id;
  NumaNodeId numa_node;
  int32_t cpu = -1;           // operating-system number; -1: not pinned
  uint64_t turns = 0;         // loop turns that found work
  uint64_t parks = 0;         // times it went to sleep
  uint64_t busy_ns = 0;       // time in turns that found work
  uint64_t commands = 0;      // data commands executed
  uint64_t keys = 0;          // keys looked up, upserted or erased
  uint64_t rows_scanned = 0;  // rows read, whether a filter kept them or not
  RoutingStats routing;
  TaskStats tasks;  // free tasks of queries
  // Leaps to it: the bytes that have followed the ranges, and those of them whose pages were moved
  // as they were; the objects whose memory is on its way now (may fall); how often it was given up,
  // because the NumaNode had no memory or the kernel refused: the rest stayed on another one.
  uint64_t bytes_brought_home = 0;
  uint64_t bytes_remapped = 0;
  uint64_t homecomings = 0;
  uint64_t homecomings_refused = 0;
  uint64_t memory_bytes = 0;  // allocated by it now (may fall)
  uint64_t rows = 0;          // held by it now (may fall)
};

struct NumaNodeStats {
  NumaNodeId id;
  uint64_t reserved_bytes = 0;  // superblocks taken from the system now
  uint64_t used_bytes = 0;      // allocated to data objects now
  bool bound = false;           // the kernel accepted the binding
  // Keys, as RoutingStats::sent, that AEUs and sessions of this NumaNode have sent to the AEUs of
  // each NumaNode, by its id. Sessions that have ended are included. The engine's own commands
  // (creating, dropping and moving) count for NumaNode 0. While the engine is idle, all NumaNodes
  // together have sent what all AEUs and sessions have.
  std::vector<uint64_t> keys_sent_to{};
};

struct EngineStats {
  std::vector<AeuStats> aeus;
  std::vector<NumaNodeStats> numa_nodes;
  std::vector<ObjectInfo> objects;
  uint64_t memory_limit_bytes = 0;
  uint64_t scans_open = 0;
  uint64_t scan_chunks_in_use = 0;
  uint64_t requests_in_flight = 0;
  // Sums of all sessions, including ended ones, and of the engine's own Port. Only sent, refused
  // and wakes are set.
  RoutingStats sessions_routing;
};

// Blocks of one size.
struct SizeClassMemory {
  uint64_t block_bytes = 0;
  uint64_t used_blocks = 0;    // live
  uint64_t cached_blocks = 0;  // free, kept by AEUs
};

// What Engine::Memory looks at.
struct MemoryStatsOptions {
  // What objects have committed: blocks in use and free ones, headers and extents. It looks at each
  // AEU's part of each object. Without it these figures are 0, and there are no classes.
  bool parts = true;
};

// The memory that one object has on one NumaNode.
//   committed = used + cached + spare + header + extent
// Exact while there are no writes; otherwise one figure may already include a change that another
// does not.
struct ObjectMemory {
  std::string object{};
  ObjectId id{};
  NumaNodeId numa_node{};
  uint64_t committed_bytes = 0;  // taken from the NumaNode's pool
  uint64_t used_bytes = 0;       // in live blocks
  uint64_t cached_bytes = 0;     // in free blocks that AEUs keep
  uint64_t spare_bytes = 0;      // not cut into blocks, or left over where they end
  uint64_t header_bytes = 0;
  uint64_t extent_bytes = 0;               // in extents: separate pieces for larger allocations
  uint64_t spilled_bytes = 0;              // part of committed: really on other NumaNodes
  std::vector<SizeClassMemory> classes{};  // by size; only classes with a block
};

// What the pool of one NumaNode has from the system now.
//   reserved = in use + kept + ready (+ memory on its way back)
//   in use = buffers + what objects have committed here (+ objects being created or dropped)
struct NumaNodeMemory {
  NumaNodeId id{};
  bool bound = false;  // the kernel accepts the binding
  uint64_t reserved_bytes = 0;
  uint64_t in_use_bytes = 0;
  uint64_t buffers_bytes = 0;        // part of in_use: AEUs' incoming buffers
  uint64_t kept_bytes = 0;           // returned by objects, kept for reuse for a while
  uint64_t ready_bytes = 0;          // made ready ahead
  uint64_t reserved_huge_bytes = 0;  // part of reserved: from the machine's reserved huge pages
  uint64_t mapped_bytes = 0;         // address space
};

struct MemoryStats {
  MemoryPlan plan{};
  uint64_t limit_bytes = 0;     // plan.data_bytes
  uint64_t reserved_bytes = 0;  // of all NumaNodes plus heap_bytes; never above the limit
  uint64_t heap_bytes = 0;      // memory of objects apart from their rows
  uint64_t superblock_bytes = 0;
  std::vector<std::string> pages{};          // the kinds asked for, in this order
  std::vector<NumaNodeMemory> numa_nodes{};  // those with a pool, by id
  std::vector<ObjectMemory> objects{};       // by name, then NumaNode
};

// Pages of 4 KiB per NumaNode that VerifyMemory looks at.
inline constexpr uint64_t kVerifyPagesDefault = 65536;
inline constexpr uint64_t kVerifyPagesMax = uint64_t{1} << 32;

struct VerifyMemoryOptions {
  uint64_t pages_max = kVerifyPagesDefault;  // spread evenly; 0: every page
  bool rows = false;  // also MemoryVerification::rows: each AEU walks over all of its rows
};

// Pages that lie on one NumaNode. Both numbers are the operating system's.
struct LocatedMemory {
  uint32_t os_numa_node = 0;
  uint64_t pages = 0;
  bool local = false;                 // where the pool asked for them
  std::vector<uint64_t> addresses{};  // if not local: the first eight
};

// Where the memory of one NumaNode's pool was found. Memory that other NumaNodes' objects have
// spilled to this pool counts here.
struct NumaNodePlacement {
  NumaNodeId id{};
  // False (a synthetic topology, or a kernel that refuses): pages may be anywhere, and none counts
  // as local or elsewhere.
  bool bound = false;
  std::vector<uint32_t> os_numa_nodes{};  // where they should be; all if interleaved
  uint64_t pages_asked = 0;
  uint64_t pages_local = 0;
  uint64_t pages_elsewhere = 0;
  uint64_t pages_absent = 0;  // never touched, or returned since
  std::vector<LocatedMemory> located{};
  // The whole pool as the kernel has it mapped now; the last three are huge pages. All are 0 if the
  // system does not show it (/proc/self/smaps).
  uint64_t resident_bytes = 0;
  uint64_t anonymous_huge_bytes = 0;
  uint64_t shared_huge_bytes = 0;    // of memory files
  uint64_t reserved_huge_bytes = 0;  // the machine's reserved ones
};

// What an AEU's rows of an index or a heap table take, as the AEU has found them in a walk: exact
// while nothing is written or moved. Rows of other kinds lie on other NumaNodes only if they were
// spilled (ObjectMemory).
struct RowMemory {
  std::string object{};
  AeuId aeu{};
  NumaNodeId numa_node{};
  uint64_t bytes = 0;         // of blocks
  uint64_t remote_bytes = 0;  // part of bytes: on other NumaNodes, after a leap or spilled
};

struct MemoryVerification {
  std::vector<NumaNodePlacement> numa_nodes{};  // those with a pool, by id
  std::vector<RowMemory> rows{};                // if asked for; by name, then AEU
};

}  // namespace eris

#endif  // ERIS_STATS_H_
