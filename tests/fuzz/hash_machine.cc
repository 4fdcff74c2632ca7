#include "tests/fuzz/hash_machine.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/hash_table_check.h"

namespace eris::fuzz {

using storage::HashPartition;
using storage::Key;
using storage::KeyState;

HashMachine::HashMachine(Plant plant) : PartitionMachine(plant) {
  parts_.push_back(NewPartition({}));
}

HashMachine::~HashMachine() {
  // The memory goes whole; a table that was found broken must not be walked.
  for (const auto& part : parts_) part->Abandon();
}

std::unique_ptr<HashPartition> HashMachine::NewPartition(const storage::Range& range) {
  return *HashPartition::Create(range, cache(), ++seed_);
}

size_t HashMachine::OwnerOf(uint64_t key) const {
  size_t which = 0;
  while (!parts_[which]->range().ContainsU64(key)) ++which;
  return which;
}

absl::Status HashMachine::Run(const IndexCommand& command) {
  if (command.family == KeyFamily::kExisting) UpdateExisting();
  ERIS_RETURN_IF_ERROR(Dispatch(command));
  return CheckAll();
}

absl::Status HashMachine::Dispatch(const IndexCommand& command) {
  switch (command.kind) {
    case CommandKind::kScan:
      return Scan(command);
    case CommandKind::kSplit:
      return Prepare(command);
    case CommandKind::kAbsorb:
      return Walk(command);
    case CommandKind::kHandOver:
      return GiveUp(command);
    case CommandKind::kMoveChunks:
    case CommandKind::kReload:
      return MoveChunk(command);
    case CommandKind::kInvalidCalls:
      return InvalidCalls(command);
    case CommandKind::kTrim:
      cache().Trim();
      return absl::OkStatus();
    case CommandKind::kAbandon:
      return Abandon();
    default:
      return Execute(command);
  }
}

absl::Status HashMachine::CheckAll() {
  Key next;
  uint64_t rows = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    HashPartition& part = *parts_[i];
    if (part.range().lo != next || part.range().hi.has_value() != (i + 1 < parts_.size())) {
      return Fault("partition ", i, " does not begin where the one before it ends");
    }
    if (part.range().hi) next = *part.range().hi;
    ERIS_RETURN_IF_ERROR(storage::CheckHashTable(part.table()));
    ERIS_RETURN_IF_ERROR(CheckRows(part));
    rows += part.size();
  }
  if (rows != rows_.size()) return Fault(rows, " rows instead of ", rows_.size());
  const memory::ObjectAccount account = memory_->manager.Account();
  if (account.used_bytes + account.extent_bytes != cache().used_bytes()) {
    return Fault("the cache counts ", cache().used_bytes(), " bytes, its manager ",
                 account.used_bytes + account.extent_bytes);
  }
  return absl::OkStatus();
}

// Every row is found, and there are as many as should be: then there is no other.
absl::Status HashMachine::CheckRows(HashPartition& part) {
  std::vector<uint64_t> keys, values;
  auto [row, end] = RowsOf(part.range());
  for (; row != end; ++row) {
    keys.push_back(row->first);
    values.push_back(row->second);
  }
  if (part.size() != keys.size()) {
    return Fault("a partition has ", part.size(), " rows instead of ", keys.size());
  }
  if (keys.empty()) return absl::OkStatus();
  std::vector<uint32_t> positions(keys.size());
  for (uint32_t i = 0; i < positions.size(); ++i) positions[i] = i;
  std::vector<uint64_t> answers(keys.size());
  std::vector<KeyState> states(keys.size(), KeyState::kPending);
  const storage::BatchPart all = {.count = static_cast<uint32_t>(keys.size()),
                                  .keys = keys.data(),
                                  .positions = positions.data(),
                                  .values_out = answers.data(),
                                  .states_out = states.data()};
  part.Execute({storage::Operation::kLookup, {&all, 1}});
  for (size_t i = 0; i < keys.size(); ++i) {
    if (states[i] != KeyState::kPresent || answers[i] != values[i]) {
      return Fault("key ", keys[i], " has ", answers[i], " instead of ", values[i]);
    }
  }
  return absl::OkStatus();
}

