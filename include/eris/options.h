// What an engine is opened with, and what an object is created with.
#ifndef ERIS_OPTIONS_H_
#define ERIS_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "eris/balancer.h"
#include "eris/types.h"

namespace eris {

// Where AEUs go when there are fewer of them than cores.
enum class Placement : uint8_t {
  kDense,   // fill a NumaNode before the next one
  kSparse,  // round robin over the NumaNodes
  kNone,    // not pinned: the system's scheduler decides
};

// Where memory lies. All but kLocal are for experiments.
enum class MemoryPlacement : uint8_t {
  kLocal,        // an AEU's on its own NumaNode
  kInterleaved,  // on all NumaNodes in turn, as a program gets it that is blind to them
  kOneNumaNode,  // all on memory_numa_node
};

// Which huge pages memory is made of. Where there are none (left), ordinary ones serve.
enum class HugePages : uint8_t {
  kAuto,      // reserved ones if the machine has some, else those for shared memory, else advised
  kReserved,  // of a memory file, from those the machine has reserved
  kShared,    // of a memory file, as the kernel finds them (shmem_enabled)
  kAdvised,   // anonymous, as the kernel finds them (madvise)
  kNone,
};

struct Options {
  // Empty: the machine, inside the process's allowed cpus. Otherwise an hwloc synthetic
  // description, e.g. "numa:4 core:2 pu:1": AEUs are then pinned round robin on the real cores,
  // and memory carries its virtual NumaNode as a tag, unbound.
  std::string topology{};
  // 0: one AEU per core (or per hardware thread), less the cores kept for the network.
  // More AEUs than cores are allowed; they share cores round robin.
  uint32_t aeu_count = 0;
  Placement placement = Placement::kDense;
  bool aeu_per_hardware_thread = false;
  // Cores on which no AEU is placed. At least one core always stays for AEUs.
  uint32_t network_cores = 0;
  // Explicit list of cpu numbers (operating-system ones; a synthetic topology's own), one AEU each;
  // overrides the four above.
  std::vector<uint32_t> aeu_cpus{};

  // What the whole process may take. 0: what the system lets it have (process_limits.h); more than
  // that is InvalidArgument. It is divided into the shares of MemoryPlan (memory_plan.h); those
  // that are set here are kept, the others are derived. Too little for the AEUs is InvalidArgument,
  // or fewer AEUs where aeu_count is 0.
  uint64_t process_memory_bytes = 0;
  // The part of process_bytes that the engine may allocate for data, over all NumaNodes. 0: what
  // the other shares leave, at most 80 %.
  uint64_t memory_limit_bytes = 0;
  // The part of process_bytes that the embedding program needs for requests and their answers; in a
  // server in_flight_bytes_max. 0: derived.
  uint64_t caller_bytes = 0;
  MemoryPlacement memory_placement = MemoryPlacement::kLocal;
  uint32_t memory_numa_node = 0;  // for kOneNumaNode; one with memory
  // When a NumaNode is full: take the memory of the nearest that is not. Otherwise writes that need
  // memory there are refused.
  bool memory_spill = false;
  HugePages huge_pages = HugePages::kAuto;
  // Memory comes in pieces of this size, and an object costs at least one on each NumaNode that
  // holds a part of it. A power of two between 2 MiB and 32 MiB.
  size_t superblock_bytes = 2u << 20;
  // What has been freed is kept for reuse so long, and then given back to the system. Between 8 and
  // 3,600,000.
  uint32_t memory_decay_ms = 2000;
  // Beyond this, per NumaNode, it is given back at once.
  uint64_t memory_kept_bytes_max = 64u << 20;
  // Where much memory is taken, so much is made ready ahead per NumaNode, in the background.
  uint64_t memory_ready_bytes_max = 32u << 20;

  // Each AEU has two incoming buffers of this size. Between 64 KiB and 1 GiB.
  size_t incoming_buffer_bytes = 1 << 20;
  // What a session, or an AEU, collects for one AEU before it sends it over. Between 4 KiB and
  // incoming_buffer_bytes / 2.
  size_t outgoing_buffer_bytes = 64 << 10;
  // All outgoing buffers of one session, or AEU. Between 2 * outgoing_buffer_bytes and 1 GiB.
  size_t port_buffers_bytes_max = 4 << 20;
  // Keys, values and replies that one session may have under way.
  uint64_t session_in_flight_bytes_max = 256u << 20;
  // How long a caller's thread waits while the AEUs hold all of its session's outgoing buffers,
  // before its request gets ResourceExhausted.
  uint32_t send_wait_ms_max = 1000;
  // The answers of scans and joins come from this many chunks of 32768 rows; a scan holds at most
  // four, a join at most a quarter of them. Those of table scans stand in half as many MiB; a scan
  // takes at most a quarter of what is left of them, in two chunks per AEU that holds a part of the
  // table: of 1 MiB each, or smaller ones where there are many AEUs. 0: what fits the share of
  // process_memory_bytes, at most 128.
  uint32_t scan_chunks_max = 0;

  // What the old rows that snapshots need may take, over all objects; beyond it the oldest snapshot
  // is given up. 0: an eighth of memory_limit_bytes.
  uint64_t version_bytes_max = 0;
  // A snapshot older than that is given up, as soon as an AEU keeps old rows for it in a turn, or
  // somebody asks for it.
  uint32_t snapshot_age_ms_max = 600'000;
  // How long one turn of an AEU spends on scans before it looks after other commands again: about
  // what a lookup beside scans waits, but for the rest of a batch of commands before it. Scans are
  // as fast with it as with four times as much.
  uint32_t scan_slice_us = 100;

  // How ranges are moved between AEUs (balancer.h); changes at run time by Engine::SetBalancer.
  BalancerOptions balancer{};
};

struct CreateOptions {
  ObjectKind kind = ObjectKind::kIndex;
  // Of tables needed; of indexes and hashes KeyValueSchema:
  //   {.schema = KeyValueSchema(ColumnType::kInt64), .expected = Int64Range(-1000, 1000)}
  // Keys of two parts are of indexes with u64 values alone.
  Schema schema = KeyValueSchema();
  // The keys that are expected, encoded as key_encoding.h says: the initial partitions are even
  // pieces of it. Keys outside are welcome too (the first and the last partition take them).
  // Without it: even pieces of all keys of the type; of dates, those of 1900 to 2099. Not of heap
  // tables.
  //
  // Partitions are cut between first parts, so all rows with the same one have one owner: of
  // two-part keys these are first parts (the seconds of `expected` are 0), of clustered tables the
  // key's first eight bytes: the key column itself, where the first one has eight, else shifted to
  // the top of the word.
  KeyRange expected{};
  // Or the inner boundaries themselves, strictly ascending; partition i is then owned by AEU
  // i % AEUs. When not empty, `expected` is ignored.
  std::vector<uint64_t> split_points{};
};

}  // namespace eris

#endif  // ERIS_OPTIONS_H_
