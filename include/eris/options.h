// Options of an engine, and options of an object's creation.
#ifndef ERIS_OPTIONS_H_
#define ERIS_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "eris/balancer.h"
#include "eris/task_scheduling.h"
#include "eris/types.h"

namespace eris {

// Where AEUs are placed if there are fewer of them than cores.
enum class Placement : uint8_t {
  kDense,   // fill a NumaNode before the next one
  kSparse,  // round robin over the NumaNodes
  kNone,    // not pinned: the system's scheduler decides
};

// Where memory is placed. All but kLocal are for experiments.
enum class MemoryPlacement : uint8_t {
  kLocal,        // an AEU's memory on its own NumaNode
  kInterleaved,  // on all NumaNodes in turn, as for a program that does not know of NUMA
  kOneNumaNode,  // all on memory_numa_node
};

// Which kind of huge pages memory uses. If none are available (any more), ordinary pages are used.
enum class HugePages : uint8_t {
  kAuto,      // reserved ones if the machine has some, else for shared memory, else advised
  kReserved,  // of a memory file, from the machine's reserved ones
  kShared,    // of a memory file, if the kernel finds some (shmem_enabled)
  kAdvised,   // anonymous, if the kernel finds some (madvise)
  kNone,
};

struct Options {
  // Empty: the real machine, within the process's allowed cpus. Otherwise an hwloc synthetic
  // description, e.g. "numa:4 core:2 pu:1": AEUs are then pinned round robin on the real cores, and
  // memory carries its virtual NumaNode as a tag, unbound.
  std::string topology{};
  // 0: one AEU per core (or per hardware thread), minus the cores kept for the network. More AEUs
  // than cores are allowed; they share cores round robin.
  uint32_t aeu_count = 0;
  Placement placement = Placement::kDense;
  bool aeu_per_hardware_thread = false;
  // Cores on which no AEU is placed. At least one core always stays for AEUs.
  uint32_t network_cores = 0;
  // Explicit list of cpu numbers, one AEU each: the operating system's numbers, or those of a
  // synthetic topology. Overrides the four options above.
  std::vector<uint32_t> aeu_cpus{};

  // Memory limit of the whole process. 0: what the system lets it have (process_limits.h); more
  // than that is InvalidArgument. It is divided into the shares of MemoryPlan (memory_plan.h):
  // shares set here are kept, the others are derived. If it is too little for the AEUs:
  // InvalidArgument, or fewer AEUs if aeu_count is 0.
  uint64_t process_memory_bytes = 0;
  // The part of process_bytes that the engine may allocate for data, over all NumaNodes. 0: what
  // the other shares leave, at most 80 %.
  uint64_t memory_limit_bytes = 0;
  // The part of process_bytes that the embedding program needs for requests and answers; in a
  // server in_flight_bytes_max. 0: derived.
  uint64_t caller_bytes = 0;
  MemoryPlacement memory_placement = MemoryPlacement::kLocal;
  uint32_t memory_numa_node = 0;  // for kOneNumaNode; must have memory
  // If a NumaNode is full: take memory of the nearest one that is not. Otherwise writes that need
  // memory there are refused.
  bool memory_spill = false;
  HugePages huge_pages = HugePages::kAuto;
  // Memory is allocated in pieces of this size. An object takes at least one on each NumaNode that
  // holds a part of it. A power of two between 2 MiB and 32 MiB.
  size_t superblock_bytes = 2u << 20;
  // How long freed memory is kept for reuse before it is returned to the system. Between 8 and
  // 3,600,000.
  uint32_t memory_decay_ms = 4000;
  // Freed memory beyond this, per NumaNode, is returned at once. 0: a NumaNode's share of a
  // sixteenth of memory_limit_bytes, at least 64 MiB.
  uint64_t memory_kept_bytes_max = 0;
  // When allocation is heavy, up to this much memory per NumaNode is prepared ahead, in the
  // background.
  uint64_t memory_ready_bytes_max = 32u << 20;

