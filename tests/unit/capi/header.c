/* eris/eris.h alone, as C99: what a C program includes. */
#include "eris/eris.h"

int uses_the_header(eris_engine* engine);
int uses_the_header(eris_engine* engine) {
  eris_error* error = NULL;
  eris_create_options options = {0};
  eris_code code;
  options.struct_size = sizeof options;
  code = eris_create(engine, "name", &options, &error);
  eris_error_free(error);
  return code == ERIS_OK;
}
