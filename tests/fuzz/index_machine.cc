#include "tests/fuzz/index_machine.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/tree/tree_check.h"

namespace eris::fuzz {

using storage::IndexPartition;
using storage::Key;
using storage::KeyState;
using storage::Operation;

IndexMachine::IndexMachine(Plant plant) : PartitionMachine(plant) {
  parts_.push_back(NewPartition({}));
}

IndexMachine::~IndexMachine() {
  // The memory goes whole; a tree that was found broken must not be walked.
  for (const auto& part : parts_) part->Abandon();
}

std::unique_ptr<IndexPartition> IndexMachine::NewPartition(const storage::Range& range) {
  return *IndexPartition::Create(range, cache());
}

size_t IndexMachine::OwnerOf(uint64_t key) const {
  size_t which = 0;
  while (!parts_[which]->range().ContainsU64(key)) ++which;
  return which;
}

absl::Status IndexMachine::Run(const IndexCommand& command) {
  if (command.family == KeyFamily::kExisting) UpdateExisting();
  may_settle_ = std::any_of(parts_.begin(), parts_.end(), [](const auto& part) {
    return part->loan().hidden_rows() > 0 && !part->loan().out();
  });
  absl::Status status;
  switch (command.kind) {
    case CommandKind::kLookup:
    case CommandKind::kUpsert:
    case CommandKind::kErase:
    case CommandKind::kInsertIfAbsent:
    case CommandKind::kReplaceIfPresent:
    case CommandKind::kCompareAndSet:
    case CommandKind::kAdd:
      status = Execute(command);
      break;
    case CommandKind::kScan:
      status = Scan(command);
      break;
    case CommandKind::kSplit:
      status = Split(command);
      break;
    case CommandKind::kAbsorb:
      status = Absorb(command);
      break;
    case CommandKind::kMoveChunks:
      status = MoveChunks(command);
      break;
    case CommandKind::kReload:
      status = Reload(command);
      break;
    case CommandKind::kHandOver:
      status = HandOver(command);
      break;
    case CommandKind::kInvalidCalls:
      status = InvalidCalls(command);
      break;
    case CommandKind::kTrim:
      cache().Trim();
      second().Trim();
      ++coverage_.done[static_cast<unsigned>(CommandKind::kTrim)];
      break;
    case CommandKind::kAbandon:
      status = Abandon();
      break;
    case CommandKind::kLend:
      status = Lend(command);
      break;
    case CommandKind::kConclude:
      status = Conclude(command);
      break;
    case CommandKind::kMaintain:
      status = Maintain(command);
      break;
    case CommandKind::kRehome:
      status = Rehome(command);
      break;
  }
  ERIS_RETURN_IF_ERROR(status);
  ERIS_RETURN_IF_ERROR(CheckAll());
  return CheckLookups(command);
}

absl::Status IndexMachine::AddPartition(const IndexPartition& part,
                                        TreeInventory& inventory) const {
  TreeInventory own;
  AddTree(part.tree(), own);
  const size_t all = own.rows.size();
  std::erase_if(own.rows, [&](const auto& row) { return !part.range().ContainsU64(row.first); });
  if (all - own.rows.size() != part.loan().hidden_rows()) {
    return Fault("holds ", all - own.rows.size(), " rows out of its range, and says ",
                 part.loan().hidden_rows());
  }
  if (part.loan().out() != IsLender(part)) return Fault("is a lender, or not, and says otherwise");
  for (const storage::TreeRef root : part.loan().forgotten()) {
    AddBlocks(root, part.tree().cache(), own);
  }
  inventory.rows.insert(inventory.rows.end(), own.rows.begin(), own.rows.end());
  inventory.blocks.insert(inventory.blocks.end(), own.blocks.begin(), own.blocks.end());
  inventory.kinds |= own.kinds;
  return absl::OkStatus();
}

absl::Status IndexMachine::CheckAll() {
  EndTurn();
  TreeInventory inventory;
  Key next;
  size_t rows_before = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const IndexPartition& part = *parts_[i];
    const storage::Range& range = part.range();
    if (range.lo != next || range.hi.has_value() != (i + 1 < parts_.size())) {
      return Fault("partition ", i, " does not begin where the one before it ends");
    }
    if (range.hi) next = *range.hi;
    ERIS_RETURN_IF_ERROR(storage::CheckTree(part.tree()));
    ERIS_RETURN_IF_ERROR(AddPartition(part, inventory));
    const size_t held = inventory.rows.size() - rows_before;
    if (held != part.size()) {
      return Fault("partition ", i, " holds ", held, " rows and says ", part.size());
    }
    rows_before = inventory.rows.size();
  }
  const auto differ = std::mismatch(inventory.rows.begin(), inventory.rows.end(), rows_.begin(),
                                    rows_.end(), [](const auto& is, const auto& wanted) {
                                      return is.first == wanted.first && is.second == wanted.second;
                                    });
  if (differ.first != inventory.rows.end() || differ.second != rows_.end()) {
    const auto text = [](bool none, uint64_t key, uint64_t value) {
      return none ? std::string("the end") : absl::StrCat(key, " -> ", value);
    };
    const bool no_is = differ.first == inventory.rows.end();
    const bool no_wanted = differ.second == rows_.end();
    return Fault("row ", differ.first - inventory.rows.begin(), " is ",
                 text(no_is, no_is ? 0 : differ.first->first, no_is ? 0 : differ.first->second),
                 " instead of ",
                 text(no_wanted, no_wanted ? 0 : differ.second->first,
                      no_wanted ? 0 : differ.second->second));
  }
  coverage_.kinds |= inventory.kinds;
  return CheckMemory(inventory, cache().manager());
}

