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

template <class Look>
void ForEachRecord(std::span<const std::byte> records, Look look) {
  while (!records.empty()) {
    const auto* header = reinterpret_cast<const CommandHeader*>(records.data());
    records = records.subspan(header->size_bytes);  // `look` may release them
    look(header);
  }
}
// Takes what has arrived from a Port outside the engine: calls look(header), then returns the
// blocks home. Returns the number of blocks.
template <class Look>
uint32_t TakeFromBlocks(AeuEndpoint& endpoint, Look look) {
  uint32_t blocks = 0;
  Block* next = nullptr;
  for (Block* block = endpoint.ingress.TakeAll(); block != nullptr; block = next) {
    next = block->next;
    ForEachRecord(block->records(), look);
    BlockPool::Release(block);
    ++blocks;
  }
  return blocks;
}

inline std::vector<Received> Take(AeuEndpoint& endpoint) {
  std::vector<Received> commands;
  const auto taken = endpoint.incoming.TryTake();
  if (!taken) return commands;
  ForEachRecord(*taken, [&](const CommandHeader* header) {
    EXPECT_EQ(header->size_bytes % 8, 0u);
    Received one;
    one.header = *header;
    if (IsKeyed(header->type)) {
      EXPECT_EQ(header->size_bytes,
                KeyedRecordBytes(header->type, header->count, 0, header->key_parts));
      EXPECT_LE(header->size_bytes, kOutgoingBytes);
      const KeyedSegment segment = KeyedSegmentOf(header);
      const auto column = [&]<class Number>(const Number* from) {
        return from == nullptr ? std::vector<Number>()
                               : std::vector<Number>(from, from + header->count);
      };
      one.keys = column(segment.keys);
      one.positions = column(segment.positions);
      one.values = column(segment.values);
      one.expected = column(segment.expected);
      one.seconds = column(segment.seconds);
    }
    commands.push_back(std::move(one));
  });
  return commands;
}

inline void FillIncoming(AeuEndpoint& endpoint) {
  const std::vector<std::byte> half(endpoint.incoming.half_bytes());
  ASSERT_TRUE(endpoint.incoming.TryWrite(half));
}

inline KeyedCommand Command(CommandType type, const std::vector<uint64_t>& keys, TestReply& reply,
                            const std::vector<uint64_t>& values = {},
                            const std::vector<uint64_t>& expected = {},
                            const std::vector<uint64_t>& seconds = {}) {
  return {.type = type,
          .keys = keys,
          .values = values,
          .complete = &TestReply::Answered,
          .context = &reply,
          .expected = expected,
          .seconds = seconds};
}

inline std::vector<uint64_t> Numbers(size_t n, uint64_t from = 0) {
  std::vector<uint64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

}  // namespace eris::routing

#endif  // ERIS_TESTS_UNIT_ROUTING_PORT_RECORDS_H_
