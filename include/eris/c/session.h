// Sessions, lookups and writes, for C. Included by eris/eris.h: start there.
#ifndef ERIS_C_SESSION_H_
#define ERIS_C_SESSION_H_

#include "eris/arrow_c_data.h"
#include "eris/c/base.h"
#include "eris/c/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

// One calling thread's way into the engine. Writes and lookups that one session sends for one key
// take effect in the order in which they were sent.
typedef struct eris_session eris_session;
// An object that has been opened, for all sessions of its engine. Does not keep the object alive.
typedef struct eris_object eris_object;
// The answer to a batch. Needs no engine: it may be freed after the engine was closed.
typedef struct eris_result eris_result;
// An asynchronous call whose answer is asked for.
typedef struct eris_call eris_call;

// A session of the NumaNode on which this thread is running: make it on the thread that uses it,
// after that has been pinned. The second: of the given one. Errors: ERIS_INVALID_ARGUMENT (no such
// NumaNode).
ERIS_API eris_code eris_session_new(eris_engine* engine, eris_session** out, eris_error** error);
ERIS_API eris_code eris_session_new_on(eris_engine* engine, uint32_t numa_node, eris_session** out,
                                       eris_error** error);
ERIS_API uint32_t eris_session_numa_node(const eris_session* session);
// Calls under way go on. Not while another thread is inside a call of it.
ERIS_API void eris_session_free(eris_session* session);

// Errors: ERIS_NOT_FOUND.
ERIS_API eris_code eris_object_open(eris_session* session, const char* name, eris_object** out,
                                    eris_error** error);
ERIS_API uint32_t eris_object_id(const eris_object* object);
ERIS_API int32_t eris_object_kind(const eris_object* object);
// The object's columns as a struct of Arrow. The caller releases `out`.
ERIS_API eris_code eris_object_arrow_schema(const eris_object* object, struct ArrowSchema* out,
                                            eris_error** error);
ERIS_API void eris_object_free(eris_object* object);

// What a write does to a row. WriteMode in eris/batch.h tells more.
enum {
  ERIS_INSERT_IF_ABSENT = 1,    // answers the value stored
  ERIS_REPLACE_IF_PRESENT = 2,  // answers the value before
  ERIS_COMPARE_AND_SET = 3,     // replaces the expected value; answers the previous one
  ERIS_ADD = 4,                 // a counter, modulo 2^64; answers the sum
  ERIS_UPSERT = 5,              // inserts or replaces
  ERIS_ERASE = 6,
  ERIS_APPEND = 7  // heap tables
};

typedef struct eris_lookup_options {
  size_t struct_size;
  const char* const* columns;  // names of columns to answer; NULL: all outside the key
  size_t column_count;
  uint64_t answer_bytes_max;  // of all strings of the answer; 0: the most that is possible, 32 MiB
} eris_lookup_options;

// Looks up rows by their keys: `keys` has the key's columns, in the key's order. Blocks until every
// owning AEU has replied or the time is over. Errors: ERIS_FAILED_PRECONDITION (a heap table),
// ERIS_NOT_FOUND, ERIS_DEADLINE_EXCEEDED, ERIS_RESOURCE_EXHAUSTED. `*out` receives a result also
// after an error of the engine: with ERIS_RESOURCE_EXHAUSTED some rows may have been executed
// (eris_result_executed).
ERIS_API eris_code eris_lookup(eris_session* session, const eris_object* object,
                               const eris_rows* keys, const eris_lookup_options* options,
                               int64_t timeout_us, eris_result** out, eris_error** error);
// Writes rows. `rows` has all columns of the object, for ERIS_ERASE those of the key; `expected` is
// the value column for ERIS_COMPARE_AND_SET, otherwise NULL. Not atomic across rows. `out` may be
// NULL. Blocking, errors and `*out` as eris_lookup; ERIS_FAILED_PRECONDITION also for a mode that
// is not of the object's kind. After ERIS_DEADLINE_EXCEEDED the outcome is unknown.
ERIS_API eris_code eris_write(eris_session* session, const eris_object* object, int32_t mode,
                              const eris_rows* rows, const eris_rows* expected, int64_t timeout_us,
                              eris_result** out, eris_error** error);
// The same with rows as a struct array of Arrow, not copied: its children are the columns by name,
// in any order, with the types that eris_object_arrow_schema tells. Schema and array stay the
// caller's. Sliced arrays are welcome. Errors: as eris_write; ERIS_INVALID_ARGUMENT names the
// column. Not for ERIS_COMPARE_AND_SET.
ERIS_API eris_code eris_write_arrow(eris_session* session, const eris_object* object, int32_t mode,
                                    const struct ArrowSchema* schema,
                                    const struct ArrowArray* array, int64_t timeout_us,
                                    eris_result** out, eris_error** error);
// A lookup whose keys come in that form, and hold the key's columns.
ERIS_API eris_code eris_lookup_arrow(eris_session* session, const eris_object* object,
                                     const struct ArrowSchema* schema,
                                     const struct ArrowArray* array,
                                     const eris_lookup_options* options, int64_t timeout_us,
                                     eris_result** out, eris_error** error);

