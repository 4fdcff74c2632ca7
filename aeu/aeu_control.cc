// The commands that an AEU executes one by one: appends of rows, objects that come and go, and
// those that begin scans and transfers. Commands with keys are executed in groups (aeu.cc).
#include <new>
#include <utility>

#include "aeu/aeu.h"
#include "aeu/state/clock.h"
#include "base/check.h"
#include "memory/memory_manager.h"
#include "storage/table/table_partition.h"

namespace eris::aeu {

using routing::CommandHeader;
using routing::CommandType;
using storage::KeyState;

namespace {

// What an append of those rows copies.
uint64_t BytesOf(const storage::TableLayout& layout, const RowBatch& rows, uint64_t first,
                 uint32_t count) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    const ColumnView& column = rows.columns[i];
    bytes += IsByteString(layout.column(i).type)
                 ? column.offsets[first + count] - column.offsets[first]
                 : uint64_t{count} * ColumnValueBytes(layout.column(i).type);
  }
  return bytes;
}

}  // namespace

void Aeu::RunControl(const CommandHeader* command) {
  counters_.commands.Add(1);
  switch (command->type) {
    case CommandType::kMulticast: {
      const auto* segment =
          reinterpret_cast<const routing::MulticastSegment*>(routing::DataSegment(command));
      RunControl(segment->command);
      routing::BlockPool::Release(segment->block);
      return;
    }
    case CommandType::kScan:
    case CommandType::kJoin:
    case CommandType::kTableScan:
    case CommandType::kStage:
    case CommandType::kMeasure:
      if (runners_.Begin(command, SlotOf(command))) return;
      break;
    case CommandType::kAppendRows:
      AppendRows(command);
      return;
    case CommandType::kInstall:
      Install(command);
      return;
    case CommandType::kDrop:
      Drop(command);
      return;
    case CommandType::kGive:
      transfers_.Give(command);
      return;
    case CommandType::kHandOver:
      transfers_.TakeIn(command);
      return;
    case CommandType::kConclude:
      transfers_.Conclude(command);
      return;
    case CommandType::kComeHome:
      ComeHome(command);
      return;
    case CommandType::kLookup:
    case CommandType::kUpsert:
    case CommandType::kErase:
    case CommandType::kInsertIfAbsent:
    case CommandType::kReplaceIfPresent:
    case CommandType::kCompareAndSet:
    case CommandType::kAdd:
    case CommandType::kPutRows:
    case CommandType::kLookupRows:
      break;
  }
  ERIS_CHECK(false);  // routing sends no other type
}

void Aeu::AppendRows(const CommandHeader* command) {
  const auto* append =
      reinterpret_cast<const routing::AppendSegment*>(routing::DataSegment(command));
  KeyState state = KeyState::kAbsent;
  ObjectSlot* slot = SlotOf(command);
  if (slot == nullptr || slot->ranges().empty()) {
    state = KeyState::kNoObject;
  } else if (command->context->cancelled()) {
    state = KeyState::kCancelled;
  } else {
    OwnedRange& owned = slot->ranges().front();
    auto& partition = *owned.partition->table();
    const uint64_t begin_ns = NowNs();
    const RowBatch& rows = *command->context->rows;
    if (!partition.Append(rows, append->first, append->count, snapshots_))
      state = KeyState::kNoMemory;
    slot->accesses()->RecordExecution(static_cast<uint32_t>(CommandType::kAppendRows),
                                      append->count, NowNs() - begin_ns);
    owned.load->SetSize(partition.size());
    SettleVersions(owned);
    bytes_copied_ += BytesOf(partition.layout(), rows, append->first, append->count);
    counters_.keys.Add(append->count);
    MemoryFreed(*slot);
  }
  command->context->states[append->position] = state;
  acknowledgements_.Add(command->complete, command->context, 1);
}

void Aeu::Install(const CommandHeader* command) {
  const auto* install =
      reinterpret_cast<const routing::InstallSegment*>(routing::DataSegment(command));
  KeyState state = KeyState::kNoMemory;
  const bool had_slot = SlotOf(command) != nullptr;
  try {
    if (TryInstall(command, *install)) state = KeyState::kAbsent;
  } catch (const std::bad_alloc&) {  // the general heap's word for "no"
  }
  // The caller assumes that this AEU has nothing of the object and would never remove half of it.
  if (state == KeyState::kNoMemory && !had_slot) RemoveSlot(command);
  command->context->states[install->position] = state;
  acknowledgements_.Add(command->complete, command->context, 1);
}

bool Aeu::TryInstall(const CommandHeader* command, const routing::InstallSegment& install) {
  if (slots_.size() <= command->slot) {
    slots_.resize(command->slot + 1);
    // A round under way counts the slots that there were.
    for (Round* const round : {&free_versions_, &maintain_}) {
      if (round->slots_left > 0) Want(*round);
    }
  }
  std::unique_ptr<ObjectSlot>& slot = slots_[command->slot];
  if (slot == nullptr) {
    memory::LocalCache* cache = install.manager->NewCache();
    if (cache == nullptr) return false;
    cache->SetListener(&recollection_);
    const bool copies_bytes = IsByteString(install.value_type) || install.layout != nullptr;
    slot = std::make_unique<ObjectSlot>(command->object, *install.route, *cache, copies_bytes,
                                        PartitionSpec(install));
    byte_objects_ += copies_bytes;
  }
  ERIS_CHECK(slot->object() == command->object);  // a slot is given out again only after its drop
  if (install.slot_only) return true;
  slot->ReserveRanges(TransferRunner::kRangesAddedMax);
  loads_.Reserve(*slot, TransferRunner::kRangesAddedMax);
  auto partition = slot->MakePartition(install.range, snapshots_);
  if (!partition.ok()) return false;
  const size_t index = slot->Insert({*std::move(partition), slot->NewLoad(install.range)});
  loads_.Add(*slot, slot->ranges()[index]);
  return true;
}

void Aeu::Drop(const CommandHeader* command) {
  const auto* drop = reinterpret_cast<const routing::DropSegment*>(routing::DataSegment(command));
  RemoveSlot(command);
  command->context->states[drop->position] = KeyState::kAbsent;
  acknowledgements_.Add(command->complete, command->context, 1);
}

void Aeu::ComeHome(const CommandHeader* command) {
  const auto* home =
      reinterpret_cast<const routing::ComeHomeSegment*>(routing::DataSegment(command));
  KeyState state = KeyState::kNoObject;
  if (ObjectSlot* const slot = SlotOf(command); slot != nullptr) {
    try {
      state = transfers_.BringWhatIsLeft(*slot) ? KeyState::kPresent : KeyState::kAbsent;
    } catch (const std::bad_alloc&) {  // the caller asks again
      state = KeyState::kNoMemory;
    }
  }
  command->context->states[home->position] = state;
  acknowledgements_.Add(command->complete, command->context, 1);
}

void Aeu::RemoveSlot(const CommandHeader* command) {
  ObjectSlot* slot = SlotOf(command);
  if (slot == nullptr) return;
  runners_.EndAll(slot);
  transfers_.EndAll(slot);
  loads_.Erase(command->object);
  for (OwnedRange& owned : slot->ranges()) ReleaseVersions(owned);
  byte_objects_ -= slot->copies_bytes();
  // No row is touched: its memory goes back with the object's manager.
  slots_[command->slot].reset();
}

}  // namespace eris::aeu
