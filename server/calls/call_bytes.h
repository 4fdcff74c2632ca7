// Bytes of a call's messages beyond its request: kept between the requests of a stream, or known
// only with the answer. Any thread, no state.
#ifndef ERIS_SERVER_CALLS_CALL_BYTES_H_
#define ERIS_SERVER_CALLS_CALL_BYTES_H_

#include <cstdint>

#include "eris/engine.h"

namespace eris::server {

// A stream reads all its requests into one message, and protobuf keeps a message's memory. After a
// large request (of `bytes`) that memory is freed here, because an idle stream has no charge for
// it.
template <class Request>
void FreeIfLarge(uint64_t bytes, Request* request) {
  constexpr uint64_t kKeepBytes = 64 << 10;
  if (bytes > kKeepBytes) *request = Request();
}

// The bytes of an answer's strings, which are not known in advance; 0 for other answers. (A write
// has taken effect when they are known, so it is answered in any case.)
inline uint64_t AnswerBytes(const BatchResult& result) {
  uint64_t bytes = 0;
  for (const ColumnBuffers& column : result.columns) {
    if (!column.offsets.empty()) bytes += column.offsets.size() + column.values.size();
  }
  return bytes;
}

template <class Result>  // for calls that are not batches
uint64_t AnswerBytes(const Result&) {
  return 0;
}

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_CALL_BYTES_H_
