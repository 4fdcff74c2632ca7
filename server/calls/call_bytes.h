// Bytes of a call's messages beyond its request: kept between the requests of a stream, or known
// only with the answer. Any thread, no state.
#ifndef ERIS_SERVER_CALLS_CALL_BYTES_H_
#define ERIS_SERVER_CALLS_CALL_BYTES_H_

#include <cstdint>

#include "eris/engine.h"

namespace eris::server {

// A stream reads all its requests into one message, and protobuf keeps a message's memory, also of
// fields that later requests do not have. An idle stream has no charge for it, so it is freed here
// when it is much. One thread.
class KeptBytes {
 public:
  static constexpr uint64_t kMax = 64 << 10;

  // `request` has been used; it was parsed within `bytes_max`. Those since the last look have left
  // no more than their sum, so it is measured only when that is much.
  template <class Request>
  void Used(uint64_t bytes_max, Request* request) {
    unmeasured_ += bytes_max;
    if (unmeasured_ <= kMax) return;
    unmeasured_ = 0;
    if (request->SpaceUsedLong() > kMax) *request = Request();
  }

 private:
  uint64_t unmeasured_ = 0;
};

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