absl::Status HashMachine::Execute(const IndexCommand& command) {
  std::vector<std::vector<uint64_t>> keys(parts_.size());
  for (const uint64_t key : KeysOf(command, existing_)) keys[OwnerOf(key)].push_back(key);
  for (size_t which = 0; which < parts_.size(); ++which) {
    if (keys[which].empty()) continue;
    ERIS_RETURN_IF_ERROR(ExecuteOn(*parts_[which], keys[which], command));
  }
  return absl::OkStatus();
}

// By hash: each row once, in any order. By key: as of an index.
absl::Status HashMachine::Scan(const IndexCommand& command) {
  const uint64_t from = KeyAt(command.family, command.place, command.first, existing_);
  HashPartition& part = *parts_[OwnerOf(from)];
  const storage::Range rest{Key::FromU64(from), part.range().hi};
  const uint32_t slice = (command.detail & 1) != 0 ? 7 : 500;
  std::vector<uint64_t> keys(slice), values(slice);
  auto [row, end] = RowsOf(rest);
  std::map<uint64_t, uint64_t> wanted(row, end);
  ++coverage_.done[static_cast<unsigned>(CommandKind::kScan)];
  if (slice > 100 || wanted.size() < 200) {  // a pass over all rows for each slice
    storage::ScanCursor cursor{.rest = rest};
    auto at = wanted.begin();
    while (!cursor.done) {
      storage::ScanRows out{keys.data(), values.data(), slice, 0};
      part.Scan(cursor, {}, out);
      for (uint32_t i = 0; i < out.rows; ++i, ++at) {
        if (at == wanted.end() || at->first != keys[i] || at->second != values[i]) {
          return Fault("the ordered scan gives ", keys[i], " -> ", values[i]);
        }
      }
    }
    if (at != wanted.end()) return Fault("the ordered scan ends before ", at->first);
  }
  storage::HashScanCursor cursor{.rest = rest};
  storage::ScanRows out{keys.data(), values.data(), slice, 0};
  if (part.prepared()) {
    return Expect(absl::StatusCode::kFailedPrecondition, part.ScanHashed(cursor, {}, out));
  }
  while (!cursor.done) {
    out.rows = 0;
    ERIS_RETURN_IF_ERROR(part.ScanHashed(cursor, {}, out));
    for (uint32_t i = 0; i < out.rows; ++i) {
      const auto one = wanted.find(keys[i]);
      if (one == wanted.end() || one->second != values[i]) {
        return Fault("the scan gives ", keys[i], " -> ", values[i], ", or gives it twice");
      }
      wanted.erase(one);
    }
  }
  if (!wanted.empty()) return Fault("the scan lacks ", wanted.begin()->first);
  return absl::OkStatus();
}

// One end of a range, or all of it.
absl::Status HashMachine::Prepare(const IndexCommand& command) {
  const uint64_t key = KeyAt(command.family, command.place, command.first, existing_);
  HashPartition& part = *parts_[OwnerOf(key)];
  storage::Range leaving = part.range();
  if (key != leaving.lo.head) {
    if ((command.detail & 1) != 0) {
      leaving.hi = Key::FromU64(key);
    } else {
      leaving.lo = Key::FromU64(key);
    }
  }
  const absl::Status status = part.prepared() ? part.PrepareExtract(leaving) : absl::OkStatus();
  if (part.prepared()) return Expect(absl::StatusCode::kFailedPrecondition, status);
  ++coverage_.done[static_cast<unsigned>(CommandKind::kSplit)];
  return part.PrepareExtract(leaving);
}

absl::Status HashMachine::Walk(const IndexCommand& command) {
  for (const auto& part : parts_) {
    if (!part->prepared()) continue;
    bool refused = false;
    ERIS_RETURN_IF_ERROR(Try(
        command,
        [&] { return part->WalkLeaving(static_cast<uint32_t>(command.Count() + 1)).status(); },
        &refused, /*keeps_some=*/true));
  }
  return absl::OkStatus();
}

absl::Status HashMachine::GiveUp(const IndexCommand& command) {
  for (const auto& part : parts_) {
    if (!part->prepared()) continue;
    bool refused = false;
    bool done = false;
    ERIS_RETURN_IF_ERROR(Try(
        command,
        [&] {
          const auto given_up = part->CancelExtract(static_cast<uint32_t>(command.Count() + 1));
          done = given_up.ok() && *given_up;
          return given_up.status();
        },
        &refused, /*keeps_some=*/true));
    if (done == part->prepared()) return Fault("what was given up is still prepared, or was lost");
  }
  return absl::OkStatus();
}

