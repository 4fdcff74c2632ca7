// What the transports of the routing benchmark have in common. Each carries commands between AEUs
// and has a Lane for each of them, used by its thread alone:
//   uint32_t Produce(target, first, count, sent)  writes commands first, first + 1, ... for a
//                                 target; returns how many found room, `sent` tallies them
//   bool Flush()                  false: something has no room yet, call again
//   bool Drain(received)          reads what is there; false when there was nothing
// Nothing blocks.
#ifndef ERIS_BENCH_ROUTING_SHAPE_H_
#define ERIS_BENCH_ROUTING_SHAPE_H_

#include <cstddef>
#include <cstdint>

namespace eris::bench {

struct Shape {
  uint32_t aeus = 2;
  uint32_t batch = 1;               // commands collected for a target before they are copied over
  size_t incoming_bytes = 1 << 20;  // one half of an AEU's incoming buffers
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_SHAPE_H_
