// Faults and changes of the world: AEUs that pause, ranges that change hands, tables that follow
// later, objects that come and go, allocations that fail.
#include <algorithm>
#include <map>

#include "base/check.h"
#include "tests/sim/aeu_peer.h"
#include "tests/sim/simulation.h"

namespace eris::sim {

using aeu::AeuTestPeer;
using routing::CommandHeader;
using routing::CommandType;
using routing::RangeTable;
using storage::Key;
using storage::Range;
using ObjectPhase = SimObject::Phase;

namespace {

// `table` after a move; the owner of every other key stays.
std::unique_ptr<RangeTable> After(const RangeTable& table, const Move& move, bool join) {
  std::map<uint64_t, AeuId> owners;
  for (size_t i = 0; i < table.size(); ++i) owners[table.starts()[i]] = table.owners()[i];
  const uint64_t lo = move.range.lo.head;
  if (move.range.hi) owners.emplace(move.range.hi->head, table.OwnerOf(move.range.hi->head));
  const auto end = move.range.hi ? owners.find(move.range.hi->head) : owners.end();
  owners.erase(owners.lower_bound(lo), end);
  owners[lo] = move.to;
  std::vector<uint64_t> starts;
  std::vector<AeuId> by_start;
  for (const auto& [start, owner] : owners) {
    if (join && !by_start.empty() && by_start.back() == owner) continue;
    starts.push_back(start);
    by_start.push_back(owner);
  }
  return std::make_unique<RangeTable>(table.version() + 1, std::move(starts), std::move(by_start));
}

}  // namespace

void Simulation::FaultStep() {
  if (plan_.gives_up == GivesUp::kForAge && random_.OneIn(12)) return AgeSnapshots();
  switch (random_.Below(10)) {
    case 0:
      if (plan_.pauses) PauseAeu();
      return;
    case 1:
    case 2:
    case 3:
      if (plan_.transfers) {
        TransferStep();
      } else if (plan_.moves) {
        MoveRange();
      }
      return;
    case 4:
    case 5:
      if (SimObject* object = PickLive()) PublishOne(*object);
      return;
    case 6:
      if (SimObject* object = PickLive()) {
        RefreshView(clients_[random_.Below(clients_.size())], *object);
      }
      return;
    case 7:
      // What is lent or forgotten is the AEU's own business.
      return plan_.transfers ? TransferStep() : SplitOrMerge();
    case 8:
      if (plan_.allocation_faults) FailAllocations();
      return;
    default: {
      const auto slot = static_cast<uint32_t>(random_.Below(slots_.size()));
      SimObject& object = *slots_[slot];
      if (object.phase == ObjectPhase::kLive) {
        // With that bug a range may still be on its way when the object's memory goes.
        const bool drops = plan_.drops && options_.bug != PlantedBug::kDropStubEarly;
        if (drops && random_.OneIn(3)) AskToDrop(object);
      } else if (object.phase == ObjectPhase::kGone) {
        CreateObject(slot);
      } else {
        ControlStep(object);
      }
    }
  }
}

SimObject* Simulation::PickLive() {
  SimObject* object = slots_[random_.Below(slots_.size())];
  return object->phase == ObjectPhase::kLive ? object : nullptr;
}

// No clock decides: a snapshot is begun at a time that lies behind, or before, any that the AEUs
// read, and the age that they allow is next to nothing or all.
SimSnapshot Simulation::TakeSnapshot() {
  const bool may_age = plan_.gives_up == GivesUp::kForAge && random_.OneIn(2);
  const auto held = world_.snapshots().Begin(may_age ? 0 : kNeverTooOldNs);
  ERIS_CHECK(held.has_value());
  return {*held, now_, may_age};
}

void Simulation::AgeSnapshots() {
  snapshots_age_ = !snapshots_age_;
  snapshots_aged_ = true;
  Note("snapshots age", snapshots_age_);
  world_.snapshots().SetLimits(plan_.version_bytes_max, snapshots_age_ ? 1 : kNeverTooOldNs);
}

void Simulation::SnapshotGivenUp(const SimObject& object, const SimSnapshot& snapshot) {
  const bool aged = snapshots_aged_ && snapshot.may_age;
  if (aged) outcome_.coverage.Add(Event::kGivenUpForAge);
  if (plan_.gives_up == GivesUp::kForMemory) outcome_.coverage.Add(Event::kGivenUpForMemory);
  if (Transfers(object)) outcome_.coverage.Add(Event::kGivenUpInTransfers);
  // Or an erase had no memory for what the snapshot needs.
  if (!aged && plan_.gives_up != GivesUp::kForMemory && !allocation_failed_) {
    Fail("a snapshot was given up where there was memory");
  }
}

void Simulation::PauseAeu() {
  const auto aeu = static_cast<uint32_t>(random_.Below(world_.aeus()));
  paused_until_[aeu] = now_ + static_cast<uint32_t>(random_.Between(1, 80));
  Note("an AEU pauses", aeu, paused_until_[aeu]);
  outcome_.coverage.Add(Event::kPauses);
}

void Simulation::MoveRange() {
  SimObject* object = PickLive();
  if (object == nullptr || world_.aeus() < 2) return;
  const routing::ObjectRoute& route = object->world.route;
  auto from = static_cast<uint32_t>(random_.Below(world_.aeus()));
  // Often it goes back, while commands by the table before are still under way.
  const bool back = object->last_moved && random_.OneIn(3);
  if (back) from = object->last_moved->to.value;
  aeu::ObjectSlot* source = AeuTestPeer::SlotOf(world_[from], route);
  if (source == nullptr || source->ranges().empty()) return;
  aeu::OwnedRange* const owned = back ? source->Find(object->last_moved->first.head)
                                      : &source->ranges()[random_.Below(source->ranges().size())];
  if (owned == nullptr) return;
  Range range = owned->partition->range();
  if (range.Empty()) return;
  // All of it, or from or to a key.
  const auto cut = [&] {
    return Key::FromU64(object->universe[random_.Below(object->universe.size())].head +
                        random_.Below(2));
  };
  if (!back && random_.OneIn(2)) {
    const Key key = cut();
    if (range.Contains(key)) range.lo = key;
  }
  if (!back && random_.OneIn(2)) {
    const Key key = cut();
    if (range.lo < key && range.Contains(key)) range.hi = key;
  }
  auto to = static_cast<uint32_t>(random_.Below(world_.aeus() - 1));
  if (to >= from) ++to;
  if (back) to = object->last_moved->from.value;
  Note("a range moves", from, to, range.lo.head);

  aeu::ObjectSlot& target = AeuTestPeer::MakeSlot(world_[to], object->Install(AeuId{to}));
  object->holders[to] = 1;
  AeuTestPeer::FailAllocationsFrom(*source, 0);
  AeuTestPeer::FailAllocationsFrom(target, 0);
  storage::ExchangeChunk rows;
  const bool early = options_.bug == PlantedBug::kPublishEarly && plan_.form != Form::kBytes;
  const bool keeps = options_.bug == PlantedBug::kServeAfterHandOver && random_.OneIn(4);
  if (!AeuTestPeer::TakeRange(*source, range, random_.OneIn(2), keeps, rows)) return;
  if (early) {
    late_rows_.push_back({object, rows, now_ + static_cast<uint32_t>(random_.Between(1, 30))});
    rows.keys.clear();
    rows.values.clear();
    rows.seconds.clear();
  }
  if (options_.bug == PlantedBug::kLeaveVersions) rows.versions = {};
  AeuTestPeer::GiveRange(target, rows, random_.OneIn(2));
  object->last_moved = {AeuId{from}, AeuId{to}, range.lo};
  outcome_.coverage.Add(Event::kMoves);
  outcome_.coverage.Add(Event::kMovesBack, back);
  for (const Move& other : object->unpublished) {
    if (other.range.Contains(range.lo) || range.Contains(other.range.lo)) {
      outcome_.coverage.Add(Event::kMovesBeforePublication);
      break;
    }
  }
  object->unpublished.push_back({range, AeuId{to}});
  if (options_.bug != PlantedBug::kForgetTakenIn) {
    target.history().Reserve();
    target.history().TookIn(range, route.version() + object->unpublished.size());
  }
  if (early) PublishOne(*object);
}

bool Simulation::PublishOne(SimObject& object) {
  if (object.unpublished.empty()) return false;
  routing::ObjectRoute& route = object.world.route;
  world_.Publish(route, After(*route.Pin(), object.unpublished.front(), random_.OneIn(2)));
  object.unpublished.pop_front();
  Note("a table is published", route.object().value, route.Pin()->version(), route.Pin()->size());
  outcome_.coverage.Add(Event::kPublications);
  return true;
}

void Simulation::SplitOrMerge() {
  SimObject* object = PickLive();
  if (object == nullptr || object->only_copies()) return;
  const auto aeu = static_cast<uint32_t>(random_.Below(world_.aeus()));
  aeu::ObjectSlot* slot = AeuTestPeer::SlotOf(world_[aeu], object->world.route);
  if (slot == nullptr) return;
  AeuTestPeer::FailAllocationsFrom(*slot, 0);
  const uint64_t key = object->universe[random_.Below(object->universe.size())].head;
  if (random_.OneIn(8)) {
    if (!AeuTestPeer::AddEmptyRange(*slot, key)) return;
    Note("an empty range", aeu, key);
    return outcome_.coverage.Add(Event::kEmptyRanges);
  }
  if (slot->ranges().empty()) return;
  const size_t index = random_.Below(slot->ranges().size());
  if (random_.OneIn(2)) {
    if (!AeuTestPeer::SplitRange(*slot, index, key)) return;
    Note("a range splits", aeu, key);
    outcome_.coverage.Add(Event::kSplits);
  } else {
    if (!AeuTestPeer::MergeRanges(*slot, index)) return;
    Note("two ranges merge", aeu, index);
    outcome_.coverage.Add(Event::kMerges);
  }
}

void Simulation::FailAllocations() {
  SimObject* object = PickLive();
  if (object == nullptr) return;
  if (random_.OneIn(2)) return EndAllocationFaults(*object);
  const auto aeu = static_cast<uint32_t>(random_.Below(world_.aeus()));
  aeu::ObjectSlot* slot = AeuTestPeer::SlotOf(world_[aeu], object->world.route);
  if (slot == nullptr) return;
  const uint64_t nth = random_.Between(1, 6);
  Note("allocations fail", aeu, nth);
  AeuTestPeer::FailAllocationsFrom(*slot, nth);
  allocation_failed_ = true;
  outcome_.coverage.Add(Event::kAllocationFaults);
}

void Simulation::EndAllocationFaults(SimObject& object) {
  for (uint32_t i = 0; i < world_.aeus(); ++i) {
    if (aeu::ObjectSlot* slot = AeuTestPeer::SlotOf(world_[i], object.world.route)) {
      AeuTestPeer::FailAllocationsFrom(*slot, 0);
    }
  }
}

void Simulation::CreateObject(uint32_t slot) {
  std::vector<Key> universe =
      MakeUniverse(random_, plan_.universe_keys, plan_.two_parts(), plan_.joins);
  const auto ranges = static_cast<uint32_t>(random_.Between(1, 2 * world_.aeus() + 1));
  std::vector<uint64_t> starts = MakeStarts(random_, universe, ranges);
  std::vector<AeuId> owners;
  for (size_t i = 0; i < starts.size(); ++i) {
    owners.push_back({static_cast<uint32_t>(random_.Below(world_.aeus()))});
  }
  // Rows of one table are written to others.
  if (plan_.form == Form::kTable && !objects_.empty()) universe = objects_.front()->universe;
  if (plan_.form == Form::kHeap) {
    universe.clear();
    PlaceHeap(starts, owners);
  }
  const ObjectId id{next_object_++};
  objects_.push_back(std::make_unique<SimObject>(
      slot, id, plan_, std::move(universe), std::move(starts), std::move(owners), world_.memory()));
  SimObject& object = *objects_.back();
  slots_[slot] = &object;
  const auto partitions = static_cast<uint32_t>(object.world.route.Pin()->size());
  object.control_reply = std::make_unique<test::TestReply>(partitions);
  for (uint32_t i = 0; i < partitions; ++i) {
    const uint32_t owner = object.world.route.Pin()->owners()[i].value;
    // Some AEUs have a part of a heap table, the first one always.
    if (object.heap() && i > 0 && random_.OneIn(2)) {
      object.control_reply->state_column[i] = storage::KeyState::kAbsent;
      continue;
    }
    object.to_send.push_back(i);
    object.members[owner] = object.appended_to[owner] = 1;
  }
  object.control_expected = static_cast<uint32_t>(object.to_send.size());
  Note("an object is created", slot, id.value, partitions);
  ControlStep(object);
}

void Simulation::AskToDrop(SimObject& object) {
  if (!Transfers(object)) return DropObject(object);
  if (object.drop_asked) return;
  const auto transfer = std::find_if(transfers_.begin(), transfers_.end(),
                                     [&](const auto& one) { return one->object == &object; });
  // A slot that is being reserved would be made behind the drop.
  const bool reserves = (*transfer)->phase <= SimTransfer::Phase::kReserving;
  if (!reserves && random_.OneIn(2)) {
    outcome_.coverage.Add(Event::kDropsInTransfers);
    return DropObject(object);
  }
  Note("a drop waits for a transfer", object.world.route.object().value);
  outcome_.coverage.Add(Event::kDropsBehindTransfers);
  object.drop_asked = true;
  if ((*transfer)->step != nullptr) (*transfer)->step->give_up.store(true);
}

void Simulation::DropObject(SimObject& object) {
  Note("an object is dropped", object.world.route.slot(), object.world.route.object().value);
  object.phase = ObjectPhase::kDropping;
  object.unpublished.clear();
  for (uint32_t i = 0; i < world_.aeus(); ++i) {
    if (object.holders[i]) object.to_send.push_back(i);
  }
  object.control_reply = std::make_unique<test::TestReply>(1);
  object.control_expected = static_cast<uint32_t>(object.to_send.size());
  ControlStep(object);
}

bool Simulation::ControlStep(SimObject& object) {
  if (object.phase == ObjectPhase::kLive || object.phase == ObjectPhase::kGone) return false;
  const bool creates = object.phase == ObjectPhase::kCreating;
  const routing::ObjectRoute& route = object.world.route;
  const auto table = route.Pin();
  const CommandHeader header{.type = creates ? CommandType::kInstall : CommandType::kDrop,
                             .slot = route.slot(),
                             .object = route.object(),
                             .table_version = table->version(),
                             .complete = &test::TestReply::Answered,
                             .context = object.control_reply.get(),
                             .count = 1};
  const auto bytes_of = [](const auto& segment) {
    return std::span(reinterpret_cast<const std::byte*>(&segment), sizeof segment);
  };
  if (!object.to_send.empty()) object.waiting.Begin(turns_, now_);
  std::vector<uint32_t> refused;
  if (!creates && random_.OneIn(2)) {
    std::vector<AeuId> targets, without;
    for (const uint32_t aeu : object.to_send) targets.push_back({aeu});
    const routing::DropSegment segment{};
    if (!targets.empty()) {
      control_->Multicast(targets, header, bytes_of(segment), without);
      outcome_.coverage.Add(Event::kMulticasts);
    }
    for (const AeuId aeu : without) refused.push_back(aeu.value);
  } else {
    for (const uint32_t i : object.to_send) {
      const AeuId to = creates ? table->owners()[i] : AeuId{i};
      routing::InstallSegment install = object.Install(to);
      if (creates) install.range = table->RangeOf(i);
      // AEU i's part, by which no row is routed.
      if (creates && object.heap()) install.range.hi = Key::FromU64(uint64_t{i} + 1);
      install.position = i;
      const routing::DropSegment drop{};
      const bool sent = creates ? control_->SendTo(to, header, bytes_of(install))
                                : control_->SendTo(to, header, bytes_of(drop));
      if (!sent) refused.push_back(i);
      if (sent && creates) object.holders[to.value] = 1;
    }
  }
  control_->Flush();
  outcome_.coverage.Add(Event::kControlRefused, refused.size());
  object.to_send = std::move(refused);
  if (object.control_reply->answered > object.control_expected)
    Fail("a control command was answered twice");
  if (object.control_reply->answered < object.control_expected) return true;
  // What comes back to the source lives in the object's memory until it hears of that.
  if (!creates && Transfers(object)) return true;
  for (const storage::KeyState state : object.control_reply->state_column) {
    if (state != storage::KeyState::kAbsent) Fail("a control command was refused");
  }
  if (creates) {
    object.phase = ObjectPhase::kLive;
    outcome_.coverage.Add(Event::kObjectsCreated);
  } else {
    object.phase = ObjectPhase::kGone;
    object.gone_since = now_;
    for (uint32_t i = 0; i < world_.aeus(); ++i) {
      if (AeuTestPeer::SlotOf(world_[i], route) != nullptr) Fail("an AEU kept a dropped object");
    }
    if (!failed()) object.world.managers.clear();
    outcome_.coverage.Add(Event::kObjectsDropped);
  }
  Note(creates ? "the object is there" : "the object is gone", route.object().value);
  return true;
}

}  // namespace eris::sim
