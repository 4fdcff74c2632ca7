// A batch whose columns a test fills, runs on a partition and looks at.
#ifndef ERIS_TESTS_SUPPORT_TEST_BATCH_H_
#define ERIS_TESTS_SUPPORT_TEST_BATCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/batch.h"
#include "storage/partition.h"

namespace eris::test {

struct TestBatch {
  static constexpr uint64_t kUnanswered = 0xdead'beef'dead'beef;

  storage::Operation operation = storage::Operation::kLookup;
  std::vector<uint64_t> keys{};
  // The partition is not given a column that is empty.
  std::vector<uint64_t> values{};
  std::vector<uint64_t> expected{};
  std::vector<uint64_t> seconds{};
  uint32_t part_keys = ~uint32_t{0};  // keys of a part, at most
  bool reversed = false;              // positions: those of the keys backwards
  storage::BytesSink* bytes = nullptr;
  const storage::SnapshotView* snapshots = nullptr;

  // After Run, in the order of the keys.
  std::vector<uint64_t> answers{};
  std::vector<storage::KeyState> states{};

  TestBatch& Run(storage::Partition& partition) {
    const size_t count = keys.size();
    answers.assign(count, kUnanswered);
    states.assign(count, storage::KeyState::kPending);
    std::vector<uint32_t> positions(count);
    for (size_t i = 0; i < count; ++i) {
      positions[i] = static_cast<uint32_t>(reversed ? count - 1 - i : i);
    }
    const auto from = [](const std::vector<uint64_t>& column, size_t at) {
      return column.empty() ? nullptr : &column[at];
    };
    const bool answered =
        operation == storage::Operation::kLookup || storage::IsConditional(operation);
    std::vector<storage::BatchPart> parts;
    for (size_t at = 0; at < count; at += parts.back().count) {
      parts.push_back({.count = static_cast<uint32_t>(std::min<size_t>(count - at, part_keys)),
                       .keys = &keys[at],
                       .values_in = from(values, at),
                       .positions = &positions[at],
                       .values_out = answered ? answers.data() : nullptr,
                       .states_out = states.data(),
                       .expected = from(expected, at),
                       .seconds = from(seconds, at),
                       .bytes_out = bytes});
    }
    partition.Execute({.operation = operation, .parts = parts, .snapshots = snapshots});
    if (reversed) {
      std::reverse(answers.begin(), answers.end());
      std::reverse(states.begin(), states.end());
    }
    return *this;
  }
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_TEST_BATCH_H_
