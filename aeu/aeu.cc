#include "aeu/aeu.h"

#include <algorithm>
#include <new>
#include <utility>

#include "aeu/state/clock.h"
#include "aeu/turn_points.h"
#include "base/check.h"
#include "memory/memory_manager.h"
#include "storage/table/table_partition.h"

namespace eris::aeu {

using routing::CommandHeader;
using routing::CommandType;
using storage::KeyState;

namespace {

// Old rows that one turn frees for an object, and one that has nothing else to do: some 20 us.
constexpr uint32_t kFreedPerTurn = 256;
constexpr uint32_t kFreedPerIdleTurn = 4096;
// Rows that a turn compacts, beside other work and without any.
constexpr uint32_t kMaintainedPerTurn = 256;
constexpr uint32_t kMaintainedPerIdleTurn = 4096;

routing::PortOptions OfAeu(routing::PortOptions options) {
  options.way = routing::PortOptions::Way::kIncoming;
  options.wait_ns = 0;
  return options;
}

// What an append of those rows copies.
uint64_t BytesOf(const storage::TableLayout& layout, const RowBatch& rows, uint64_t first,
                 uint32_t count) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    const ColumnView& column = rows.columns[i];
    bytes += layout.column(i).type == ColumnType::kString
                 ? column.offsets[first + count] - column.offsets[first]
                 : uint64_t{count} * ColumnValueBytes(layout.column(i).type);
  }
  return bytes;
}

// What does not pass the look-up's filter counts as absent. Before any of its keys is forwarded:
// until then nobody else writes into its states, and a key that is forwarded after gets its own.
void ApplyQuery(const CommandHeader* command) {
  ERIS_DCHECK(command->type == CommandType::kLookup);
  ERIS_DCHECK(command->query_bytes == sizeof(routing::LookupQuery));
  const auto* query = reinterpret_cast<const routing::LookupQuery*>(routing::QueryOf(command));
  const uint32_t* positions = routing::KeyedSegmentOf(command).positions;
  for (uint32_t i = 0; i < command->count; ++i) {
    const uint32_t at = positions[i];
    KeyState& state = command->context->states[at];
    if (state == KeyState::kPresent && !query->Keeps(command->context->values[at])) {
      state = KeyState::kAbsent;
    }
  }
}

}  // namespace

Aeu::Aeu(AeuId id, const routing::EndpointDirectory& directory, const routing::PortOptions& port)
    : id_(id),
      directory_(directory),
      endpoint_(directory[id]),
      registry_(directory.snapshots()),
      recollection_(endpoint_.waker),
      port_(directory, OfAeu(port)),
      acknowledgements_(counters_.answered),
      scans_(acknowledgements_, counters_, registry_),
      joins_(id, port_, acknowledgements_, counters_),
      table_scans_(id, port_, registry_, acknowledgements_, counters_),
      runners_({{{CommandType::kScan, &scans_},
                 {CommandType::kJoin, &joins_},
                 {CommandType::kTableScan, &table_scans_}}}),
      transfers_(*this, port_, acknowledgements_, counters_, snapshots_) {
  // So that neither asks for memory in a turn.
  runnable_.reserve(kGroupedCommandsMax);
  snapshots_.active.reserve(routing::SnapshotRegistry::kSlots);
}

Aeu::~Aeu() { ERIS_DCHECK(blocks_ == nullptr && endpoint_.ingress.Empty()); }

