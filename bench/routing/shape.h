// The common interface of the routing benchmark's transports. Each transports commands between AEUs
// and has a Lane for each of them, used only by its thread:
//   uint32_t Send(target, keys, values)    to one target; how many found room, from the front
//   SendMixed(keys, values, refused)       by the table; appends the targets without room
//   bool Flush()                           false: something finds no room, call again
//   bool Drain(received)                   reads what is there; false when there was nothing
// Nothing blocks.
#ifndef ERIS_BENCH_ROUTING_SHAPE_H_
#define ERIS_BENCH_ROUTING_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bench/routing/command.h"
#include "routing/ranges/range_table.h"

namespace eris::bench {

struct Shape {
  uint32_t aeus = 2;
  uint32_t batch = 1;               // commands collected for a target before they are copied over
  uint32_t run = 1;                 // commands that one Send brings
  size_t incoming_bytes = 1 << 20;  // one half of an AEU's incoming buffers
};

// A range for each AEU.
inline std::unique_ptr<const routing::RangeTable> EvenTable(uint32_t aeus) {
  std::vector<uint64_t> starts;
  std::vector<AeuId> owners;
  for (uint32_t i = 0; i < aeus; ++i) {
    starts.push_back(RangeOf(i));
    owners.push_back({i});
  }
  return std::make_unique<const routing::RangeTable>(1, std::move(starts), std::move(owners));
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_SHAPE_H_
