// Statistics, memory, the load balancer and moves, for C. Included by eris/eris.h: start there.
#ifndef ERIS_C_ADMIN_H_
#define ERIS_C_ADMIN_H_

#include "eris/c/base.h"
#include "eris/c/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

// Counters of one moment. They stop nothing. eris/stats.h tells what each counts.
typedef struct eris_stats eris_stats;

typedef struct eris_engine_stats {
  size_t struct_size;
  size_t aeu_count;
  size_t numa_node_count;
  uint64_t memory_limit_bytes;
  uint64_t scans_open;
  uint64_t scan_chunks_in_use;
  uint64_t requests_in_flight;
  uint64_t sessions_sent;
  uint64_t sessions_refused;
  uint64_t sessions_wakes;
} eris_engine_stats;

typedef struct eris_aeu_stats {
  size_t struct_size;
  uint32_t id;
  uint32_t numa_node;
  int32_t cpu;  // -1: not pinned
  uint64_t turns;
  uint64_t parks;
  uint64_t busy_ns;
  uint64_t commands;
  uint64_t keys;
  uint64_t rows_scanned;
  uint64_t sent;
  uint64_t delivered;
  uint64_t answered;
  uint64_t forwarded;
  uint64_t redirected;
  uint64_t refused;
  uint64_t wakes;
  uint64_t writer_waits;
  uint64_t bytes_brought_home;
  uint64_t bytes_remapped;
  uint64_t homecomings;
  uint64_t homecomings_refused;
  uint64_t memory_bytes;
  uint64_t rows;
} eris_aeu_stats;

typedef struct eris_numa_node_stats {
  size_t struct_size;
  uint32_t id;
  int32_t bound;
  uint64_t reserved_bytes;
  uint64_t used_bytes;
  const uint64_t* keys_sent_to;  // by NumaNode; belongs to the eris_stats
  size_t keys_sent_to_count;
} eris_numa_node_stats;

ERIS_API eris_code eris_stats_read(eris_engine* engine, eris_stats** out, eris_error** error);
ERIS_API eris_code eris_stats_engine(const eris_stats* stats, eris_engine_stats* out,
                                     eris_error** error);
// Errors: ERIS_OUT_OF_RANGE (no such `i`).
ERIS_API eris_code eris_stats_aeu(const eris_stats* stats, size_t i, eris_aeu_stats* out,
                                  eris_error** error);
ERIS_API eris_code eris_stats_numa_node(const eris_stats* stats, size_t i,
                                        eris_numa_node_stats* out, eris_error** error);
ERIS_API void eris_stats_free(eris_stats* stats);

// Accounts of memory. Any thread; O(objects x AEUs). MemoryStats in eris/stats.h.
typedef struct eris_memory eris_memory;

typedef struct eris_memory_totals {
  size_t struct_size;
  size_t numa_node_count;
  size_t object_count;  // an entry for each NumaNode on which an object has memory
  uint64_t process_bytes;
  const char* process_source;  // the limit that sets process_bytes
  uint64_t data_bytes;         // the plan's shares
  uint64_t query_bytes;
  uint64_t scan_bytes;
  uint64_t port_bytes;
  uint64_t caller_bytes;
  uint64_t reserve_bytes;
  uint64_t limit_bytes;     // of data
  uint64_t reserved_bytes;  // what data has now
  uint64_t heap_bytes;
  uint64_t superblock_bytes;
} eris_memory_totals;

typedef struct eris_numa_node_memory {
  size_t struct_size;
  uint32_t id;
  int32_t bound;
  uint64_t reserved_bytes;
  uint64_t in_use_bytes;
  uint64_t buffers_bytes;
  uint64_t kept_bytes;
  uint64_t ready_bytes;
  uint64_t reserved_huge_bytes;
  uint64_t mapped_bytes;
} eris_numa_node_memory;

