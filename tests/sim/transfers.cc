// Ranges that change hands as the engine does it, by commands: a coordinator that reserves, gives,
// waits for the outcome, publishes and concludes, one step after another, each of them whenever the
// schedule comes to it.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/sim/aeu_peer.h"
#include "tests/sim/simulation.h"

namespace eris::sim {

using aeu::AeuTestPeer;
using routing::CommandHeader;
using routing::CommandType;
using routing::RangeTable;
using routing::StepOutcome;
using storage::Key;
using storage::KeyState;
using storage::Partition;
using storage::Range;
using TransferPhase = SimTransfer::Phase;

void Simulation::TransferStep() {
  if (!transfers_.empty() && !random_.OneIn(4)) {
    // At one of those under way, or at as many as it takes until one has moved.
    const size_t first = random_.Below(transfers_.size());
    for (size_t i = 0; i < transfers_.size(); ++i) {
      if (AdvanceTransfer(*transfers_[(first + i) % transfers_.size()])) break;
    }
    return EndTransfers();
  }
  StartTransfer();
}

void Simulation::EndTransfers() {
  std::erase_if(transfers_, [](const auto& one) { return one->phase == TransferPhase::kDone; });
  for (SimObject* const object : slots_) {
    const bool live = object->phase == SimObject::Phase::kLive;
    if (live && object->drop_asked && !Transfers(*object)) DropObject(*object);
  }
}

bool Simulation::Transfers(const SimObject& object) const {
  return std::any_of(transfers_.begin(), transfers_.end(),
                     [&](const auto& one) { return one->object == &object; });
}

TransferKind Simulation::KindOf(AeuId from, AeuId to) {
  if (random_.OneIn(2)) return TransferKind::kCopy;
  const bool near = NumaNodeOf(from) == NumaNodeOf(to);
  return near && random_.OneIn(2) ? TransferKind::kLink : TransferKind::kLeap;
}

void Simulation::StartTransfer() {
  SimObject* object = PickLive();
  if (object == nullptr || world_.aeus() < 2 || object->drop_asked || Transfers(*object)) {
    return;
  }
  const auto busy = [&](uint32_t aeu) {
    return std::any_of(transfers_.begin(), transfers_.end(), [&](const auto& one) {
      return one->from.value == aeu || one->to.value == aeu;
    });
  };
  const auto table = object->world.route.Pin();
  size_t partition = random_.Below(table->size());
  // The table of a heap table says nothing of who has a part.
  if (object->heap() && !object->appended_to[partition]) return;
  AeuId from = table->owners()[partition];
  auto to = static_cast<uint32_t>(random_.Below(world_.aeus() - 1));
  if (to >= from.value) ++to;
  // Often it goes back, while commands by the table before are still under way.
  const bool back = object->last_moved && random_.OneIn(3);
  if (back) {
    partition = table->PartitionOf(object->last_moved->first.head);
    from = table->owners()[partition];
    if (from != object->last_moved->to) return;
    to = object->last_moved->from.value;
  }
  if (busy(from.value) || busy(to)) return;
  auto transfer = std::make_unique<SimTransfer>();
  transfer->object = object;
  transfer->from = from;
  transfer->to = AeuId{to};
  transfer->kind = KindOf(transfer->from, transfer->to);
  transfer->end = random_.OneIn(2) ? Partition::End::kLow : Partition::End::kHigh;
  transfer->rows_max = static_cast<uint32_t>(random_.Between(1, 9));
  if (object->only_copies() && !object->heap()) transfer->kind = TransferKind::kCopy;
  // Segments have more rows than a chunk.
  if (object->heap() && transfer->kind != TransferKind::kCopy) {
    transfer->rows_max = static_cast<uint32_t>(random_.Between(1, 300));
  }
  if (object->heap()) transfer->end = Partition::End::kHigh;
  Range& rest = transfer->rest = table->RangeOf(partition);
  const auto cut = [&] {
    return Key::FromU64(object->universe[random_.Below(object->universe.size())].head +
                        random_.Below(2));
  };
  // From these objects an end of a range leaves; from a heap table, rows.
  const bool ends = object->only_copies();
  const bool low_stays = !object->heap() && (!ends || transfer->end == Partition::End::kHigh);
  const bool high_stays = !object->heap() && (!ends || transfer->end == Partition::End::kLow);
  if (low_stays && !back && random_.OneIn(2)) {
    const Key key = cut();
    if (rest.Contains(key)) rest.lo = key;
  }
  if (high_stays && !back && random_.OneIn(2)) {
    const Key key = cut();
    if (rest.lo < key && rest.Contains(key)) rest.hi = key;
  }
  // Planned by a table that has changed meanwhile: the source is not the owner.
  if (!object->heap() && random_.OneIn(16)) {
    transfer->from = AeuId{static_cast<uint32_t>(random_.Below(world_.aeus()))};
    if (transfer->from == transfer->to || busy(transfer->from.value)) return;
  }
  transfer->base = table;
  if (object->holders[to]) transfer->phase = TransferPhase::kGive;
  Note("a transfer begins", transfer->from.value, to, rest.lo.head);
  outcome_.coverage.Add(Event::kTransfers);
  outcome_.coverage.Add(Event::kTransfersBack, back);
  transfers_.push_back(std::move(transfer));
}

bool Simulation::SendControl(const SimTransfer& transfer, AeuId to, CommandType type,
                             routing::Reply* context, routing::CompletionFunction complete,
                             std::span<const std::byte> segment) {
  const routing::ObjectRoute& route = transfer.object->world.route;
  const CommandHeader header{.type = type,
                             .slot = route.slot(),
                             .object = route.object(),
                             .table_version = route.Pin()->version(),
                             .complete = complete,
                             .context = context,
                             .count = 1};
  const bool sent = control_->SendTo(to, header, segment);
  control_->Flush();
  if (!sent) outcome_.coverage.Add(Event::kControlRefused);
  return sent;
}

bool Simulation::AdvanceTransfer(SimTransfer& transfer) {
  const auto bytes_of = [](const auto& segment) {
    return std::span(reinterpret_cast<const std::byte*>(&segment), sizeof segment);
  };
  SimObject& object = *transfer.object;
  routing::ObjectRoute& route = object.world.route;
  SimStep* const step = transfer.step;
  switch (transfer.phase) {
    case TransferPhase::kReserve: {
      routing::InstallSegment install = object.Install(transfer.to);
      install.slot_only = !object.heap();
      if (object.heap())
        install.range = {Key::FromU64(transfer.to.value),
                         Key::FromU64(uint64_t{transfer.to.value} + 1)};
      transfer.reply = std::make_unique<test::TestReply>(1);
      if (!SendControl(transfer, transfer.to, CommandType::kInstall, transfer.reply.get(),
                       &test::TestReply::Answered, bytes_of(install))) {
        return false;
      }
      object.holders[transfer.to.value] = 1;
      transfer.phase = TransferPhase::kReserving;
      transfer.waiting.Begin(turns_, now_);
      return true;
    }
    case TransferPhase::kReserving:
      if (transfer.reply->answered == 0) return false;
      if (transfer.reply->state_column[0] != KeyState::kAbsent) Fail("a slot was refused");
      object.members[transfer.to.value] = 1;  // now that scans can ask it
      transfer.phase = TransferPhase::kGive;
      return true;
    case TransferPhase::kGive: {
      // At the border of a chunk nothing is under way.
      if (object.phase != SimObject::Phase::kLive) {
        transfer.phase = TransferPhase::kDone;
        return true;
      }
      if (draining_ || object.drop_asked || random_.OneIn(8)) {
        const bool releases = object.hash() && !transfer.released && !random_.OneIn(4);
        if (!transfer.released) outcome_.coverage.Add(Event::kTransfersStopped);
        transfer.released = true;
        if (!releases) {
          transfer.phase = TransferPhase::kDone;
          return true;
        }
      }
      // Those that have waited for the last step begin before the next one.
      if (object.is_table() && ScansWaitAtGate(object)) return false;
      steps_.push_back(std::make_unique<SimStep>());
      transfer.step = steps_.back().get();
      transfer.step->release = transfer.released;
      transfer.step->source = transfer.from;
      transfer.step->target = transfer.to;
      transfer.step->kind = transfer.kind;
      transfer.step->leaving = transfer.rest;
      transfer.step->from = transfer.end;
      transfer.step->rows_max = transfer.rows_max;
      transfer.step->version = object.heap() ? 0 : route.version() + 1;
      const routing::TransferSegment segment{.step = transfer.step};
      if (!SendControl(transfer, transfer.from, CommandType::kGive, transfer.step, &SimStep::Ended,
                       bytes_of(segment))) {
        steps_.pop_back();
        transfer.step = nullptr;
        return false;
      }
      transfer.published = false;
      if (object.is_table()) transfer.gate_since = world_.snapshots().Now().epoch;
      transfer.phase = TransferPhase::kGiven;
      transfer.waiting.Begin(turns_, now_);
      FailTransfer(transfer);
      Note("a step is given", transfer.from.value, transfer.to.value, transfer.rest.lo.head);
      return true;
    }
    case TransferPhase::kGiven:
      return AwaitStep(transfer);
    case TransferPhase::kPublish:
      PublishStep(transfer);
      transfer.phase = TransferPhase::kConclude;
      return true;
    case TransferPhase::kConclude: {
      // A coordinator that takes an installed chunk for refused.
      const bool takes_back = options_.bug == PlantedBug::kTakeChunkBack &&
                              step->outcome == StepOutcome::kInstalled &&
                              step->kind == TransferKind::kCopy && random_.OneIn(4);
      const StepOutcome outcome = step->outcome;
      if (takes_back) step->outcome = StepOutcome::kReturned;
      transfer.went_well = outcome == StepOutcome::kInstalled;
      const routing::TransferSegment segment{.step = step};
      transfer.reply = std::make_unique<test::TestReply>(1);
      if (!SendControl(transfer, transfer.from, CommandType::kConclude, transfer.reply.get(),
                       &test::TestReply::Answered, bytes_of(segment))) {
        step->outcome = outcome;
        return false;
      }
      transfer.phase = TransferPhase::kConcluding;
      transfer.waiting.Begin(turns_, now_);
      return true;
    }
    case TransferPhase::kConcluding: {
      if (transfer.reply->answered == 0) return false;
      if (transfer.reply->state_column[0] != KeyState::kAbsent &&
          object.phase == SimObject::Phase::kLive) {
        Fail("a conclusion was refused");
      }
      Note("a step is concluded", transfer.from.value, transfer.went_well);
      transfer.gate_since = 0;
      if (transfer.went_well && !object.heap()) {
        object.last_moved = {transfer.from, transfer.to, step->covers.lo};
      }
      if (!transfer.went_well && !step->covers.Empty() && !object.heap()) {
        // The source has it again, by a table that comes after that.
        world_.Publish(route, route.Pin()->With(step->covers, step->source));
        outcome_.coverage.Add(Event::kPublications);
      }
      if (options_.bug == PlantedBug::kForgetTakenIn) {
        for (uint32_t i = 0; i < world_.aeus(); ++i) {
          aeu::ObjectSlot* const slot = AeuTestPeer::SlotOf(world_[i], route);
          if (slot != nullptr) slot->history() = {};
        }
      }
      transfer.step = nullptr;
      Range& rest = transfer.rest;
      const bool last = object.heap() ? step->rows == 0 : step->covers == rest;
      if (!transfer.went_well || last) {
        const bool asks = transfer.kind != TransferKind::kCopy && random_.OneIn(2);
        transfer.phase = asks ? TransferPhase::kAskHome : TransferPhase::kDone;
        return true;
      }
      if (object.heap()) {
        transfer.phase = TransferPhase::kGive;
        return true;
      }
      if (!TraitsOf(transfer.kind).in_chunks || transfer.end == Partition::End::kLow) {
        rest.lo = *step->covers.hi;
      } else {
        rest.hi = step->covers.lo;
      }
      transfer.phase = TransferPhase::kGive;
      return true;
    }
    case TransferPhase::kAskHome: {
      transfer.reply = std::make_unique<test::TestReply>(1);
      const routing::ComeHomeSegment segment{};
      if (!SendControl(transfer, transfer.to, CommandType::kComeHome, transfer.reply.get(),
                       &test::TestReply::Answered, bytes_of(segment))) {
        return false;
      }
      Note("memory is asked for", transfer.to.value);
      transfer.phase = TransferPhase::kAskingHome;
      transfer.waiting.Begin(turns_, now_);
      return true;
    }
    case TransferPhase::kAskingHome:
      if (transfer.reply->answered == 0) return false;
      transfer.phase = TransferPhase::kDone;
      return true;
    case TransferPhase::kDone:
      return false;
  }
  return false;
}

void Simulation::FailTransfer(const SimTransfer& transfer) {
  if (!plan_.allocation_faults || !random_.OneIn(3)) return;
  // What the target refuses comes back.
  const bool at_source = random_.OneIn(plan_.form == Form::kTable ? 4 : 2);
  const AeuId aeu = at_source ? transfer.from : transfer.to;
  aeu::ObjectSlot* slot = AeuTestPeer::SlotOf(world_[aeu.value], transfer.object->world.route);
  if (slot == nullptr) return;
  const uint64_t nth = random_.Between(1, 2);
  Note("allocations of a transfer fail", aeu.value, nth);
  AeuTestPeer::FailAllocationsFrom(*slot, nth);
  allocation_failed_ = true;
  outcome_.coverage.Add(Event::kAllocationFaults);
}

bool Simulation::AwaitStep(SimTransfer& transfer) {
  SimStep& step = *transfer.step;
  if (step.ended == 0) {
    aeu::ObjectSlot* source =
        AeuTestPeer::SlotOf(world_[transfer.from.value], transfer.object->world.route);
    if (source == nullptr || !source->stub()) {
      if (random_.OneIn(16)) step.give_up.store(true);
      return false;
    }
    // It is on its way.
    if (options_.bug == PlantedBug::kPublishUnacknowledged && !transfer.published) {
      PublishStep(transfer);
      return true;
    }
    if (options_.bug == PlantedBug::kDropStubEarly && random_.OneIn(2)) {
      // The source hears that all went well, and the target has not even begun.
      step.outcome = StepOutcome::kInstalled;
      transfer.phase = TransferPhase::kPublish;
      return true;
    }
    return false;
  }
  if (step.ended > 1) Fail("a step has ended twice");
  Note("a step has ended", static_cast<uint64_t>(step.outcome), step.covers.lo.head, step.rows);
  const bool live = transfer.object->phase == SimObject::Phase::kLive;
  const bool source_has_it =
      AeuTestPeer::SlotOf(world_[transfer.from.value], transfer.object->world.route) != nullptr;
  switch (step.outcome) {
    case StepOutcome::kInstalled:
      outcome_.coverage.Add(step.kind == TransferKind::kLink   ? Event::kLinks
                            : step.kind == TransferKind::kLeap ? Event::kLeaps
                                                               : Event::kCopies);
      if (plan_.form == Form::kBytes) outcome_.coverage.Add(Event::kStepsOfBytes);
      if (plan_.form == Form::kTwoParts) outcome_.coverage.Add(Event::kStepsOfTwoParts);
      if (plan_.form == Form::kHash) outcome_.coverage.Add(Event::kStepsOfHashes);
      if (plan_.form == Form::kTable) outcome_.coverage.Add(Event::kStepsOfTables);
      if (plan_.form == Form::kHeap) {
        outcome_.coverage.Add(
            step.kind == TransferKind::kCopy ? Event::kStepsOfHeaps : Event::kSegmentSteps,
            step.rows > 0);
      }
      transfer.phase = TransferPhase::kPublish;
      break;
    case StepOutcome::kReturned:
      if (!allocation_failed_ && live) Fail("a range came back: " + step.status.ToString());
      outcome_.coverage.Add(Event::kStepsReturned);
      transfer.phase = TransferPhase::kConclude;
      break;
    case StepOutcome::kRefused:
      outcome_.coverage.Add(step.release ? Event::kReleases : Event::kStepsRefused);
      if (absl::IsCancelled(step.status)) outcome_.coverage.Add(Event::kStepsGivenUp);
      if (absl::IsNotFound(step.status) && live && source_has_it) {
        Fail("a source knows nothing of the object that it has");
      }
      if (absl::IsResourceExhausted(step.status) && !allocation_failed_) {
        Fail("a range was refused where there was memory");
      }
      if (absl::IsResourceExhausted(step.status) && options_.bug == PlantedBug::kLoseRowsAtSplit) {
        // What a split has cut off before it failed.
        for (const Key& key : transfer.object->universe) {
          if (!transfer.rest.Contains(key)) continue;
          WriteBehindTheBack(*transfer.object, key, 0, storage::Operation::kErase);
        }
      }
      transfer.step = nullptr;
      transfer.gate_since = 0;
      transfer.phase = TransferPhase::kDone;
      break;
    case StepOutcome::kUnderWay:
      Fail("a step has ended without an outcome");
  }
  return true;
}

void Simulation::PublishStep(SimTransfer& transfer) {
  if (std::exchange(transfer.published, true)) return;
  routing::ObjectRoute& route = transfer.object->world.route;
  const SimStep& step = *transfer.step;
  if (transfer.object->heap()) {
    transfer.object->appended_to[step.target.value] = 1;
    return;
  }
  const auto newest = route.Pin();
  // The planted bug: the second of two publishers has not read the table of the first.
  const RangeTable& base = options_.bug == PlantedBug::kTwoPublishers ? *transfer.base : *newest;
  const auto next = base.With(step.covers, step.target);
  world_.Publish(
      route, std::make_unique<RangeTable>(newest->version() + 1, next->starts(), next->owners()));
  Note("a table is published", route.object().value, route.Pin()->version(), route.Pin()->size());
  outcome_.coverage.Add(Event::kPublications);
}

void Simulation::ObserveStubs(uint32_t aeu, uint64_t forwarded_before) {
  for (const auto& transfer : transfers_) {
    if (transfer->from.value != aeu) continue;
    aeu::ObjectSlot* slot = AeuTestPeer::SlotOf(world_[aeu], transfer->object->world.route);
    const bool stub = slot != nullptr && slot->stub();
    // The hand-over counts as well, so the turn that makes the stub is left out.
    if (stub && transfer->had_stub) {
      outcome_.coverage.Add(Event::kForwardsBesideStubs,
                            world_[aeu].Routing().forwarded - forwarded_before);
    }
    transfer->had_stub = stub;
    for (const Client& client : clients_) {
      const Scan* scan = client.scan.get();
      if (!stub || scan == nullptr || !scan->out || scan->object != transfer->object ||
          scan->cursor >= scan->object->universe.size() + scan->query.Backward() ||
          scan->cursor < scan->query.Backward()) {
        continue;
      }
      const uint64_t near = scan->object->universe[scan->cursor - scan->query.Backward()].head;
      if (scan->part.HasEmpty() && slot->UnderStub(near) && world_[aeu].scans_running() > 0) {
        outcome_.coverage.Add(Event::kScansWaiting);
      }
    }
  }
}

void Simulation::TamperRows(storage::ExchangeChunk& chunk) {
  std::vector<ColumnBuffers>& columns = chunk.rows.columns;
  if (options_.bug == PlantedBug::kTearRow) columns[kTwinColumn].values[0] ^= 1;
  if (options_.bug != PlantedBug::kLoseTableRow) return;
  --chunk.rows.count;
  if (!chunk.keys.empty()) chunk.keys.pop_back();
  if (!chunk.seconds.empty()) chunk.seconds.pop_back();
  for (uint32_t i = 0; i < kTextColumn; ++i) {
    columns[i].values.resize(columns[i].values.size() - sizeof(uint64_t));
  }
  std::string& offsets = columns[kTextColumn].offsets;
  offsets.resize(offsets.size() - sizeof(uint32_t));
  uint32_t end = 0;
  std::memcpy(&end, offsets.data() + offsets.size() - sizeof end, sizeof end);
  columns[kTextColumn].values.resize(end);
}

void Simulation::TamperStep(std::vector<Record>& records) {
  for (size_t i = 0; i < records.size(); ++i) {
    const CommandType type = HeaderOf(records[i])->type;
    if (options_.bug == PlantedBug::kRowsDieLater && type == CommandType::kConclude) {
      auto* const segment =
          reinterpret_cast<const routing::TransferSegment*>(HeaderOf(records[i]) + 1);
      if (segment->step->born < world_.snapshots().Now().epoch) ++segment->step->born;
    }
    if (type != CommandType::kHandOver) continue;
    if (options_.bug == PlantedBug::kHandOverLost) {
      records.erase(records.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
    auto* const segment =
        reinterpret_cast<const routing::TransferSegment*>(HeaderOf(records[i]) + 1);
    routing::TransferStep& step = *segment->step;
    if (step.kind != TransferKind::kCopy) continue;
    if (!step.chunk.rows.columns.empty() && step.rows > 0) TamperRows(step.chunk);
    const bool other_form = plan_.form == Form::kBytes || plan_.form == Form::kTwoParts;
    if (options_.bug == PlantedBug::kLeaveChunkVersions ||
        (options_.bug == PlantedBug::kLeaveOtherVersions && other_form)) {
      step.chunk.versions = {};
    }
    if (options_.bug == PlantedBug::kHandOverBehindKeys && i + 1 < records.size()) {
      // The keys behind it run first, and then its rows come on top.
      for (const auto& object : objects_) {
        if (object->world.route.object() != HeaderOf(records[i])->object) continue;
        late_rows_.push_back({object.get(), step.chunk, now_ + 1});
      }
    }
  }
}

}  // namespace eris::sim