bool Aeu::Step(const StepBudget& budget) {
  base::ThreadRoleScope role(thread_);
  const uint64_t begin_ns = NowNs();
  transfers_.BeginTurn();
  bool worked = (recollection_.Take() || collect_again_) && CollectMemory();
  worked |= TakeCommands(budget);
  worked |= transfers_.Advance();
  // Before the answers: whoever has one may begin a snapshot, which is not to pay for older rows.
  if (version_bytes_ > 0 || !snapshots_.active.empty()) EnforceSnapshotLimits(begin_ns);
  // Everything written so far is complete here: the place for a log, before anyone hears of it. And
  // before the slice of the scans: a look-up waits for the one that was under way, not for two.
  acknowledgements_.Send();
  if (runners_.running() > 0) {
    // From the turn's begin on, since a command waits for the whole turn; but a part in any case.
    worked |= runners_.Advance(std::max(begin_ns + budget.scan_ns, NowNs() + budget.scan_ns / 4));
    acknowledgements_.Send();
  }
  // A turn that has done a piece of a transfer has spent what it may: the rest is for the next one.
  if (!transfers_.stepped()) {
    if (free_versions_.slots_left > 0) FreeVersions(worked ? kFreedPerTurn : kFreedPerIdleTurn);
    if (!transfers_.GoOnAfterSteps(worked) && maintain_.slots_left > 0) {
      Maintain(worked ? kMaintainedPerTurn : kMaintainedPerIdleTurn);
    }
  }
  if (!worked && trim_worthwhile_) TrimMemory();
  if (!worked && idle_work_ != nullptr) {
    idle_work_left_ = idle_work_->Run(NowNs() + budget.idle_ns);
  }
  if (port_.HasBuffered()) {
    // What finds no room stays buffered for the next turn; a turn never waits.
    if (port_.Flush()) worked = true;
  }
  if (worked) {
    counters_.turns.Add(1);
    counters_.busy_ns.Add(NowNs() - begin_ns);
  }
  return worked;
}

bool Aeu::HasWork() const {
  return endpoint_.incoming.HasRecords() || !endpoint_.ingress.Empty() || blocks_ != nullptr ||
         port_.HasBuffered() || runners_.Runnable() || idle_work_left_ || trim_worthwhile_ ||
         collect_again_ || recollection_.Waits() || free_versions_.slots_left > 0 ||
         maintain_.slots_left > 0 || transfers_.HasWork() ||
         (version_bytes_ > 0 && registry_.Now() != snapshots_mark_);
}

bool Aeu::TakeCommands(const StepBudget& budget) {
  ERIS_AT_TURN_POINT(kBeforeCut);
  const auto records = endpoint_.incoming.TryTake();
  if (!records && endpoint_.incoming.WaitsForWriter()) counters_.writer_waits.Add(1);
  if (routing::Block* block = endpoint_.ingress.TakeAll()) {
    (blocks_ == nullptr ? blocks_ : blocks_end_->next) = block;
    while (block->next != nullptr) block = block->next;
    blocks_end_ = block;
  }
  ReadSnapshots();
  if (!records && blocks_ == nullptr) return false;

  bytes_copied_ = 0;
  if (records) Execute(*records);
  size_t taken_bytes = 0;
  routing::Block* end = blocks_;
  for (;
       end != nullptr && taken_bytes < budget.ingress_bytes && bytes_copied_ < budget.copied_bytes;
       end = end->next) {
    Execute(end->records());
    // Byte strings make a block's work much larger than the block: it runs by itself, so that the
    // turn ends soon after it has copied enough.
    if (std::exchange(copies_bytes_, false)) RunGroups();
    taken_bytes += end->used_bytes;
  }
  RunGroups();
  // Groups point into the blocks until here.
  while (blocks_ != end) {
    routing::Block* const read = blocks_;
    blocks_ = read->next;
    routing::BlockPool::Release(read);
  }
  ERIS_AT_TURN_POINT(kCommandsExecuted);
  return true;
}

void Aeu::ReadSnapshots() {
  ERIS_AT_TURN_POINT(kBeforeEpoch);
  const routing::SnapshotRegistry::Mark mark = registry_.Now();
  if (mark != snapshots_mark_) {
    ERIS_AT_TURN_POINT(kBeforeRegistry);
    registry_.Read(mark, snapshots_);
    snapshots_mark_ = mark;
    if (version_bytes_ > 0) Want(free_versions_);
  }
  ERIS_AT_TURN_POINT(kSnapshotsRead);
}

void Aeu::SettleVersions(OwnedRange& owned) {
  const uint64_t kept = owned.partition->version_bytes();
  if (kept == owned.version_bytes) return;
  version_bytes_ += kept - owned.version_bytes;  // modulo 2^64, as what is added there
  registry_.AddVersionBytes(static_cast<int64_t>(kept - owned.version_bytes));
  owned.version_bytes = kept;
}

