// Codes, errors and basic structures of the C interface. Included by eris/eris.h: start there.
#ifndef ERIS_C_BASE_H_
#define ERIS_C_BASE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ERIS_API __attribute__((visibility("default")))
#else
#define ERIS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ERIS_OK, or why a call failed: the numbers of gRPC and Abseil.
typedef int32_t eris_code;
enum {
  ERIS_OK = 0,
  ERIS_CANCELLED = 1,
  ERIS_UNKNOWN = 2,
  ERIS_INVALID_ARGUMENT = 3,
  ERIS_DEADLINE_EXCEEDED = 4,
  ERIS_NOT_FOUND = 5,
  ERIS_ALREADY_EXISTS = 6,
  ERIS_PERMISSION_DENIED = 7,
  ERIS_RESOURCE_EXHAUSTED = 8,
  ERIS_FAILED_PRECONDITION = 9,
  ERIS_ABORTED = 10,
  ERIS_OUT_OF_RANGE = 11,
  ERIS_UNIMPLEMENTED = 12,
  ERIS_INTERNAL = 13,
  ERIS_UNAVAILABLE = 14
};
// "OK", "INVALID_ARGUMENT", ...; "UNKNOWN" for a number that is no code. A constant.
ERIS_API const char* eris_code_name(eris_code code);

typedef struct eris_error eris_error;
// Both accept NULL: ERIS_OK, and "". The message is UTF-8, for people; it names the value and the
// limit.
ERIS_API eris_code eris_error_code(const eris_error* error);
ERIS_API const char* eris_error_message(const eris_error* error);
ERIS_API void eris_error_free(eris_error* error);

// "0.1.0": the version of the library that is loaded. A constant.
ERIS_API const char* eris_version(void);

// Kinds of objects.
enum {
  ERIS_KIND_INDEX = 1,      // ordered by key; values are numbers, strings or bytes
  ERIS_KIND_HASH = 2,       // u64 values; faster lookups, no scans
  ERIS_KIND_TABLE = 3,      // rows of typed columns under a unique key
  ERIS_KIND_HEAP_TABLE = 4  // rows without a key
};

// Types of columns, with what `values` of a column holds.
enum {
  ERIS_TYPE_INT32 = 1,
  ERIS_TYPE_INT64 = 2,
  ERIS_TYPE_UINT64 = 3,
  ERIS_TYPE_FLOAT64 = 4,
  ERIS_TYPE_DATE = 5,     // int32_t, days since 1970-01-01
  ERIS_TYPE_DECIMAL = 6,  // int64_t, times 10^-scale
  ERIS_TYPE_STRING = 7,   // UTF-8
  ERIS_TYPE_INT128 = 8,   // of answers only: 16 bytes, little-endian, times 10^-scale
  ERIS_TYPE_BYTES = 9,
  ERIS_TYPE_TIMESTAMP = 10  // int64_t, microseconds since 1970-01-01 00:00:00 UTC
};

// A column's description. This structure never grows.
typedef struct eris_column_schema {
  const char* name;
  int32_t type;      // ERIS_TYPE_...
  int32_t scale;     // of decimals, 0 to 18; of others 0
  int32_t nullable;  // 1: rows may be null
} eris_column_schema;

// A column's values, in Arrow's layout, aligned to the element size. This structure never grows.
typedef struct eris_column {
  const void* values;       // one per row; of strings their bytes, one after the other
  const uint8_t* validity;  // bit i & 7 of byte i >> 3: row i is not null. NULL: no row is null
  const uint32_t* offsets;  // of strings and bytes: rows + 1, not descending; of others NULL
} eris_column;

// Rows that a call takes. This structure never grows.
typedef struct eris_rows {
  uint64_t rows;
  const eris_column* columns;
  size_t column_count;
} eris_rows;

// Keys of [lo, hi), encoded by eris_key_from_...; keys of u64 are themselves. `open_end` 1: without
// an upper bound, and hi must be 0. All members 0: for `range` members of options all keys. For
// keys of two parts the bounds are pairs; for others the seconds are 0. This structure never grows.
typedef struct eris_range {
  uint64_t lo;
  uint64_t hi;
  uint64_t lo_second;
  uint64_t hi_second;
  int32_t open_end;
} eris_range;

// Keys of other types as u64 in the same order, and back; of timestamps as of int64. Pure
// functions. There is no key for a NaN: eris_key_from_float64 gives the highest u64, which no
// number has. A table's ranges are of its first key column; if that has four bytes, shift the key
// left by 32.
ERIS_API uint64_t eris_key_from_int64(int64_t number);
ERIS_API int64_t eris_int64_from_key(uint64_t key);
ERIS_API uint64_t eris_key_from_float64(double number);
ERIS_API double eris_float64_from_key(uint64_t key);
ERIS_API uint64_t eris_key_from_date(int32_t days);
ERIS_API int32_t eris_date_from_key(uint64_t key);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ERIS_C_BASE_H_
