#include "tests/fuzz/partition_machine.h"

#include <algorithm>
#include <cstddef>

#include "tests/support/test_batch.h"
#include "tests/support/write_model.h"

namespace eris::fuzz {

using storage::KeyState;
using storage::Operation;

namespace {

constexpr uint64_t kUntouched = test::TestBatch::kUnanswered;
// Sizes of a batch's parts: below, at and above a group.
constexpr uint32_t kPartSizes[8] = {UINT32_MAX, 1, 2, 7, 40, 127, 128, 129};

bool Inserts(Operation operation) {
  return operation == Operation::kUpsert || operation == Operation::kInsertIfAbsent ||
         operation == Operation::kAdd;
}

}  // namespace

void Coverage::Add(const Coverage& other) {
  kinds |= other.kinds;
  scan_forms |= other.scan_forms;
  for (unsigned i = 0; i < kCommandKinds; ++i) {
    done[i] += other.done[i];
    refused[i] += other.refused[i];
  }
  for (unsigned i = 0; i < 8; ++i) {
    for (unsigned j = 0; j < 5; ++j) states[i][j] += other.states[i][j];
  }
}

absl::Status PartitionMachine::CheckChunk(const storage::ExchangeChunk& chunk, const char* what) {
  auto [row, end] = RowsOf(chunk.covers);
  for (size_t i = 0; i < chunk.keys.size(); ++i, ++row) {
    if (row == end || chunk.keys[i] != row->first || chunk.values[i] != row->second) {
      return Fault(what, " has ", chunk.keys[i], " -> ", chunk.values[i], " in row ", i);
    }
  }
  return row == end ? absl::OkStatus() : Fault(what, " lacks ", row->first);
}

void PartitionMachine::LoseRowOf(storage::ExchangeChunk& chunk) const {
  if (plant_ != Plant::kLosesRowOfChunk || chunk.keys.size() < 100) return;
  chunk.keys.erase(chunk.keys.begin() + 7);
  chunk.values.erase(chunk.values.begin() + 7);
}

absl::Status PartitionMachine::ExecuteOn(storage::Partition& partition,
                                         const std::vector<uint64_t>& keys,
                                         const IndexCommand& command) {
  const auto operation = static_cast<Operation>(static_cast<unsigned>(command.kind) + 1);
  test::TestBatch batch{.operation = operation,
                        .keys = keys,
                        .part_keys = kPartSizes[command.detail % 8],
                        .reversed = (command.detail & 8) != 0};
  for (size_t i = 0; i < keys.size(); ++i) {
    batch.values.push_back(++last_value_);
    // Right, wrong, and what another key of the batch has just been given.
    const auto row = rows_.find(keys[i]);
    batch.expected.push_back(i % 3 == 0 && i > 0                ? batch.values[i - 1]
                             : i % 7 != 0 && row != rows_.end() ? row->second
                                                                : 0);
  }
  ArmFailures(command.FailNth(), command.FailMode());
  batch.Run(partition);
  ArmFailures(0, memory::FailurePoint::Mode::kOnce);

  uint64_t refused = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    KeyState state = batch.states[i];
    const uint64_t answer = batch.answers[i];
    const bool present = rows_.contains(keys[i]);
    if (plant_ == Plant::kWrongAnswer && operation == Operation::kErase && !present && i > 0 &&
        keys[i - 1] == keys[i]) {
      state = KeyState::kPresent;
    }
    coverage_.states[static_cast<size_t>(operation)][static_cast<size_t>(state)] += 1;
    if (state == KeyState::kNoMemory) {
      if (present || !Inserts(operation)) {
        return Fault("key ", keys[i], " was refused, though it needs no memory");
      }
      if (answer != kUntouched) return Fault("a refused key is answered with a value");
      ++refused;
      if (plant_ == Plant::kWritesRefused && operation == Operation::kUpsert) {
        test::TestBatch{.operation = operation, .keys = {keys[i]}, .values = {batch.values[i]}}.Run(
            partition);
      }
      continue;
    }
    const test::ModelAnswer wanted =
        test::RunOnModel(rows_, operation, keys[i], batch.values[i], batch.expected[i]);
    if (state != wanted.state || answer != wanted.value.value_or(kUntouched)) {
      return Fault("key ", keys[i], ", number ", i, " of the batch, is answered ",
                   static_cast<int>(state), " with ", answer, " instead of ",
                   static_cast<int>(wanted.state), " with ", wanted.value.value_or(kUntouched));
    }
  }
  if (command.FailNth() == 0
          ? refused > 0
          : command.FailMode() == memory::FailurePoint::Mode::kOnce && refused > 1) {
    return Fault(refused, " keys were refused");
  }
  ++(refused > 0 ? coverage_.refused : coverage_.done)[static_cast<unsigned>(command.kind)];
  return absl::OkStatus();
}

}  // namespace eris::fuzz