typedef struct eris_object_memory {
  size_t struct_size;
  const char* object;
  uint32_t id;
  uint32_t numa_node;
  uint64_t committed_bytes;
  uint64_t used_bytes;
  uint64_t cached_bytes;
  uint64_t spare_bytes;
  uint64_t header_bytes;
  uint64_t extent_bytes;
  uint64_t spilled_bytes;
} eris_object_memory;

ERIS_API eris_code eris_memory_read(eris_engine* engine, eris_memory** out, eris_error** error);
ERIS_API eris_code eris_memory_total(const eris_memory* memory, eris_memory_totals* out,
                                     eris_error** error);
// Errors: ERIS_OUT_OF_RANGE.
ERIS_API eris_code eris_memory_numa_node(const eris_memory* memory, size_t i,
                                         eris_numa_node_memory* out, eris_error** error);
ERIS_API eris_code eris_memory_object(const eris_memory* memory, size_t i, eris_object_memory* out,
                                      eris_error** error);
ERIS_API void eris_memory_free(eris_memory* memory);

// Where the kernel really has the memory of NumaNode `i` of those that have a pool, in pages.
typedef struct eris_placement {
  size_t struct_size;
  uint32_t id;
  int32_t bound;  // 0: pages may be anywhere
  uint64_t pages_asked;
  uint64_t pages_local;
  uint64_t pages_elsewhere;
  uint64_t pages_absent;
  uint64_t resident_bytes;
} eris_placement;
// Looks at up to `pages_max` pages of each (0: 65,536) and fills places[0 .. *count), at most
// `capacity` of them; `*count` is the number there are. Blocks in the kernel, some 50 us for 1,000
// pages. Errors: ERIS_INVALID_ARGUMENT, ERIS_UNIMPLEMENTED (a kernel without NUMA),
// ERIS_FAILED_PRECONDITION (the system refuses to tell), ERIS_DEADLINE_EXCEEDED.
// places[i].struct_size is read from places[0].
ERIS_API eris_code eris_memory_verify(eris_engine* engine, uint64_t pages_max, int64_t timeout_us,
                                      eris_placement* places, size_t capacity, size_t* count,
                                      eris_error** error);

// --- the load balancer: eris/balancer.h ---

typedef struct eris_balancer_status {
  size_t struct_size;
  int32_t enabled;
  int32_t paused;
  uint64_t cycles;
  uint64_t links;  // transfers done, by kind
  uint64_t copies;
  uint64_t leaps;
  uint64_t rows_moved;
  uint64_t bytes_copied;
  uint64_t stalls;
  size_t running;  // transfers under way
} eris_balancer_status;

ERIS_API eris_code eris_balancer_read(eris_engine* engine, eris_balancer_status* out,
                                      eris_error** error);
// Takes effect at once. A member that is 0 gets its default, whatever it was. Errors:
// ERIS_INVALID_ARGUMENT; then nothing has changed.
ERIS_API eris_code eris_balancer_set(eris_engine* engine, const eris_balancer_options* options,
                                     eris_error** error);
// While it is paused nothing moves, and moves get ERIS_FAILED_PRECONDITION.
ERIS_API eris_code eris_balancer_pause(eris_engine* engine, eris_error** error);
ERIS_API eris_code eris_balancer_resume(eris_engine* engine, eris_error** error);
// Which AEU runs free tasks of queries opened from now on: as eris_engine_options.
ERIS_API eris_code eris_set_task_scheduling(eris_engine* engine, int32_t scheduling,
                                            eris_error** error);

enum { ERIS_TRANSFER_LINK = 1, ERIS_TRANSFER_COPY = 2, ERIS_TRANSFER_LEAP = 3 };

// A range that changes hands, will or has done so.
typedef struct eris_transfer {
  size_t struct_size;
  const char* object;
  eris_range range;
  uint32_t from;
  uint32_t to;
  int32_t kind;     // ERIS_TRANSFER_...
  int32_t outcome;  // 0: running or planned, 1: done, 2: stopped, 3: refused
  uint64_t rows;
  uint64_t bytes;
  int64_t started_unix_us;  // 0: planned
  int64_t duration_us;
  const char* reason;  // why it was stopped or refused; ""
} eris_transfer;

