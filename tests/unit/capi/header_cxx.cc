// eris/eris.h alone, as C++11.
#include "eris/eris.h"

bool UsesTheHeader(eris_engine* engine) {
  eris_query query = {};
  query.struct_size = sizeof query;
  eris_error* error = nullptr;
  const eris_code code = eris_drop(engine, "name", &error);
  eris_error_free(error);
  return code == ERIS_OK && query.limit == 0;
}
