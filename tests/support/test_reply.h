// A reply whose columns and acknowledgements a test can look at. For AEUs that are stepped in the
// test's own thread.
#ifndef ERIS_TESTS_SUPPORT_TEST_REPLY_H_
#define ERIS_TESTS_SUPPORT_TEST_REPLY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "routing/reply.h"
#include "routing/scan_part.h"

namespace eris::test {

struct TestReply final : routing::Reply {
  explicit TestReply(size_t keys)
      : value_column(keys, 0), state_column(keys, storage::KeyState::kPending) {
    values = value_column.data();
    states = state_column.data();
  }
  TestReply(const TestReply&) = delete;
  TestReply& operator=(const TestReply&) = delete;

  static void Answered(routing::Reply* reply, uint32_t keys) noexcept {
    auto* self = static_cast<TestReply*>(reply);
    self->answered += keys;
    ++self->calls;
    if (self->on_answered) self->on_answered();
  }

  std::vector<uint64_t> value_column;
  std::vector<storage::KeyState> state_column;
  uint64_t answered = 0;  // keys
  uint64_t calls = 0;     // of the completion function
  std::function<void()> on_answered;
};

// A scan part with chunks of its own.
struct TestScanPart final : routing::ScanPart {
  explicit TestScanPart(uint32_t chunk_count = 1, uint32_t chunk_rows = routing::kScanChunkRows,
                        bool two_parts = false)
      : keys(size_t{chunk_count} * chunk_rows),
        row_values(keys.size()),
        row_seconds(two_parts ? keys.size() : 0),
        chunks(chunk_count) {
    for (uint32_t i = 0; i < chunk_count; ++i) {
      chunks[i].rows = {
          .keys = keys.data() + size_t{i} * chunk_rows,
          .values = row_values.data() + size_t{i} * chunk_rows,
          .capacity = chunk_rows,
          .rows = 0,
          .seconds = two_parts ? row_seconds.data() + size_t{i} * chunk_rows : nullptr};
    }
  }
  void GiveAll() {
    for (routing::ScanChunkBuffer& chunk : chunks) GiveChunk(&chunk);
  }
  // The keys of all chunks that are filled. The chunks stay with the test.
  std::vector<uint64_t> TakeKeys() {
    std::vector<uint64_t> taken;
    while (const auto* chunk = TakeFilled()) {
      taken.insert(taken.end(), chunk->rows.keys, chunk->rows.keys + chunk->rows.rows);
    }
    return taken;
  }
  static void Answered(routing::Reply* reply, uint32_t parts) noexcept {
    auto* self = static_cast<TestScanPart*>(reply);
    self->ended += parts;
    ++self->calls;
  }

  std::vector<uint64_t> keys;
  std::vector<uint64_t> row_values;
  std::vector<uint64_t> row_seconds;  // of two-part keys
  std::vector<routing::ScanChunkBuffer> chunks;
  uint64_t ended = 0;
  uint64_t calls = 0;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_TEST_REPLY_H_
