/* The engine inside a C program: open, create, write, look up, scan, close. Includes eris/eris.h alone.
 *
 *   cc embed_c.c $(pkg-config --cflags --libs eris) -o embed_c
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "eris/eris.h"

/* Ends the program if a call has failed. */
static void check(eris_code code, eris_error* error) {
  if (code == ERIS_OK) return;
  fprintf(stderr, "%s: %s\n", eris_code_name(code), eris_error_message(error));
  eris_error_free(error);
  exit(1);
}

int main(void) {
  eris_error* error = NULL;

  eris_engine* engine = NULL;
  eris_engine_options engine_options = {0}; /* what is 0 has its default */
  engine_options.struct_size = sizeof engine_options;
  engine_options.memory_limit_bytes = 64 << 20;
  check(eris_engine_open(&engine_options, &engine, &error), error);

  eris_create_options create_options = {0};
  create_options.struct_size = sizeof create_options;
  create_options.expected.hi = 1000; /* expected keys: 0 to 999 */
  check(eris_create(engine, "squares", &create_options, &error), error);

  eris_session* session = NULL; /* one for each calling thread */
  check(eris_session_new(engine, &session, &error), error);
  eris_object* squares = NULL; /* good for all sessions */
  check(eris_object_open(session, "squares", &squares, &error), error);

  const uint64_t keys[] = {31, 14, 15}, values[] = {961, 196, 225};
  uint64_t read[3];
  uint8_t found[3];
  check(eris_upsert_u64(session, squares, keys, values, 3, NULL, 0, &error), error);
  check(eris_lookup_u64(session, squares, keys, 3, read, found, 0, &error), error);
  printf("squares[31] = %" PRIu64 "\n", read[0]);

  eris_scan* scan = NULL;
  eris_query query = {0};
  query.struct_size = sizeof query;
  query.range.lo = 10;
  query.range.hi = 20;
  check(eris_scan_open(session, squares, &query, &scan, &error), error);
  for (;;) {
    eris_chunk* chunk = NULL;
    eris_column key, value;
    uint64_t row;
    check(eris_scan_next(scan, 0, &chunk, &error), error);
    if (chunk == NULL) break; /* the end */
    check(eris_chunk_column(chunk, 0, &key, NULL, &error), error);
    check(eris_chunk_column(chunk, 1, &value, NULL, &error), error);
    for (row = 0; row < eris_chunk_rows(chunk); ++row) {
      printf("%" PRIu64 " -> %" PRIu64 "\n", ((const uint64_t*)key.values)[row],
             ((const uint64_t*)value.values)[row]);
    }
    eris_chunk_free(chunk);
  }

  eris_scan_free(scan);
  eris_object_free(squares);
  eris_session_free(session);
  check(eris_engine_close(engine, &error), error); /* last: it refuses while handles exist */
  return 0;
}
