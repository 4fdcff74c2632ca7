#include "tests/fuzz/partition_machine.h"

#include <algorithm>
#include <cstddef>

#include "tests/support/write_model.h"

namespace eris::fuzz {

using storage::KeyState;
using storage::Operation;

namespace {

constexpr uint64_t kUntouched = 0xdead'beef'dead'beef;
// Sizes of a batch's parts: below, at and above a group.
constexpr size_t kPartSizes[8] = {SIZE_MAX, 1, 2, 7, 40, 127, 128, 129};

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

absl::Status PartitionMachine::ExecuteOn(storage::Partition& partition,
                                         const std::vector<uint64_t>& keys,
                                         const IndexCommand& command) {
  const auto operation = static_cast<Operation>(static_cast<unsigned>(command.kind) + 1);
  const size_t count = keys.size();
  std::vector<uint64_t> values(count), expected(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = ++last_value_;
    // Right, wrong, and what another key of the batch has just been given.
    const auto row = rows_.find(keys[i]);
    expected[i] = i % 3 == 0 && i > 0                ? values[i - 1]
                  : i % 7 != 0 && row != rows_.end() ? row->second
                                                     : 0;
  }
  std::vector<uint32_t> positions(count);
  for (size_t i = 0; i < count; ++i) {
    positions[i] = static_cast<uint32_t>((command.detail & 8) != 0 ? count - 1 - i : i);
  }
  std::vector<uint64_t> answers(count, kUntouched);
  std::vector<KeyState> states(count, KeyState::kPending);
  std::vector<storage::BatchPart> parts;
  for (size_t at = 0; at < count; at += parts.back().count) {
    const size_t size = std::min(count - at, kPartSizes[command.detail % 8]);
    parts.push_back({.count = static_cast<uint32_t>(size),
                     .keys = &keys[at],
                     .values_in = &values[at],
                     .positions = &positions[at],
                     .values_out = answers.data(),
                     .states_out = states.data(),
                     .expected = &expected[at]});
  }
  ArmFailures(command.FailNth(), command.FailMode());
  partition.Execute({operation, parts});
  ArmFailures(0, memory::FailurePoint::Mode::kOnce);

  uint64_t refused = 0;
  for (size_t i = 0; i < count; ++i) {
    KeyState state = states[positions[i]];
    const uint64_t answer = answers[positions[i]];
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
        storage::BatchPart one = {.count = 1,
                                  .keys = &keys[i],
                                  .values_in = &values[i],
                                  .positions = &positions[i],
                                  .values_out = answers.data(),
                                  .states_out = states.data(),
                                  .expected = nullptr};
        partition.Execute({operation, {&one, 1}});
      }
      continue;
    }
    const test::ModelAnswer wanted =
        test::RunOnModel(rows_, operation, keys[i], values[i], expected[i]);
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
