// When requests are due. Closed loop: whenever there is room. Open loop: Poisson arrivals at a
// fixed rate, independent of the target; a request keeps its due time while it waits for room, and
// its latency counts from then on. One thread.
#ifndef ERIS_CLIENTS_LOAD_PACING_H_
#define ERIS_CLIENTS_LOAD_PACING_H_

#include <cmath>
#include <cstdint>

#include "clients/load/random.h"

namespace eris::load {

class Arrivals {
 public:
  // `rate`: requests per second; 0: closed loop.
  Arrivals(double rate, uint64_t seed, int64_t start_ns)
      : gap_ns_(rate > 0 ? 1e9 / rate : 0), random_(seed), start_ns_(start_ns) {
    if (open_loop()) Advance();
  }

  bool open_loop() const { return gap_ns_ > 0; }
  // For the next request; meaningless in a closed loop.
  int64_t due_ns() const { return start_ns_ + static_cast<int64_t>(offset_ns_); }
  // The next request has been sent; or `requests` of them, as if at even distances.
  void Advance(uint64_t requests = 1) {
    offset_ns_ -= gap_ns_ * static_cast<double>(requests) * std::log1p(-random_.Unit());
  }
  // About the number of requests that are due but have not been sent.
  uint64_t Backlog(int64_t now_ns) const {
    const int64_t late_ns = now_ns - due_ns();
    return open_loop() && late_ns > 0
               ? 1 + static_cast<uint64_t>(static_cast<double>(late_ns) / gap_ns_)
               : 0;
  }

 private:
  double gap_ns_;  // mean gap
  Random random_;
  int64_t start_ns_;
  double offset_ns_ = 0;  // of the next request
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_PACING_H_
