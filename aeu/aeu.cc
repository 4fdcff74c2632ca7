#include "aeu/aeu.h"

#include <algorithm>
#include <new>
#include <utility>

#include "aeu/state/clock.h"
#include "aeu/turn_points.h"
#include "base/check.h"
#include "routing/answers.h"

namespace eris::aeu {

using routing::AnswersTo;
using routing::CommandHeader;
using routing::CommandType;
using storage::KeyState;

namespace {

// Old rows that one turn frees for an object, and one that has nothing else to do: some 20 us.
constexpr uint32_t kFreedPerTurn = 256;
constexpr uint32_t kFreedPerIdleTurn = 4096;
// Rows that a turn compacts if it has other work, and if it has none.
constexpr uint32_t kMaintainedPerTurn = 256;
constexpr uint32_t kMaintainedPerIdleTurn = 4096;

routing::PortOptions OfAeu(routing::PortOptions options) {
  options.way = routing::PortOptions::Way::kIncoming;
  options.wait_ns = 0;
  return options;
}

// Marks keys that do not pass the lookup's filter as absent. Must run before any key of the command
// is forwarded: until then only this AEU writes the states. A key forwarded later gets its own
// state.
void ApplyQuery(const CommandHeader* command) {
  ERIS_DCHECK(command->type == CommandType::kLookup);
  ERIS_DCHECK(command->query_bytes == sizeof(routing::LookupQuery));
  const auto* query = reinterpret_cast<const routing::LookupQuery*>(routing::QueryOf(command));
  const routing::AnswerColumns answers = routing::AnswersOf(command);
  for (uint32_t i = 0; i < command->count; ++i) {
    const uint32_t at = answers.At(i);
    KeyState& state = answers.states[at];
    if (state == KeyState::kPresent && !query->Keeps(answers.values[at])) {
      state = KeyState::kAbsent;
    }
  }
}

}  // namespace

Aeu::Aeu(AeuId id, const routing::EndpointDirectory& directory, const routing::PortOptions& port,
         tasks::TaskScheduler* tasks)
    : id_(id),
      directory_(directory),
      endpoint_(directory[id]),
      registry_(directory.snapshots()),
      tasks_(tasks),
      recollection_(endpoint_.waker),
      port_(directory, OfAeu(port)),
      acknowledgements_(counters_.answered),
      scans_(acknowledgements_, counters_, registry_),
      joins_(id, port_, acknowledgements_, counters_),
      query_cache_(recollection_),
      table_scans_(id, port_, registry_, query_cache_, acknowledgements_, counters_),
      measures_(acknowledgements_),
      queries_(id, endpoint_, tasks, query_cache_, acknowledgements_),
      runners_({{{CommandType::kScan, &scans_},
                 {CommandType::kJoin, &joins_},
                 {CommandType::kTableScan, &table_scans_},
                 {CommandType::kMeasure, &measures_},
                 {CommandType::kStage, &queries_}}}),
      transfers_(*this, port_, acknowledgements_, counters_, snapshots_,
                 directory.transfer_rate()) {
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
  // Before the answers: a client with its answer may begin a snapshot, which must not pay for older
  // rows.
  if (version_bytes_ > 0 || !snapshots_.active.empty()) EnforceSnapshotLimits(begin_ns);
  // Everything written so far is complete here: the place for a log, before anyone hears of it. And
  // before the slice of the scans: a lookup waits for the one that was under way, not for two.
  acknowledgements_.Send();
  if (runners_.running() > 0) {
    // From the turn's begin on, since a command waits for the whole turn; but a part in any case.
    worked |= runners_.Advance(std::max(begin_ns + budget.scan_ns, NowNs() + budget.scan_ns / 4));
    EndQueryPieces();
    acknowledgements_.Send();
  }
  // A turn that has done a piece of a transfer has spent what it may: the rest is for the next one.
  if (!transfers_.stepped()) {
    if (free_versions_.slots_left > 0) FreeVersions(worked ? kFreedPerTurn : kFreedPerIdleTurn);
    if (!transfers_.GoOnAfterSteps(worked)) {
      // In turn, if there are both: none of them waits for the end of the other.
      maintains_ = maintain_.slots_left > 0 && !maintains_;
      if (maintains_ || !transfers_.BringHome(worked)) {
        if (maintain_.slots_left > 0)
          Maintain(worked ? kMaintainedPerTurn : kMaintainedPerIdleTurn);
      }
    }
  }
  if (!worked && trim_worthwhile_) TrimMemory();
  if (!worked && budget.idle_ns > 0 && idle_work_->Run(NowNs() + budget.idle_ns)) {
    worked = true;
    runners_.Count();  // the rest of a task is a runner's
    EndQueryPieces();
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
         port_.HasBuffered() || runners_.Runnable() || idle_work_->HasWork() || trim_worthwhile_ ||
         collect_again_ || recollection_.Waits() || free_versions_.slots_left > 0 ||
         maintain_.slots_left > 0 || transfers_.HasWork() ||
         (version_bytes_ > 0 && registry_.Now() != snapshots_mark_);
}

void Aeu::EndQueryPieces() {
  memory::LocalCache* const cache = query_cache_.cache();
  if (cache == nullptr) return;
  cache->EndTurn();
  trim_worthwhile_ |= cache->TrimWorthwhile();
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
    // What it holds is not acknowledged before the turn's end.
    read->home != nullptr ? acknowledgements_.AddBlock(read) : routing::BlockPool::Release(read);
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
  const routing::AnswerColumns answers = routing::AnswersOf(command);
  for (uint32_t i = 0; i < command->count; ++i) answers.states[answers.At(i)] = state;
  acknowledgements_.AddKeys(command, command->count);
}

void Aeu::RunGroup(const CommandGroup& group) {
  counters_.commands.Add(group.commands.size());
  uint64_t keys = 0;
  ObjectSlot* const slot = TakeRunnable(group, keys);
  if (slot == nullptr) return;
  try {
    builder_.Build(*slot, runnable_, keys);
  } catch (const std::bad_alloc&) {
    for (const CommandHeader* command : runnable_) Answer(command, KeyState::kNoMemory);
    return;
  }
  for (const uint32_t range : builder_.ranges()) RunOnRange(*slot, range, group.type, keys);
  if (routing::Writes(group.type)) MemoryFreed(*slot);
  counters_.keys.Add(keys);
  AnswerRunnable(*slot);
}

ObjectSlot* Aeu::TakeRunnable(const CommandGroup& group, uint64_t& keys) {
  ObjectSlot* slot = nullptr;
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
  return slot;
}

void Aeu::RunOnRange(ObjectSlot& slot, uint32_t range, CommandType type, uint64_t group_keys) {
  const auto parts = builder_.PartsOf(range);
  const bool writes = routing::Writes(type);
  OwnedRange& owned = slot.ranges()[range];
  const uint64_t rows_before = writes ? owned.partition->size() : 0;
  const bool all_here = builder_.others().empty() && slot.ranges().size() == 1;
  const uint64_t keys =
      slot.accesses()->NoteKeys(static_cast<uint32_t>(type), parts, all_here ? group_keys : 0);
  const uint64_t begin_ns = NowNs();
  owned.partition->Execute({.operation = routing::OperationOf(type),
                            .parts = parts,
                            .bytes_copied = &bytes_copied_,
                            .snapshots = &snapshots_});
  // One clock reading per batch; the parts share it by their length.
  slot.accesses()->RecordExecution(static_cast<uint32_t>(type), keys, NowNs() - begin_ns);
  if (!writes) return;
  const uint64_t rows = owned.partition->size();
  if (rows > rows_before) slot.accesses()->RecordAdded(parts, rows - rows_before);
  owned.load->SetSize(rows);
  SettleVersions(owned);
  if (slot.copies_bytes()) Want(maintain_);
}

void Aeu::AnswerRunnable(ObjectSlot& slot) {
  size_t others = 0;
  for (const CommandHeader* command : runnable_) {
    if (command->query_bytes > 0) ApplyQuery(command);
    uint32_t answered = command->count;
    while (others < builder_.others().size() && builder_.others()[others].command == command) {
      answered -= SendOn(slot, builder_.others()[others++]);
    }
    if (answered > 0) acknowledgements_.AddKeys(command, answered);
  }
}

uint32_t Aeu::SendOn(ObjectSlot& slot, const OtherKeys& keys) {
  const CommandHeader& command = *keys.command;
  const uint32_t count = static_cast<uint32_t>(keys.keys.size());
  KeyState* const states = routing::AnswersOf(&command).states;
  const CommandHeader* const home = routing::HomeOf(&command);
#ifdef ERIS_PLANTED_EARLY_TABLE
  // Believes the table: what is its own by that, and not here, is absent.
  if (!keys.send_on && slot.Find(keys.keys[0]) == nullptr &&
      slot.route().Pin()->OwnerOf(keys.keys[0]) == id_) {
    for (const uint32_t position : keys.positions) states[position] = KeyState::kAbsent;
    return 0;
  }
#endif
  uint32_t refused = count;
  if (keys.send_on && !slot.stub()->broken) {
    const Stub& stub = *slot.stub();
    const routing::KeyedCommand again{
        .type = command.type,
        .keys = keys.keys,
        .values = keys.values,
        .positions = keys.positions,
        .lane = command.lane,
        .snapshot = command.snapshot,
        .complete = command.complete,
        .context = command.context,
        .query = {routing::QueryOf(&command), command.query_bytes},
        .expected = keys.expected,
        .seconds = keys.seconds,
        .answers = home == nullptr ? AnswersTo::kReply : AnswersTo::kHome,
        .home = home};
    // The block waits for them. relaxed: it stays here at least until this turn's end.
    routing::Block* const block = home == &command ? *routing::KeyedSegmentOf(home).block : nullptr;
    if (block != nullptr) block->readers.fetch_add(count, std::memory_order_relaxed);
    try {
      refused = port_.SendAlong(stub.target, stub.version, slot.route(), again, KeyState::kMoved);
    } catch (const std::bad_alloc&) {  // nothing has been sent
    }
    // What comes after these keys must not get there before them.
    if (refused > 0) slot.BreakStub();
    if (block != nullptr && refused > 0) routing::BlockPool::Release(block, refused);
  }
  if (refused == count) {
    for (const uint32_t position : keys.positions) states[position] = KeyState::kMoved;
  }
  if (refused > 0) command.context->SetMoved();
  counters_.forwarded.Add(count - refused);
  counters_.redirected.Add(refused);
  return count - refused;
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
