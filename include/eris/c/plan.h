// Queries over several objects, for C. Included by eris/eris.h: start there.
#ifndef ERIS_C_PLAN_H_
#define ERIS_C_PLAN_H_

#include "eris/c/base.h"
#include "eris/c/scan.h"
#include "eris/c/session.h"

#ifdef __cplusplus
extern "C" {
#endif

// A plan under construction: nodes with numbers from 0 on, inputs before the nodes that use them;
// the last node is the answer. eris/query_plan.h tells what each node does.
//
// Expressions are texts as in eris_query, but in them c0, c1, ... are the columns of the node's
// input, and v0, v1, ... the only value of node 0, 1, ...:
//
//   eris_plan_read(plan, "lineitem", NULL, 0, &read, &error);
//   eris_plan_filter(plan, read, "c10 <= 1998-09-02", &filtered, &error);
//   eris_plan_aggregate(plan, filtered, keys, 2, "sum(c4), avg(c5), count(*)", &sums, &error);
//
// A plan needs no engine and may be run any number of times. One thread at a time. The functions
// check texts and numbers of nodes; the rest is checked when the plan is opened. `out` receives the
// node's number, and may be NULL. Errors: ERIS_INVALID_ARGUMENT.
typedef struct eris_plan eris_plan;

ERIS_API eris_code eris_plan_new(eris_plan** out, eris_error** error);
ERIS_API void eris_plan_free(eris_plan* plan);

// An object's columns, by their numbers; count 0: all.
ERIS_API eris_code eris_plan_read(eris_plan* plan, const char* object, const uint32_t* columns,
                                  size_t count, uint32_t* out, eris_error** error);
ERIS_API eris_code eris_plan_filter(eris_plan* plan, uint32_t input, const char* condition,
                                    uint32_t* out, eris_error** error);
// "c0, c1 * 2": a column for each.
ERIS_API eris_code eris_plan_project(eris_plan* plan, uint32_t input, const char* columns,
                                     uint32_t* out, eris_error** error);

enum { ERIS_JOIN_INNER = 1, ERIS_JOIN_LEFT = 2, ERIS_JOIN_SEMI = 3, ERIS_JOIN_ANTI = 4 };
// Rows are partners if column left_keys[i] of `left` equals column right_keys[i] of `right` for all
// i, and the condition, which may be NULL, is true. Its columns are those of `left`, then those of
// `right`.
ERIS_API eris_code eris_plan_join(eris_plan* plan, uint32_t left, uint32_t right, int32_t type,
                                  const uint32_t* left_keys, const uint32_t* right_keys,
                                  size_t key_count, const char* condition, uint32_t* out,
                                  eris_error** error);
// One row for each combination of the keys' values. `measures` as eris_query::aggregates; NULL:
// none. `distinct` may be NULL: 1 for measures that take each value of the argument once.
ERIS_API eris_code eris_plan_aggregate(eris_plan* plan, uint32_t input, const uint32_t* keys,
                                       size_t key_count, const char* measures,
                                       const uint8_t* distinct, size_t distinct_count,
                                       uint32_t* out, eris_error** error);

// This structure never grows.
typedef struct eris_sort_key {
  uint32_t column;
  int32_t descending;
  int32_t nulls_first;
} eris_sort_key;
ERIS_API eris_code eris_plan_sort(eris_plan* plan, uint32_t input, const eris_sort_key* keys,
                                  size_t key_count, uint32_t* out, eris_error** error);
ERIS_API eris_code eris_plan_limit(eris_plan* plan, uint32_t input, uint64_t offset, uint64_t count,
                                   uint32_t* out, eris_error** error);
// All rows of all inputs.
ERIS_API eris_code eris_plan_union(eris_plan* plan, const uint32_t* inputs, size_t count,
                                   uint32_t* out, eris_error** error);
// Rows of numbers and texts that the plan itself has: rows * column_count literals, as texts
// ("24", "'AIR'", "1994-01-01", "null"), row by row.
ERIS_API eris_code eris_plan_values(eris_plan* plan, const eris_column_schema* columns,
                                    size_t column_count, const char* const* literals, uint64_t rows,
                                    uint32_t* out, eris_error** error);
// Names of the answer's columns; count 0: those that the objects' columns have.
ERIS_API eris_code eris_plan_names(eris_plan* plan, const char* const* names, size_t count,
                                   eris_error** error);

// Starts the query; `snapshot` may be NULL. Errors: ERIS_INVALID_ARGUMENT (the plan, with the
// node), ERIS_NOT_FOUND (an object), ERIS_UNIMPLEMENTED, ERIS_RESOURCE_EXHAUSTED, ERIS_ABORTED.
// From eris_scan_next also ERIS_INVALID_ARGUMENT (a subquery of several rows) and
// ERIS_FAILED_PRECONDITION (a hash is read).
ERIS_API eris_code eris_query_open(eris_session* session, const eris_plan* plan,
                                   const eris_snapshot* snapshot, eris_scan** out,
                                   eris_error** error);
// How it would run, as text for people; and what a run of it took. The second blocks until the
// query has ended. `*out` is freed with eris_text_free. Errors: as eris_query_open.
ERIS_API eris_code eris_query_explain(eris_session* session, const eris_plan* plan, char** out,
                                      eris_error** error);
ERIS_API eris_code eris_query_analyze(eris_session* session, const eris_plan* plan,
                                      const eris_snapshot* snapshot, int64_t timeout_us, char** out,
                                      eris_error** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ERIS_C_PLAN_H_