// A plan of the balancer, what it did, or the history.
typedef struct eris_transfers eris_transfers;

// Newest first. Imbalances are 0.
ERIS_API eris_code eris_transfer_history(eris_engine* engine, eris_transfers** out,
                                         eris_error** error);
// What eris_rebalance would do now; moves nothing. Errors: ERIS_NOT_FOUND.
ERIS_API eris_code eris_plan_balance(eris_engine* engine, const char* name, eris_transfers** out,
                                     eris_error** error);
ERIS_API size_t eris_transfers_count(const eris_transfers* transfers);
ERIS_API eris_code eris_transfers_get(const eris_transfers* transfers, size_t i, eris_transfer* out,
                                      eris_error** error);
ERIS_API double eris_transfers_imbalance_before(const eris_transfers* transfers);
ERIS_API double eris_transfers_imbalance_after(const eris_transfers* transfers);  // predicted
ERIS_API const char* eris_transfers_reason(const eris_transfers* transfers);      // why none; ""
ERIS_API void eris_transfers_free(eris_transfers* transfers);

// Ends a move under way, from another thread.
typedef struct eris_move_stop eris_move_stop;
ERIS_API eris_code eris_move_stop_new(eris_move_stop** out, eris_error** error);
// The move ends at the next chunk boundary with ERIS_CANCELLED; one that has not begun does not.
ERIS_API void eris_move_stop_now(eris_move_stop* stop);
ERIS_API void eris_move_stop_free(eris_move_stop* stop);  // after the move has returned

// Moves block until they are done, and run one at a time. `stop` may be NULL and belongs to one
// call. Errors of all: ERIS_NOT_FOUND, ERIS_INVALID_ARGUMENT, ERIS_FAILED_PRECONDITION (paused; an
// object that cannot move so), ERIS_DEADLINE_EXCEEDED, ERIS_RESOURCE_EXHAUSTED (what has moved
// stays moved).
//
// One cycle of the balancer now. `out` may be NULL.
ERIS_API eris_code eris_rebalance(eris_engine* engine, const char* name, int64_t timeout_us,
                                  eris_move_stop* stop, eris_transfers** out, eris_error** error);
// Cuts a range into even pieces, one for each of `parts` AEUs.
ERIS_API eris_code eris_presplit(eris_engine* engine, const char* name, const eris_range* range,
                                 uint32_t parts, int64_t timeout_us, eris_move_stop* stop,
                                 eris_error** error);
// Gives a range to an AEU. `kind`: ERIS_TRANSFER_...; 0: the cheapest that is possible.
ERIS_API eris_code eris_move_range(eris_engine* engine, const char* name, const eris_range* range,
                                   uint32_t to_aeu, int32_t kind, int64_t timeout_us,
                                   eris_move_stop* stop, eris_error** error);

// A piece of an object's key space whose keys have about the same load.
typedef struct eris_hot_range {
  size_t struct_size;
  eris_range range;
  uint32_t owner;
  double load;  // time spent per second
} eris_hot_range;
typedef struct eris_hot_ranges eris_hot_ranges;

// The hottest ranges, the most load first, at most `ranges_max` (0: 16). Errors: ERIS_NOT_FOUND.
ERIS_API eris_code eris_find_hot_ranges(eris_engine* engine, const char* name, uint32_t ranges_max,
                                        eris_hot_ranges** out, eris_error** error);
ERIS_API size_t eris_hot_ranges_count(const eris_hot_ranges* ranges);
ERIS_API double eris_hot_ranges_load(const eris_hot_ranges* ranges);  // of the whole object
ERIS_API eris_code eris_hot_ranges_get(const eris_hot_ranges* ranges, size_t i, eris_hot_range* out,
                                       eris_error** error);
ERIS_API void eris_hot_ranges_free(eris_hot_ranges* ranges);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ERIS_C_ADMIN_H_