  // Each AEU has two incoming buffers of this size. Between 64 KiB and 1 GiB.
  size_t incoming_buffer_bytes = 1 << 20;
  // How much a session or an AEU collects for one AEU before it sends it. Between 4 KiB and
  // incoming_buffer_bytes / 2.
  size_t outgoing_buffer_bytes = 64 << 10;
  // All outgoing buffers of one session or AEU. Between 2 * outgoing_buffer_bytes and 1 GiB.
  size_t port_buffers_bytes_max = 4 << 20;
  // Keys, values and replies that one session may have in flight.
  uint64_t session_in_flight_bytes_max = 256u << 20;
  // How long a caller's thread waits if the AEUs hold all of its session's outgoing buffers. After
  // that its request gets ResourceExhausted.
  uint32_t send_wait_ms_max = 1000;
  // The number of chunks, of 32768 rows each, for the answers of scans and joins. A scan holds at
  // most four, a join at most a quarter of them.
  // Table scans use half as many MiB. One such scan takes at most a quarter of what is left, in two
  // chunks per AEU that holds a part of the table: of 1 MiB each, or smaller if there are many
  // AEUs.
  // 0: what fits the share of process_memory_bytes, at most 128.
  uint32_t scan_chunks_max = 0;

  // Memory limit of the old rows that snapshots need, over all objects. Beyond it the oldest
  // snapshot is given up. 0: an eighth of memory_limit_bytes.
  uint64_t version_bytes_max = 0;
  // What queries over several objects may have of memory_limit_bytes for rows and groups between
  // their steps, all of them together. A query that needs more ends with ResourceExhausted. 0: a
  // quarter of it.
  uint64_t query_bytes_max = 0;
  // Which AEU runs the free tasks of queries; Engine::SetTaskScheduling changes it.
  TaskScheduling task_scheduling = TaskScheduling::kLocalityAware;
  // A snapshot older than this is given up as soon as an AEU keeps old rows for it in a turn, or a
  // caller uses it.
  uint32_t snapshot_age_ms_max = 600'000;
  // How long one turn of an AEU spends on scans before it handles other commands again. It is about
  // the time a lookup waits during scans, apart from the commands before it in its batch. A scan is
  // as fast with this value as with four times as much.
  uint32_t scan_slice_us = 100;

  // How ranges are moved between AEUs (balancer.h). Engine::SetBalancer changes it at run time.
  BalancerOptions balancer{};
};

struct CreateOptions {
  ObjectKind kind = ObjectKind::kIndex;
  // Required for tables; for indexes and hashes use KeyValueSchema:
  //   {.schema = KeyValueSchema(ColumnType::kInt64), .expected = Int64Range(-1000, 1000)}
  // Only indexes with u64 values may have keys of two parts.
  Schema schema = KeyValueSchema();
  // The expected keys, encoded as key_encoding.h says: the initial partitions are even pieces of
  // this range. Keys outside are allowed too (the first and the last partition take them). Default:
  // even pieces of all keys of the type; for dates and timestamps, of the years 1900 to 2099. Not
  // for heap tables.
  //
  // Partitions are cut only between first parts, so all rows with the same first part have one
  // owner. For two-part keys `expected` holds first parts, and its seconds are 0. For clustered
  // tables it holds the key's first eight bytes: the first key column if it has eight bytes, else
  // that column shifted to the top of the word.
  KeyRange expected{};
  // The inner boundaries themselves, strictly ascending; partition i is then owned by AEU i % AEUs.
  // If not empty, `expected` is ignored.
  std::vector<uint64_t> split_points{};
  // An existing object that the new one lies beside: its ranges are cut like those of the other one
  // now, with the same owners, and from then on the balancer and operators' calls move the ranges
  // of both together, by the sum of their loads. So rows with equal values of the first key column
  // stay with one AEU, except for the short time between a move of one and of the other. The keys'
  // first columns must have the same type; date keys of an index or a hash lie beside none of a
  // table. More objects may lie beside either; if one is dropped, the others go on together. Not
  // for heap tables. Excludes `expected` and `split_points`.
  std::string beside{};
};

}  // namespace eris

#endif  // ERIS_OPTIONS_H_