void Aeu::ReleaseVersions(OwnedRange& owned) {
  version_bytes_ -= owned.version_bytes;
  registry_.AddVersionBytes(-static_cast<int64_t>(owned.version_bytes));
  owned.version_bytes = 0;
}

void Aeu::RangesChanged(ObjectSlot& slot) {
  MemoryFreed(slot);
  // What has come along may be older than what this AEU has looked through.
  if (version_bytes_ > 0) Want(free_versions_);
  if (slot.copies_bytes()) Want(maintain_);  // rows that were given away leave segments to compact
}

void Aeu::MemoryFreed(ObjectSlot& slot) {
  slot.cache().EndTurn();
  trim_worthwhile_ |= slot.cache().TrimWorthwhile();
}

void Aeu::Execute(std::span<const std::byte> records) {
  while (!records.empty()) {
    const auto* command = reinterpret_cast<const CommandHeader*>(records.data());
    ERIS_DCHECK(command->size_bytes >= sizeof(CommandHeader));
    ERIS_DCHECK(command->size_bytes <= records.size());
    records = records.subspan(command->size_bytes);
    // The one after the next, if it is as large: headers are far apart, in another core's cache.
    __builtin_prefetch(records.data() + command->size_bytes);
    counters_.delivered.Add(routing::IsKeyed(command->type) ? command->count : 1);
    if (routing::IsKeyed(command->type)) {
      if (groups_.full()) RunGroups();
      if (!TryGroup(command)) continue;
      if (byte_objects_ > 0) [[unlikely]] {
        const ObjectSlot* slot = SlotOf(command);
        copies_bytes_ |= slot != nullptr && slot->copies_bytes();
      }
    } else {
      // Control and scan commands split a group: nothing is reordered across them.
      RunGroups();
      RunControl(command);
    }
  }
}

bool Aeu::TryGroup(const CommandHeader* command) {
  try {
    groups_.Add(command);
    return true;
  } catch (const std::bad_alloc&) {
    counters_.commands.Add(1);
    Answer(command, KeyState::kNoMemory);
    return false;
  }
}

void Aeu::RunGroups() {
  for (const CommandGroup& group : groups_) RunGroup(group);
  groups_.Clear();
}

ObjectSlot* Aeu::SlotOf(uint32_t slot, ObjectId object) {
  if (slot >= slots_.size()) return nullptr;
  ObjectSlot* const own = slots_[slot].get();
  return own != nullptr && own->object() == object ? own : nullptr;
}

void Aeu::Answer(const CommandHeader* command, KeyState state) {
  const routing::KeyedSegment segment = routing::KeyedSegmentOf(command);
  for (uint32_t i = 0; i < command->count; ++i) {
    command->context->states[segment.positions[i]] = state;
  }
  acknowledgements_.Add(command->complete, command->context, command->count);
}

