// What a call's messages hold beyond what its request said: kept between the requests of a stream,
// or known only with the answer. Any thread, no state.
#ifndef ERIS_SERVER_CALLS_CALL_BYTES_H_
#define ERIS_SERVER_CALLS_CALL_BYTES_H_

#include <cstdint>

#include "eris/engine.h"

namespace eris::server {

// A stream reads all its requests into one message, and protobuf keeps a message's memory: what a
// large request (of `bytes`) leaves behind is freed here, since an idle stream has no charge for
// it.
template <class Request>
void FreeIfLarge(uint64_t bytes, Request* request) {
  constexpr uint64_t kKeepBytes = 64 << 10;
  if (bytes > kKeepBytes) *request = Request();
}

// What the strings of an answer hold, which nobody knows before; 0 for other answers. (A write has
// taken effect when it is known, so it is answered in any case.)
inline uint64_t AnswerBytes(const BatchResult& result) {
  uint64_t bytes = 0;
  for (const ColumnBuffers& column : result.columns) {
    if (!column.offsets.empty()) bytes += column.offsets.size() + column.values.size();
  }
  return bytes;
}

template <class Result>  // of calls that are no batches
uint64_t AnswerBytes(const Result&) {
  return 0;
}

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_CALL_BYTES_H_
