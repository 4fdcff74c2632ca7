// The rings of all pairs of AEUs, and copying a batch into one.
#ifndef ERIS_BENCH_ROUTING_RING_GRID_H_
#define ERIS_BENCH_ROUTING_RING_GRID_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "bench/routing/shape.h"
#include "bench/routing/spsc_byte_ring.h"

namespace eris::bench {

// Memory of one pair's ring: an AEU's rings together have as much as its two halves, and a batch
// never waits for the very last byte.
inline size_t RingBytes(const Shape& shape, size_t batch_bytes) {
  return std::max(2 * shape.incoming_bytes / (shape.aeus - 1), 2 * batch_bytes);
}

// The rings of all pairs, by [source][target].
class RingGrid {
 public:
  RingGrid(const Shape& shape, size_t record_bytes, size_t batch_bytes) : aeus_(shape.aeus) {
    for (uint32_t i = 0; i < aeus_ * aeus_; ++i) {
      rings_.push_back(
          i % (aeus_ + 1) == 0  // no AEU sends to itself
              ? nullptr
              : std::make_unique<SpscByteRing>(RingBytes(shape, batch_bytes), record_bytes));
    }
  }
  uint32_t aeus() const { return aeus_; }
  SpscByteRing& ring(uint32_t source, uint32_t target) { return *rings_[source * aeus_ + target]; }

 private:
  const uint32_t aeus_;
  std::vector<std::unique_ptr<SpscByteRing>> rings_;
};

// Copies `bytes` into the ring and publishes them; false if there is no room for all of them.
inline bool CopyIntoRing(SpscByteRing& ring, const std::byte* from, size_t bytes) {
  std::span<std::byte> to = ring.Writable(bytes);
  if (to.empty()) return false;
  const size_t front = std::min(bytes, to.size());
  std::memcpy(to.data(), from, front);
  ring.Fill(front);
  if (front < bytes) {
    to = ring.Writable(bytes - front);
    std::memcpy(to.data(), from + front, bytes - front);
    ring.Fill(bytes - front);
  }
  ring.Publish();
  return true;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_RING_GRID_H_