// Some keys one by one, the command's own and those beside them.
absl::Status IndexMachine::CheckLookups(const IndexCommand& command) {
  for (unsigned i = 0; i < 8; ++i) {
    const uint64_t key =
        KeyAt(command.family, command.place, command.first + i * 5u, existing_) + i / 6;
    const auto row = rows_.find(key);
    const std::optional<uint64_t> value = parts_[OwnerOf(key)]->tree().Lookup(key);
    if (value.has_value() != (row != rows_.end()) || (value && *value != row->second)) {
      return Fault("a single lookup of ", key, " does not find what is there");
    }
  }
  return absl::OkStatus();
}

// --- batches ---

absl::Status IndexMachine::Execute(const IndexCommand& command) {
  std::vector<std::vector<uint64_t>> keys(parts_.size());
  for (const uint64_t key : KeysOf(command, existing_)) keys[OwnerOf(key)].push_back(key);
  for (size_t which = 0; which < parts_.size(); ++which) {
    if (keys[which].empty()) continue;
    ERIS_RETURN_IF_ERROR(ExecuteOn(*parts_[which], keys[which], command));
  }
  return absl::OkStatus();
}

// --- cuts and joins ---

absl::Status IndexMachine::Split(const IndexCommand& command) {
  const uint64_t key = KeyAt(command.family, command.place, command.first, existing_);
  const size_t which = OwnerOf(key);
  IndexPartition& part = *parts_[which];
  if (key == part.range().lo.head) {
    return ExpectInvalid(part.SplitAt(Key::FromU64(key)).status());
  }
  if (IsLender(part)) return ExpectLent(part.SplitAt(Key::FromU64(key)).status());
  if (parts_.size() == kPartitionsMax) return absl::OkStatus();
  Changes(part);
  std::unique_ptr<storage::OrderedPartition> upper;
  bool refused = false;
  ERIS_RETURN_IF_ERROR(Try(
      command,
      [&] {
        auto result = part.SplitAt(Key::FromU64(key));
        if (result.ok()) upper = *std::move(result);
        return result.status();
      },
      &refused));
  if (refused) return absl::OkStatus();
  if (plant_ == Plant::kLeaksABlock && part.size() > 0 && upper->size() > 0 &&
      cache().Allocate(64) == nullptr) {
    return Fault("the plant finds no memory");
  }
  parts_.emplace(parts_.begin() + static_cast<ptrdiff_t>(which) + 1,
                 static_cast<IndexPartition*>(upper.release()));
  return absl::OkStatus();
}

