// What waits in the buffers that a Port under test writes to, and commands to send through it.
#ifndef ERIS_TESTS_UNIT_ROUTING_PORT_RECORDS_H_
#define ERIS_TESTS_UNIT_ROUTING_PORT_RECORDS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "routing/port.h"
#include "tests/support/test_endpoints.h"
#include "tests/support/test_reply.h"

namespace eris::routing {

using storage::KeyState;
using test::TestEndpoints;
using test::TestReply;

inline constexpr size_t kHalfBytes = 4096;
inline constexpr size_t kOutgoingBytes = 1024;
// An AEU's Port; the memory of four outgoing buffers.
inline constexpr PortOptions kOfAeu{.way = PortOptions::Way::kIncoming,
                                    .outgoing_bytes = kOutgoingBytes,
                                    .pool_bytes_max = 4 * kOutgoingBytes};

// AEU i owns [100 i, 100 (i + 1)); the last one all above.
inline std::unique_ptr<ObjectRoute> RouteTo(uint32_t aeus) {
  std::vector<uint64_t> starts;
  std::vector<AeuId> owners;
  for (uint32_t i = 0; i < aeus; ++i) starts.push_back(100 * i), owners.push_back({i});
  return std::make_unique<ObjectRoute>(5, ObjectId{7},
                                       std::make_unique<RangeTable>(3, starts, owners));
}

struct Received {
  CommandHeader header;
  std::vector<uint64_t> keys;
  std::vector<uint64_t> values;
  std::vector<uint64_t> expected;
  std::vector<uint64_t> seconds;
  std::vector<uint32_t> positions;
};

inline std::vector<Received> Take(AeuEndpoint& endpoint) {
  std::vector<Received> commands;
  const auto taken = endpoint.incoming.TryTake();
  if (!taken) return commands;
  for (std::span<const std::byte> rest = *taken; !rest.empty();) {
    const auto* header = reinterpret_cast<const CommandHeader*>(rest.data());
    EXPECT_EQ(header->size_bytes % 8, 0u);
    Received one;
    one.header = *header;
    if (IsKeyed(header->type)) {
      EXPECT_EQ(header->size_bytes,
                KeyedRecordBytes(header->type, header->count, 0, header->key_parts));
      EXPECT_LE(header->size_bytes, kOutgoingBytes);
      const KeyedSegment segment = KeyedSegmentOf(header);
      one.keys.assign(segment.keys, segment.keys + header->count);
      one.positions.assign(segment.positions, segment.positions + header->count);
      if (segment.values != nullptr) {
        one.values.assign(segment.values, segment.values + header->count);
      }
      if (segment.expected != nullptr) {
        one.expected.assign(segment.expected, segment.expected + header->count);
      }
      if (segment.seconds != nullptr) {
        one.seconds.assign(segment.seconds, segment.seconds + header->count);
      }
    }
    commands.push_back(std::move(one));
    rest = rest.subspan(header->size_bytes);
  }
  return commands;
}

inline void FillIncoming(AeuEndpoint& endpoint) {
  const std::vector<std::byte> half(endpoint.incoming.half_bytes());
  ASSERT_TRUE(endpoint.incoming.TryWrite(half));
}

inline KeyedCommand Command(CommandType type, const std::vector<uint64_t>& keys, TestReply& reply,
                            const std::vector<uint64_t>& values = {},
                            const std::vector<uint64_t>& expected = {}) {
  return {.type = type,
          .keys = keys,
          .values = values,
          .complete = &TestReply::Answered,
          .context = &reply,
          .expected = expected};
}

inline std::vector<uint64_t> Numbers(size_t n, uint64_t from = 0) {
  std::vector<uint64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

}  // namespace eris::routing

#endif  // ERIS_TESTS_UNIT_ROUTING_PORT_RECORDS_H_