// Off the prepared end, or the low one, to a neighbour, or to a new partition where none takes it.
absl::Status HashMachine::MoveChunk(const IndexCommand& command) {
  const size_t from = command.detail / 4 % parts_.size();
  HashPartition& part = *parts_[from];
  const uint64_t size = part.size();
  storage::ExchangeChunk chunk;
  bool refused = false;
  ERIS_RETURN_IF_ERROR(Try(
      command, [&] { return part.Extract(static_cast<uint32_t>(command.Count()), chunk); },
      &refused,
      /*keeps_some=*/true));
  if (refused) return absl::OkStatus();
  auto [row, end] = RowsOf(chunk.covers);
  for (size_t i = 0; i < chunk.keys.size(); ++i, ++row) {
    if (row == end || chunk.keys[i] != row->first || chunk.values[i] != row->second) {
      return Fault("a chunk has ", chunk.keys[i], " -> ", chunk.values[i], " in row ", i);
    }
  }
  if (row != end) return Fault("a chunk lacks ", row->first);
  if (part.size() + chunk.keys.size() != size) return Fault("a chunk leaves ", part.size());
  if (plant_ == Plant::kLosesRowOfChunk && chunk.keys.size() >= 100) {
    chunk.keys.erase(chunk.keys.begin() + 7);
    chunk.values.erase(chunk.values.begin() + 7);
  }
  HashPartition* target = nullptr;
  for (const auto& other : parts_) {
    const storage::Range& range = other->range();
    if (other->prepared() || range.Empty()) continue;
    if (range.lo == chunk.covers.hi || range.hi == chunk.covers.lo) target = other.get();
  }
  if (target == nullptr && !chunk.covers.Empty()) {
    parts_.push_back(NewPartition({chunk.covers.lo, chunk.covers.lo}));
    target = parts_.back().get();
  }
  if (target != nullptr) {
    ERIS_RETURN_IF_ERROR(Try(
        command, [&] { return target->Ingest(chunk); }, &refused, /*keeps_some=*/true));
    if (refused) ERIS_RETURN_IF_ERROR(target->Ingest(chunk));
  }
  std::erase_if(parts_, [](const auto& one) { return one->range().Empty(); });
  std::sort(parts_.begin(), parts_.end(),
            [](const auto& a, const auto& b) { return a->range().lo < b->range().lo; });
  return absl::OkStatus();
}

absl::Status HashMachine::InvalidCalls(const IndexCommand& command) {
  HashPartition& part = *parts_[command.detail % parts_.size()];
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  ERIS_RETURN_IF_ERROR(Expect(kPrecondition, part.SplitAt(Key::FromU64(77)).status()));
  if (parts_.size() > 1) {
    ERIS_RETURN_IF_ERROR(Expect(kPrecondition, parts_[0]->Absorb(*parts_[1])));
  }
  ++coverage_.done[static_cast<unsigned>(CommandKind::kInvalidCalls)];
  if (part.prepared() || part.range().lo.head == ~uint64_t{0}) return absl::OkStatus();
  const Key inside = Key::FromU64(part.range().lo.head + 1);
  if (!part.range().Contains(inside)) return absl::OkStatus();
  return ExpectInvalid(part.PrepareExtract({inside, inside}));
}

absl::Status HashMachine::Abandon() {
  for (const auto& part : parts_) part->Abandon();
  parts_.clear();
  memory_ = std::make_unique<storage::TreeMemory>();
  rows_.clear();
  existing_.clear();
  parts_.push_back(NewPartition({}));
  return absl::OkStatus();
}

absl::Status HashMachine::Finish() {
  parts_.clear();
  const uint64_t used = cache().used_bytes();
  if (used != 0) return Fault(used, " bytes are used though nothing is left");
  return absl::OkStatus();
}

absl::Status RunHashCommands(std::span<const IndexCommand> commands, Plant plant,
                             Coverage* coverage) {
  HashMachine machine(plant);
  size_t number = 0;
  for (const IndexCommand& command : commands) {
    const absl::Status status = machine.Run(command);
    if (!status.ok()) {
      return absl::InternalError(
          absl::StrCat("command ", number, " (", TextOf(command), "): ", status.ToString()));
    }
    ++number;
  }
  if (coverage != nullptr) coverage->Add(machine.coverage());
  return machine.Finish();
}

}  // namespace eris::fuzz
