// Snapshots, scans, aggregates and joins, for C. Included by eris/eris.h: start there.
#ifndef ERIS_C_SCAN_H_
#define ERIS_C_SCAN_H_

#include "eris/arrow_c_data.h"
#include "eris/c/base.h"
#include "eris/c/engine.h"
#include "eris/c/session.h"

#ifdef __cplusplus
extern "C" {
#endif

// One moment of all objects. Old rows are kept for it while it is held; if they are too many, or it
// is too old, it is given up and its scans end with ERIS_ABORTED.
typedef struct eris_snapshot eris_snapshot;
// A scan, join or query under way.
typedef struct eris_scan eris_scan;
// Rows of a scan: columns in memory of the engine. A scan pauses while its reader keeps chunks.
typedef struct eris_chunk eris_chunk;
// The shares in which several readers can scan an object.
typedef struct eris_shares eris_shares;

// Does not wait for AEUs. Errors: ERIS_RESOURCE_EXHAUSTED (the maximum is held).
ERIS_API eris_code eris_snapshot_take(eris_engine* engine, eris_snapshot** out, eris_error** error);
ERIS_API int32_t eris_snapshot_aborted(const eris_snapshot* snapshot);  // 1: given up
ERIS_API uint64_t eris_snapshot_epoch(const eris_snapshot* snapshot);   // later ones have more
ERIS_API void eris_snapshot_free(eris_snapshot* snapshot);

// This structure never grows. Values from `lo` to `last`, both included.
typedef struct eris_value_range {
  uint64_t lo;
  uint64_t last;
} eris_value_range;

// A part of a table's rows: `index` of `count` even parts of what an AEU has. Never grows.
typedef struct eris_table_share {
  uint32_t aeu;
  uint32_t index;
  uint32_t count;
} eris_table_share;

// What a scan reads. Texts are those of `eris scan`: text/expression_text.h describes them, the
// user guide has examples. range, backward and values are for indexes; filter, group_by, aggregates
// and share for tables.
typedef struct eris_query {
  size_t struct_size;
  eris_range range;  // all members 0: all keys
  const eris_value_range* values;
  int32_t backward;
  const char* filter;      // "l_quantity < 24 and l_shipdate >= 1994-01-01"; NULL: all rows
  const char* columns;     // "a, b * 2 as c"; NULL: all
  const char* group_by;    // "a, b"
  const char* aggregates;  // "count(*), sum(a * b) as s"
  const eris_table_share* share;
  uint64_t limit;  // rows; 0: all
  const eris_snapshot* snapshot;
  const void* resume;  // what eris_chunk_resume gave, to go on after that chunk
  size_t resume_bytes;
} eris_query;

// Starts a scan: of an index in key order, of a table by all AEUs in parallel. `query` NULL: all
// rows. Errors: ERIS_INVALID_ARGUMENT (the query), ERIS_NOT_FOUND, ERIS_FAILED_PRECONDITION (a
// hash), ERIS_RESOURCE_EXHAUSTED (snapshots, chunks), ERIS_ABORTED (the snapshot was given up).
ERIS_API eris_code eris_scan_open(eris_session* session, const eris_object* object,
                                  const eris_query* query, eris_scan** out, eris_error** error);
// The columns that eris_scan_open would give, without a scan. The caller releases `out`.
ERIS_API eris_code eris_answer_schema(eris_session* session, const eris_object* object,
                                      const eris_query* query, struct ArrowSchema* out,
                                      eris_error** error);
// The columns of its chunks. The caller releases `out`.
ERIS_API eris_code eris_scan_schema(const eris_scan* scan, struct ArrowSchema* out,
                                    eris_error** error);
// The next chunk; `*out` is NULL after the last. Blocks until an AEU has filled it. Errors:
// ERIS_DEADLINE_EXCEEDED (ask again), ERIS_OUT_OF_RANGE (arithmetic), ERIS_RESOURCE_EXHAUSTED,
// ERIS_ABORTED, ERIS_NOT_FOUND, ERIS_FAILED_PRECONDITION (a join whose reader keeps all chunks),
// ERIS_CANCELLED.
ERIS_API eris_code eris_scan_next(eris_scan* scan, int64_t timeout_us, eris_chunk** out,
                                  eris_error** error);
// The same without waiting: `done` runs once, as eris_result_callback does, with the chunk, which
// may be NULL at the end, or an error; both belong to the callee. One call under way at most:
// ERIS_FAILED_PRECONDITION.
typedef void (*eris_chunk_callback)(void* user, eris_chunk* chunk, eris_error* error);
ERIS_API eris_code eris_scan_next_async(eris_scan* scan, eris_chunk_callback done, void* user,
                                        eris_error** error);
// Ends it: a call under way gets ERIS_CANCELLED. Any thread.
ERIS_API void eris_scan_cancel(eris_scan* scan);
// Ends it. Not from its callback, nor while another thread is inside a call of it.
ERIS_API void eris_scan_free(eris_scan* scan);
// The rest of the scan as a stream of struct arrays, each without a copy while the reader keeps few
// of them. Frees the scan, also after an error. The caller releases the stream; until it and all of
// its arrays have been released, the engine cannot be closed. Errors: ERIS_FAILED_PRECONDITION (a
// call is under way; then the scan is not freed).
ERIS_API eris_code eris_scan_export_stream(eris_scan* scan, struct ArrowArrayStream* out,
                                           eris_error** error);

ERIS_API uint64_t eris_chunk_rows(const eris_chunk* chunk);
ERIS_API size_t eris_chunk_column_count(const eris_chunk* chunk);
// Column i, and its description. `schema` may be NULL. Errors: ERIS_OUT_OF_RANGE.
ERIS_API eris_code eris_chunk_column(const eris_chunk* chunk, size_t i, eris_column* column,
                                     eris_column_schema* schema, eris_error** error);
// The position after this chunk, for eris_query::resume; NULL: the scan ends here, or cannot go on.
ERIS_API const void* eris_chunk_resume(const eris_chunk* chunk, size_t* bytes);
// The columns as a struct array, without a copy. The caller releases both. The array holds the
// chunk's memory, and keeps the engine from closing, until it is released.
ERIS_API eris_code eris_chunk_export_arrow(const eris_chunk* chunk, struct ArrowSchema* schema,
                                           struct ArrowArray* array, eris_error** error);
ERIS_API void eris_chunk_free(eris_chunk* chunk);

typedef struct eris_aggregate_options {
  size_t struct_size;
  eris_range range;
  const eris_value_range* values;  // only rows with such values
  int32_t count_only;              // 1: only `count` is wanted; takes the time of a few lookups
  const eris_snapshot* snapshot;
} eris_aggregate_options;

// Members other than count have no meaning if that is 0.
typedef struct eris_aggregate_result {
  size_t struct_size;
  uint64_t count;
  uint64_t min;  // of the values
  uint64_t max;
  uint64_t sum_low;  // the sum is sum_high * 2^64 + sum_low
  uint64_t sum_high;
  uint64_t first_key;
  uint64_t last_key;
  uint64_t first_second;  // of keys of two parts
  uint64_t last_second;
} eris_aggregate_result;

// Counts the rows of a range of an index and adds up their values, where they are. Blocks. Errors:
// as eris_scan_open; ERIS_DEADLINE_EXCEEDED. Aggregates of tables: eris_query::aggregates.
ERIS_API eris_code eris_aggregate(eris_session* session, const eris_object* index,
                                  const eris_aggregate_options* options, int64_t timeout_us,
                                  eris_aggregate_result* result, eris_error** error);

// The same without waiting: `done` runs once, as eris_result_callback does, unless an error is
// returned here. `result` is NULL with an error, and both end with the callback. `out` may be NULL:
// the call can be cancelled by it, and neither polled nor awaited.
typedef void (*eris_aggregate_callback)(void* user, const eris_aggregate_result* result,
                                        const eris_error* error);
ERIS_API eris_code eris_aggregate_async(eris_session* session, const eris_object* index,
                                        const eris_aggregate_options* options,
                                        eris_aggregate_callback done, void* user, eris_call** out,
                                        eris_error** error);

// Looks up the value of each row of `outer` in the range as a key of `inner`: chunks have the
// columns outer_key, join_key and value. `inner_values`: only rows whose inner value is in it; NULL
// or all members 0: all. Sees no snapshot. Errors: as eris_scan_open.
ERIS_API eris_code eris_join_open(eris_session* session, const eris_object* outer,
                                  const eris_object* inner, const eris_range* range,
                                  const eris_range* inner_values, eris_scan** out,
                                  eris_error** error);

// Writes the rows of a table scan into another object, inside the engine. `*rows` receives their
// number; it may be NULL. Blocks. Not atomic. Errors: as eris_scan_open and eris_write.
ERIS_API eris_code eris_scan_into(eris_session* session, const eris_object* table,
                                  const eris_query* query, const eris_object* target,
                                  int64_t timeout_us, uint64_t* rows, eris_error** error);

// The same without waiting: as eris_aggregate_async.
typedef void (*eris_rows_callback)(void* user, uint64_t rows, const eris_error* error);
ERIS_API eris_code eris_scan_into_async(eris_session* session, const eris_object* table,
                                        const eris_query* query, const eris_object* target,
                                        eris_rows_callback done, void* user, eris_call** out,
                                        eris_error** error);

typedef struct eris_share {
  size_t struct_size;
  uint32_t aeu;
  uint32_t numa_node;  // of its memory
  eris_range range;    // of an index: the keys to scan
  uint64_t rows;       // of an index exact, of a table at least those of its answer
} eris_share;

// The shares of what `query` reads, whose snapshot must be set: of a table one for each AEU, to be
// read with eris_query::share, of an index one for each partition, to be read with its range.
ERIS_API eris_code eris_shares_of(eris_session* session, const eris_object* object,
                                  const eris_query* query, int64_t timeout_us, eris_shares** out,
                                  eris_error** error);
ERIS_API size_t eris_shares_count(const eris_shares* shares);
ERIS_API eris_code eris_shares_get(const eris_shares* shares, size_t i, eris_share* share,
                                   eris_error** error);
ERIS_API void eris_shares_free(eris_shares* shares);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ERIS_C_SCAN_H_