void Aeu::RunGroup(const CommandGroup& group) {
  // A slot's commands may be of different generations: only those of the object that is here run.
  ObjectSlot* slot = nullptr;
  uint64_t keys = 0;
  runnable_.clear();
  for (const CommandHeader* command : group.commands) {
    ObjectSlot* own = SlotOf(command);
    if (own == nullptr) {
      Answer(command, KeyState::kNoObject);
    } else if (command->context->cancelled()) {
      Answer(command, KeyState::kCancelled);
    } else {
      slot = own;
      keys += command->count;
      runnable_.push_back(command);
    }
  }
  counters_.commands.Add(group.commands.size());
  if (slot == nullptr) return;

  try {
    builder_.Build(*slot, runnable_, keys);
  } catch (const std::bad_alloc&) {
    for (const CommandHeader* command : runnable_) Answer(command, KeyState::kNoMemory);
    return;
  }
  const bool writes = group.type != CommandType::kLookup && group.type != CommandType::kLookupRows;
  for (const uint32_t range : builder_.ranges()) {
    const auto parts = builder_.PartsOf(range);
    OwnedRange& owned = slot->ranges()[range];
    const uint64_t rows_before = writes ? owned.partition->size() : 0;
    const uint64_t begin_ns = NowNs();
    owned.partition->Execute({.operation = routing::OperationOf(group.type),
                              .parts = parts,
                              .bytes_copied = &bytes_copied_,
                              .snapshots = &snapshots_});
    // One clock reading per batch; the parts share it by their length.
    const uint64_t elapsed_ns = NowNs() - begin_ns;
    const bool all_here = builder_.others().empty() && slot->ranges().size() == 1;
    slot->accesses()->Record(static_cast<uint32_t>(group.type), parts, elapsed_ns,
                             all_here ? keys : 0);
    if (writes) {
      const uint64_t rows = owned.partition->size();
      if (rows > rows_before) slot->accesses()->RecordAdded(parts, rows - rows_before);
      owned.load->SetSize(rows);
      SettleVersions(owned);
      if (slot->copies_bytes()) Want(maintain_);
    }
  }
  if (writes) {
    slot->cache().EndTurn();
    trim_worthwhile_ |= slot->cache().TrimWorthwhile();
  }
  counters_.keys.Add(keys);

  // Keys that are sent on are answered by the AEU that executes them, the others here.
  size_t others = 0;
  for (const CommandHeader* command : runnable_) {
    if (command->query_bytes > 0) ApplyQuery(command);
    uint32_t answered = command->count;
    while (others < builder_.others().size() && builder_.others()[others].command == command) {
      answered -= SendOn(*slot, builder_.others()[others++]);
    }
    if (answered > 0) acknowledgements_.Add(command->complete, command->context, answered);
  }
}

uint32_t Aeu::SendOn(ObjectSlot& slot, const OtherKeys& keys) {
  const CommandHeader& command = *keys.command;
  const uint32_t count = static_cast<uint32_t>(keys.keys.size());
#ifdef ERIS_PLANTED_EARLY_TABLE
  // Believes the table: what is its own by that, and not here, is absent.
  if (!keys.send_on && slot.Find(keys.keys[0]) == nullptr &&
      slot.route().Pin()->OwnerOf(keys.keys[0]) == id_) {
    for (const uint32_t position : keys.positions)
      command.context->states[position] = KeyState::kAbsent;
    return 0;
  }
#endif
  uint32_t refused = count;
  if (keys.send_on && !slot.stub()->broken) {
    const Stub& stub = *slot.stub();
    const routing::KeyedCommand again{.type = command.type,
                                      .keys = keys.keys,
                                      .values = keys.values,
                                      .positions = keys.positions,
                                      .lane = command.lane,
                                      .snapshot = command.snapshot,
                                      .complete = command.complete,
                                      .context = command.context,
                                      .query = {routing::QueryOf(&command), command.query_bytes},
                                      .expected = keys.expected,
                                      .seconds = keys.seconds};
    try {
      refused = port_.SendAlong(stub.target, stub.version, slot.route(), again, KeyState::kMoved);
    } catch (const std::bad_alloc&) {  // nothing has been sent
    }
    // What comes after these keys must not get there before them.
    if (refused > 0) slot.BreakStub();
  }
  if (refused == count) {
    for (const uint32_t position : keys.positions)
      command.context->states[position] = KeyState::kMoved;
  }
  if (refused > 0) command.context->SetMoved();
  counters_.forwarded.Add(count - refused);
  counters_.redirected.Add(refused);
  return count - refused;
}

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
    slot->cache().EndTurn();
    trim_worthwhile_ |= slot->cache().TrimWorthwhile();
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
  // Who asked takes it that this AEU has nothing of the object: nobody would ever end half of it.
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
    const bool copies_bytes =
        install.value_type == ColumnType::kString || install.layout != nullptr;
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

RoutingStats Aeu::Routing() const {
  const routing::PortFigures port = port_.counters().Read();
  return {.sent = port.sent,
          .delivered = counters_.delivered.Read(),
          .answered = counters_.answered.Read(),
          .forwarded = counters_.forwarded.Read(),
          .redirected = counters_.redirected.Read(),
          .refused = port.refused,
          .wakes = port.wakes,
          .writer_waits = counters_.writer_waits.Read()};
}

}  // namespace eris::aeu