absl::Status IndexMachine::Absorb(const IndexCommand& command) {
  if (parts_.size() == 1) return absl::OkStatus();
  const size_t low = command.detail / 2 % (parts_.size() - 1);
  const size_t gone = command.detail % 2 == 0 ? low : low + 1;
  const size_t stays = low + low + 1 - gone;
  IndexPartition& other = *parts_[gone];
  const uint64_t rows = other.size();
  const storage::Range range = other.range();
  memory::LocalCache& home = parts_[stays]->tree().cache();
  if (&other.tree().cache() != &home) {
    ERIS_RETURN_IF_ERROR(ExpectInvalid(parts_[stays]->Absorb(other)));
    ERIS_RETURN_IF_ERROR(other.Rehome(home));
  }
  if (IsLender(other) || IsLender(*parts_[stays])) return ExpectLent(parts_[stays]->Absorb(other));
  Changes(other);
  Changes(*parts_[stays]);
  bool refused = false;
  ERIS_RETURN_IF_ERROR(Try(
      command, [&] { return parts_[stays]->Absorb(other); }, &refused));
  if (refused) return absl::OkStatus();
  if (!other.range().Empty() || other.size() != 0 || !other.tree().empty()) {
    return Fault("what was absorbed is not empty");
  }
  if (plant_ == Plant::kLosesAKey && rows > 1) {
    const uint64_t key = RowsOf(range).first->first;
    uint32_t position = 0;
    KeyState state;
    const storage::BatchPart one = {
        .count = 1, .keys = &key, .positions = &position, .states_out = &state};
    parts_[stays]->Execute({Operation::kErase, {&one, 1}});
  }
  parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(gone));
  return absl::OkStatus();
}

absl::Status IndexMachine::HandOver(const IndexCommand& command) {
  const size_t which = command.detail % parts_.size();
  const Key lo = parts_[which]->range().lo;
  std::unique_ptr<IndexPartition> target = NewPartition({lo, lo});
  if (&parts_[which]->tree().cache() == &second()) ERIS_RETURN_IF_ERROR(target->Rehome(second()));
  if (IsLender(*parts_[which])) return ExpectLent(target->Absorb(*parts_[which]));
  Changes(*parts_[which]);
  bool refused = false;
  ERIS_RETURN_IF_ERROR(Try(
      command, [&] { return target->Absorb(*parts_[which]); }, &refused));
  if (refused) return Fault("an empty partition needs memory to absorb");
  parts_[which] = std::move(target);
  return absl::OkStatus();
}

absl::Status IndexMachine::Abandon() {
  const uint64_t used = used_bytes();
  for (const auto& part : parts_) {
    part->Abandon();
    if (part->size() != 0) return Fault("an abandoned partition has rows");
  }
  if (used_bytes() != used) return Fault("an abandoned partition has freed something");
  parts_.clear();
  loan_.reset();
  NewMemory();
  rows_.clear();
  existing_.clear();
  parts_.push_back(NewPartition({}));
  ++coverage_.done[static_cast<unsigned>(CommandKind::kAbandon)];
  return absl::OkStatus();
}

absl::Status IndexMachine::Rearrange(size_t which, uint64_t key) {
  IndexPartition& part = *parts_[which];
  if (IsLender(part)) return absl::OkStatus();
  if (!part.range().ContainsU64(key) || key == part.range().lo.head) return absl::OkStatus();
  auto upper = part.SplitAt(Key::FromU64(key));
  ERIS_RETURN_IF_ERROR(upper.status());
  return part.Absorb(**upper);
}

absl::Status IndexMachine::Finish() {
  parts_.clear();
  EndTurn();
  const uint64_t used = used_bytes();
  if (used != 0) return Fault(used, " bytes are used though nothing is left");
  return absl::OkStatus();
}

absl::Status RunIndexCommands(std::span<const IndexCommand> commands, Plant plant,
                              Coverage* coverage) {
  return RunOnNew<IndexMachine>(commands, plant, coverage);
}

absl::Status RunIndexCommands(const uint8_t* bytes, size_t size, Plant plant) {
  std::vector<IndexCommand> commands =
      DecodeCommands({bytes, std::min(size, kCommandsMax * kCommandBytes)});
  return RunIndexCommands(commands, plant);
}

}  // namespace eris::fuzz
