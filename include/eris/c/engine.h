// Engines and their catalogue of objects, for C. Included by eris/eris.h: start there.
#ifndef ERIS_C_ENGINE_H_
#define ERIS_C_ENGINE_H_

#include "eris/arrow_c_data.h"
#include "eris/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// The AEUs and the data objects. Data lives in memory only and ends with the engine.
typedef struct eris_engine eris_engine;

enum { ERIS_ALGORITHM_ONE_SHOT = 1, ERIS_ALGORITHM_MOVING_AVERAGE = 2, ERIS_ALGORITHM_SIZE = 3 };

// The load balancer's options: BalancerOptions in eris/balancer.h has their limits and defaults.
typedef struct eris_balancer_options {
  size_t struct_size;
  int32_t disabled;       // 1: loads are not checked; moves that are asked for are made
  int32_t algorithm;      // ERIS_ALGORITHM_...; 0: one shot
  uint32_t window;        // of the moving average
  uint32_t period_ms;     // between two checks
  uint32_t max_pause_us;  // CPU time that one turn of an AEU may spend on a transfer
  uint32_t reserved;      // 0
  double threshold;       // imbalance from which on ranges are moved
  uint64_t max_bytes_per_s;
} eris_balancer_options;

// Options in eris/options.h has the meaning, limits and default of each.
typedef struct eris_engine_options {
  size_t struct_size;
  const char* topology;  // NULL: this machine; otherwise hwloc's synthetic description
  uint32_t aeu_count;    // 0: one for each core
  int32_t placement;     // 0: dense, 1: sparse, 2: not pinned
  int32_t aeu_per_hardware_thread;
  uint32_t network_cores;
  const uint32_t* aeu_cpus;  // overrides the four above
  size_t aeu_cpu_count;
  uint64_t process_memory_bytes;
  uint64_t memory_limit_bytes;
  uint64_t caller_bytes;
  int32_t memory_placement;  // 0: local, 1: interleaved, 2: on one NumaNode
  uint32_t memory_numa_node;
  int32_t memory_spill;
  int32_t huge_pages;  // 0: automatic, 1: reserved, 2: shared, 3: advised, 4: none
  uint64_t superblock_bytes;
  uint64_t memory_kept_bytes_max;
  uint64_t memory_ready_bytes_max;
  uint64_t incoming_buffer_bytes;
  uint64_t outgoing_buffer_bytes;
  uint64_t port_buffers_bytes_max;
  uint64_t session_in_flight_bytes_max;
  uint64_t version_bytes_max;
  uint64_t query_bytes_max;
  uint32_t memory_decay_ms;
  uint32_t send_wait_ms_max;
  uint32_t scan_chunks_max;
  int32_t task_scheduling;  // 0: default, 1: own, 2: locality-aware, 3: blind
  uint32_t snapshot_age_ms_max;
  uint32_t scan_slice_us;
  const eris_balancer_options* balancer;  // NULL: defaults
} eris_engine_options;

// Detects the machine, places the AEUs and starts their threads. Errors: ERIS_INVALID_ARGUMENT (an
// option out of its limits), ERIS_RESOURCE_EXHAUSTED (memory, threads).
ERIS_API eris_code eris_engine_open(const eris_engine_options* options, eris_engine** out,
                                    eris_error** error);
// Waits for calls under way, runs their callbacks, stops the threads, gives all memory back and
// frees the handle. NULL: nothing to do. Not from a callback; no other thread may be inside a call
// of this engine. Error: ERIS_FAILED_PRECONDITION, and nothing has changed: sessions, objects,
// scans, chunks, snapshots, calls or Arrow structures of this engine have not been freed (the
// message counts them), or this is one of the engine's callbacks.
ERIS_API eris_code eris_engine_close(eris_engine* engine, eris_error** error);

// The machine and the placement of the AEUs, as text for people; and what the system refused when
// the engine opened, a line each ("": nothing). `*out` is freed with eris_text_free.
ERIS_API eris_code eris_explain_topology(eris_engine* engine, char** out, eris_error** error);
ERIS_API eris_code eris_engine_notes(eris_engine* engine, char** out, eris_error** error);
ERIS_API void eris_text_free(char* text);

typedef struct eris_create_options {
  size_t struct_size;
  int32_t kind;  // ERIS_KIND_...; 0: an index
  // For an index or a hash, instead of columns: the types of key, second part of the key, and
  // value. 0: u64, no second part, u64.
  int32_t key_type;
  int32_t second_key_type;
  int32_t value_type;
  // The columns, or the same as a struct of Arrow ("+s"), which stays the caller's. Tables need
  // one of both.
  const eris_column_schema* columns;
  size_t column_count;
  const struct ArrowSchema* arrow_schema;
  const uint32_t* key;  // numbers of the key's columns, in the order in which they sort
  size_t key_count;
  // The expected keys: the first partitions are even pieces of it. Keys outside are allowed, too.
  eris_range expected;
  const uint64_t* split_points;  // the inner boundaries themselves, strictly ascending
  size_t split_point_count;
  const char* beside;  // an object whose ranges move with this one's: CreateOptions in options.h
} eris_create_options;

// Creates an object. Blocks until every AEU has its partition. Errors: ERIS_INVALID_ARGUMENT,
// ERIS_ALREADY_EXISTS, ERIS_NOT_FOUND (the object that options->beside names),
// ERIS_RESOURCE_EXHAUSTED.
ERIS_API eris_code eris_create(eris_engine* engine, const char* name,
                               const eris_create_options* options, eris_error** error);
// Blocks until every AEU has freed the object's memory. Handles of it stay valid; calls with them
// get ERIS_NOT_FOUND. Errors: ERIS_NOT_FOUND.
ERIS_API eris_code eris_drop(eris_engine* engine, const char* name, eris_error** error);
// The same only if writes of exactly `rows` rows have been acknowledged since the object of that id
// was created. Errors: ERIS_NOT_FOUND (also if another object has the name),
// ERIS_FAILED_PRECONDITION (another count).
ERIS_API eris_code eris_drop_if_written(eris_engine* engine, const char* name, uint32_t id,
                                        uint64_t rows, eris_error** error);

// Objects as they were when it was made.
typedef struct eris_catalogue eris_catalogue;

typedef struct eris_object_info {
  size_t struct_size;
  const char* name;
  uint32_t id;
  int32_t kind;
  uint64_t keys;  // rows, as of the AEUs' last turns
  uint64_t memory_bytes;
  const eris_column_schema* columns;
  size_t column_count;
  const uint32_t* key;
  size_t key_count;
  const uint64_t* partition_starts;  // partition i has [starts[i], starts[i + 1])
  const uint32_t* partition_owners;  // its AEU
  size_t partition_count;
  const char* const* beside;
  size_t beside_count;
} eris_object_info;

// All objects by name; or the one of a name. Errors of the second: ERIS_NOT_FOUND.
ERIS_API eris_code eris_list(eris_engine* engine, eris_catalogue** out, eris_error** error);
ERIS_API eris_code eris_describe(eris_engine* engine, const char* name, eris_catalogue** out,
                                 eris_error** error);
ERIS_API size_t eris_catalogue_count(const eris_catalogue* catalogue);
// Fills `info`, whose pointers belong to the catalogue. Errors: ERIS_OUT_OF_RANGE (no such `i`).
ERIS_API eris_code eris_catalogue_get(const eris_catalogue* catalogue, size_t i,
                                      eris_object_info* info, eris_error** error);
ERIS_API void eris_catalogue_free(eris_catalogue* catalogue);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ERIS_C_ENGINE_H_