// Short forms for indexes and hashes whose keys (of one part) and values are u64. values[i] and
// found[i] (1 or 0) belong to keys[i], and are untouched after an error. `existed` may be NULL: 1
// if a value was replaced or erased. Blocking and errors as above; ERIS_FAILED_PRECONDITION also
// for an object of another form.
ERIS_API eris_code eris_lookup_u64(eris_session* session, const eris_object* object,
                                   const uint64_t* keys, size_t count, uint64_t* values,
                                   uint8_t* found, int64_t timeout_us, eris_error** error);
ERIS_API eris_code eris_upsert_u64(eris_session* session, const eris_object* object,
                                   const uint64_t* keys, const uint64_t* values, size_t count,
                                   uint8_t* existed, int64_t timeout_us, eris_error** error);
ERIS_API eris_code eris_erase_u64(eris_session* session, const eris_object* object,
                                  const uint64_t* keys, size_t count, uint8_t* existed,
                                  int64_t timeout_us, eris_error** error);
// Any mode. `expected` is for ERIS_COMPARE_AND_SET, `applied` (1: written) and `answers` (the value
// that the mode answers) may be NULL.
ERIS_API eris_code eris_write_u64(eris_session* session, const eris_object* object, int32_t mode,
                                  const uint64_t* keys, const uint64_t* values,
                                  const uint64_t* expected, size_t count, uint8_t* applied,
                                  uint64_t* answers, int64_t timeout_us, eris_error** error);

// --- answers ---

ERIS_API eris_code eris_result_code(const eris_result* result);
ERIS_API const char* eris_result_message(const eris_result* result);
ERIS_API uint64_t eris_result_rows(const eris_result* result);     // of the batch
ERIS_API uint64_t eris_result_refused(const eris_result* result);  // those that were not executed
// Bitmaps, one bit for each row of the batch: the key was there before (for a lookup: found); a
// conditional write was applied; the row was executed. NULL: none; of `executed` then all rows
// were, if the code is ERIS_OK, else none.
ERIS_API const uint8_t* eris_result_existed(const eris_result* result);
ERIS_API const uint8_t* eris_result_applied(const eris_result* result);
ERIS_API const uint8_t* eris_result_executed(const eris_result* result);
ERIS_API size_t eris_result_column_count(const eris_result* result);
// Column i, and its description. `schema` may be NULL. Errors: ERIS_OUT_OF_RANGE.
ERIS_API eris_code eris_result_column(const eris_result* result, size_t i, eris_column* column,
                                      eris_column_schema* schema, eris_error** error);
// The columns as a struct array, without a copy; rows that were not found are null. The caller
// releases both. They may outlive the result. Errors: ERIS_FAILED_PRECONDITION (no columns).
ERIS_API eris_code eris_result_export_arrow(const eris_result* result, struct ArrowSchema* schema,
                                            struct ArrowArray* array, eris_error** error);
ERIS_API void eris_result_free(eris_result* result);

// --- without waiting ---

// Receives the answer, which belongs to the callee, and the pointer given with the call. Runs on a
// thread of the engine, one at a time for a session: it must not block, throw, or free the session.
typedef void (*eris_result_callback)(void* user, eris_result* result);

// Starts a lookup or a write; rows are copied. With `done` it runs exactly once, unless an error is
// returned here. Without, `out` is required: eris_call_poll or eris_call_wait get the answer. With
// both, `*out` can cancel. May block up to send_wait_ms_max while AEUs take nothing. Errors here:
// those of checking, ERIS_RESOURCE_EXHAUSTED; others are the answer's.
ERIS_API eris_code eris_lookup_async(eris_session* session, const eris_object* object,
                                     const eris_rows* keys, const eris_lookup_options* options,
                                     eris_result_callback done, void* user, eris_call** out,
                                     eris_error** error);
ERIS_API eris_code eris_write_async(eris_session* session, const eris_object* object, int32_t mode,
                                    const eris_rows* rows, const eris_rows* expected,
                                    eris_result_callback done, void* user, eris_call** out,
                                    eris_error** error);
// `*out` receives the answer once, or NULL while there is none. Any thread; does not block. Errors:
// ERIS_FAILED_PRECONDITION (the answer has been taken, or goes to a callback).
ERIS_API eris_code eris_call_poll(eris_call* call, eris_result** out, eris_error** error);
// Blocks for it. Errors: as poll, also between eris_defer_callbacks and eris_run_callbacks;
// ERIS_DEADLINE_EXCEEDED (the call goes on).
ERIS_API eris_code eris_call_wait(eris_call* call, int64_t timeout_us, eris_result** out,
                                  eris_error** error);
// The answer is ERIS_CANCELLED unless it is there already. Any thread; does not block.
ERIS_API void eris_call_cancel(eris_call* call);
ERIS_API void eris_call_free(eris_call* call);  // the call itself goes on

// For servers: between the two, callbacks of calls that this thread starts wait, and small batches
// may run on this thread. Engine::DeferCallbacks in eris/engine.h has the rules. Errors:
// ERIS_FAILED_PRECONDITION (pairs that are nested, or of two engines).
ERIS_API eris_code eris_defer_callbacks(eris_engine* engine, eris_error** error);
ERIS_API eris_code eris_run_callbacks(eris_engine* engine, eris_error** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ERIS_C_SESSION_H_
