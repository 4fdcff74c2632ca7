// The schedule: who moves next, what a step leaves to be checked, and how a life ends.
#include "tests/sim/simulation.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "storage/byte_value.h"
#include "tests/sim/aeu_peer.h"
#include "tests/sim/joins.h"
#include "tests/sim/table_scans.h"

namespace eris::sim {

using aeu::AeuTestPeer;
using storage::KeyState;

namespace {

// Rounds in which every AEU and every client moves once, from the end of the faults until nothing
// is under way: a fair schedule that needs more than this has come to a standstill.
constexpr int kDrainRoundsMax = 3000;

}  // namespace

routing::InstallSegment SimObject::Install(AeuId aeu) const {
  routing::InstallSegment install;
  install.manager = world.managers[NumaNodeOf(aeu)].get();
  install.route = &world.route;
  install.kind = hash()                 ? ObjectKind::kHash
                 : form == Form::kTable ? ObjectKind::kTable
                 : heap()               ? ObjectKind::kHeapTable
                                        : ObjectKind::kIndex;
  install.value_type = form == Form::kBytes ? ColumnType::kString : ColumnType::kUint64;
  install.two_parts = form == Form::kTwoParts;
  if (is_table()) install.layout = &layout();
  install.seed = world.route.object().value;
  return install;
}

std::string TextOf(const storage::Key& key) {
  return std::to_string(key.head) + (key.tail == 0 ? "" : "/" + std::to_string(key.tail));
}

uint64_t Strings::WordOf(uint64_t value) {
  std::string text = std::to_string(value);
  text.resize(std::max<size_t>(text.size(), value % 3 == 0 ? 1 + value % 40 : 1), '.');
  if (text.size() <= storage::kShortBytesMax) return storage::ShortWord(text);
  std::vector<uint64_t>& record = records_[value];
  if (record.empty()) record.resize(storage::RecordBytes(text.size()) / sizeof(uint64_t));
  return storage::WriteRecord(record.data(), text);
}

uint64_t Strings::ValueIn(uint64_t word) {
  return std::strtoull(std::string(storage::BytesOf(word)).c_str(), nullptr, 10);
}

std::string SimObject::NameOf(uint32_t key) const {
  return heap() ? "append " + std::to_string(key) : "key " + TextOf(universe[key]);
}

uint32_t SimObject::IndexOf(const storage::Key& key) const {
  return static_cast<uint32_t>(std::lower_bound(universe.begin(), universe.end(), key) -
                               universe.begin());
}

Simulation::Simulation(test::LabMemory& memory, uint64_t seed, const RunOptions& options)
    : options_(options),
      seed_(seed),
      random_(seed),
      plan_(random_, options.kind),
      answered_here_(plan_.answered_here && options.bug == PlantedBug::kNone),
      slots_(plan_.slots, nullptr),
      paused_until_(plan_.world.aeus, 0),
      turns_(plan_.world.aeus, 0),
      late_records_(plan_.world.aeus),
      world_(memory, plan_.world),
      control_(world_.MakePort()),
      clients_(plan_.clients) {
  world_.snapshots().SetLimits(plan_.version_bytes_max, kNeverTooOldNs);
  for (Client& client : clients_) {
    client.home = std::make_unique<test::TestHome>();
    client.port = world_.MakePort(&client.home->blocks());
  }
  for (uint32_t i = 0; i < world_.aeus(); ++i) {
    aeu_weights_.push_back(static_cast<uint32_t>(random_.Between(1, 8)));
  }
}

Simulation::~Simulation() = default;

void Simulation::Fail(const std::string& what) {
  if (failed()) return;
  outcome_.error = "seed " + std::to_string(seed_) + ", step " + std::to_string(now_) + ": " +
                   what + "\n  plan: " + plan_.Text();
}

void Simulation::Note(const char* what, uint64_t a, uint64_t b, uint64_t c) {
  for (const uint64_t word : {uint64_t{now_}, a, b, c}) {
    outcome_.fingerprint = (outcome_.fingerprint ^ word) * 0x9e3779b97f4a7c15;
    outcome_.fingerprint ^= outcome_.fingerprint >> 29;
  }
  if (!options_.trace) return;
  outcome_.trace += std::to_string(now_) + ": " + what + " " + std::to_string(a) + " " +
                    std::to_string(b) + " " + std::to_string(c) + "\n";
}

Outcome Simulation::Run() {
  if (options_.trace) outcome_.trace = "plan: " + plan_.Text() + "\n";
  SetUp();
  while (now_ < plan_.steps && !failed()) OneStep();
  if (!failed()) Drain();
  if (!failed()) CheckEnd();
  outcome_.coverage.Add(Event::kSteps, now_);
  return std::move(outcome_);
}

void Simulation::SetUp() {
  for (uint32_t slot = 0; slot < plan_.slots; ++slot) {
    CreateObject(slot);
    SimObject& object = *slots_[slot];
    for (int round = 0; object.phase == SimObject::Phase::kCreating && round < 1000; ++round) {
      ControlStep(object);
      for (uint32_t i = 0; i < world_.aeus(); ++i) world_.Step(i, true, 1 << 20);
      EndStep();
    }
    if (object.phase != SimObject::Phase::kLive) return Fail("an object cannot be created");
  }
}

void Simulation::OneStep() {
  ++now_;
  const uint64_t total = plan_.aeu_weight + plan_.client_weight + plan_.fault_weight;
  const uint64_t ticket = random_.Below(total * 4);
  if (ticket < plan_.aeu_weight * 4) {
    uint64_t sum = 0;
    for (const uint32_t weight : aeu_weights_) sum += weight;
    uint64_t place = random_.Below(sum);
    uint32_t aeu = 0;
    while (place >= aeu_weights_[aeu]) place -= aeu_weights_[aeu++];
    if (paused_until_[aeu] <= now_) StepAeu(aeu);
  } else if (ticket < (plan_.aeu_weight + plan_.client_weight) * 4) {
    ClientStep(static_cast<uint32_t>(random_.Below(clients_.size())));
  } else {
    FaultStep();
  }
  EndStep();
  CheckLiveness();
}

void Simulation::StepAeu(uint32_t aeu) {
  const bool whole_scans = random_.OneIn(2);
  const size_t ingress_bytes = random_.OneIn(3) ? 1 : 1 << 20;
  Note("AEU turns", aeu, whole_scans, ingress_bytes);
  const uint64_t forwarded = world_[aeu].Routing().forwarded;
  std::vector<SimObject*> held;  // before the turn
  if (options_.bug == PlantedBug::kDropEndsOthers) {
    for (SimObject* const object : slots_) {
      if (AeuTestPeer::SlotOf(world_[aeu], object->world.route) != nullptr) held.push_back(object);
    }
  }
  Turns(aeu, whole_scans, ingress_bytes);
  for (SimObject* const object : held) {
    if (AeuTestPeer::SlotOf(world_[aeu], object->world.route) == nullptr) HurtOthersByDrop(aeu);
  }
  ++turns_[aeu];
  if (options_.bug == PlantedBug::kForgetPrepared) {
    for (const auto& object : objects_) {
      aeu::ObjectSlot* const slot = AeuTestPeer::SlotOf(world_[aeu], object->world.route);
      if (slot != nullptr) slot->prepared() = {};
    }
  }
  ObserveStubs(aeu, forwarded);
  if (AeuTestPeer::HasBuffered(world_[aeu])) outcome_.coverage.Add(Event::kAeuFlushesFailed);
  for (Client& client : clients_) {
    if (client.scan != nullptr && client.scan->out) ObserveScan(*client.scan);
    if (client.table_scan != nullptr) ObserveTableScan(*client.table_scan);
    if (client.join != nullptr) ObserveJoin(*client.join);
  }
}

void Simulation::EndStep() {
  for (SimRequest* request : ledger_) {
    request->in_ledger = false;
    const uint32_t answered = std::exchange(request->answered_now, 0);
    if (request->batch == nullptr) return Fail("an answer after the last one");
    Batch& batch = *request->batch;
    uint32_t written = 0, lost = 0;
    for (uint32_t i = 0; i < batch.keys.size(); ++i) {
      if (request->recorded[i] || request->states[i] == KeyState::kPending) continue;
      ++written;
      if (options_.bug == PlantedBug::kLoseRedirect && request->states[i] == KeyState::kMoved &&
          random_.OneIn(20)) {
        request->states[i] = KeyState::kPending;
        ++lost;
        continue;
      }
      request->recorded[i] = 1;
      RecordAnswer(batch, i);
    }
    if (written != answered) {
      Fail("a turn wrote " + std::to_string(written) + " states of a request and answered " +
           std::to_string(answered));
    }
    if (answered > request->owed) Fail("more answers than keys");
    if (failed()) return;
    request->owed -= answered - lost;
    if (request->owed == 0) request->final_fingerprint = request->Fingerprint();
  }
  ledger_.clear();
}

bool Simulation::DrainRound() {
  bool moved = false;
  ++now_;
  for (const auto& object : objects_) {
    moved |= ControlStep(*object);
    while (object->phase == SimObject::Phase::kLive && PublishOne(*object)) moved = true;
  }
  for (const auto& transfer : transfers_) AdvanceTransfer(*transfer);
  EndTransfers();
  moved |= !transfers_.empty();
  for (uint32_t i = 0; i < clients_.size() && !failed(); ++i) {
    if (clients_[i].port->HasBuffered()) moved = true;
    FlushClient(i);
    moved |= CollectHome(i);
    moved |= ReadScan(i);
    moved |= ReadTableScan(i);
    moved |= ReadJoin(i);
  }
  EndStep();
  for (size_t i = 0; i < batches_.size() && !failed();) {
    Batch& batch = *batches_[i];
    const bool held = !batch.to_send.empty();
    if (held) GoOn(OrderOf(batch), batch.client, *batch.object);
    if (held || batch.request->owed > 0 || SendAgain(batch)) {
      moved = true;
      ++i;
    } else {
      LetGo(i);
    }
  }
  for (uint32_t i = 0; i < clients_.size(); ++i) FlushClient(i);
  EndStep();
  for (uint32_t i = 0; i < world_.aeus() && !failed(); ++i) {
    ++now_;
    StepAeu(i);
    EndStep();
  }
  return moved || !world_.AtRest();
}

void Simulation::Drain() {
  draining_ = true;
  Note("the faults stop");
  for (auto& paused : paused_until_) paused = 0;
  for (const auto& object : objects_) EndAllocationFaults(*object);
  int rounds = 0;
  const auto settle = [&] {
    while (!failed() && DrainRound()) {
      if (++rounds == kDrainRoundsMax) {
        return Fail("something never ends:" + UnderWay());
      }
    }
  };
  settle();
  // What is left, as a scan of everything tells it.
  for (const auto& object : objects_) {
    if (failed() || object->phase != SimObject::Phase::kLive) continue;
    ++now_;
    if (object->hash() || object->form == Form::kTable) LookupAll(*object);
    if (object->is_table()) {
      StartTableScan(0, *object, /*whole=*/true);
    } else if (!object->hash()) {
      StartScan(0, *object, /*whole=*/true);
    }
    settle();
  }
}

void Simulation::CheckEnd() {
  if (const std::string counters = world_.CheckCounters(); !counters.empty()) return Fail(counters);
  for (const Client& client : clients_) {
    if (client.home->Forgotten()) return Fail("blocks are home, and nobody has been told");
    if (client.port->outstanding() != 0) return Fail("a Port's block has not come home");
  }
  if (control_->outstanding() != 0) return Fail("the control Port's block has not come home");
  for (const auto& step : steps_) {
    if (step->ended != 1) return Fail("a step has not ended once");
  }
  if (plan_.transfers && world_.snapshots().version_bytes() != 0) {
    return Fail("old rows are left in the accounts");
  }
  for (const auto& request : done_requests_) {
    if (request->Fingerprint() != request->final_fingerprint)
      return Fail("an answer was written after the last one");
  }
  for (uint32_t i = 0; i < world_.aeus(); ++i) {
    const RoutingStats routing = world_[i].Routing();
    outcome_.coverage.Add(Event::kKeysForwarded, routing.forwarded);
  }
  for (const auto& object : objects_) {
    for (uint32_t key = 0; key < object->histories.size(); ++key) {
      const std::string error = CheckHistory(std::move(object->histories[key]));
      if (error.empty()) continue;
      return Fail("object " + std::to_string(object->world.route.object().value) + ", " +
                  object->NameOf(key) + ": " + error);
    }
  }
}

Outcome Simulate(test::LabMemory& memory, uint64_t seed, const RunOptions& options) {
  auto simulation = std::make_unique<Simulation>(memory, seed, options);
  Outcome outcome = simulation->Run();
  if (!outcome.error.empty()) {
    // A life that failed is not at rest: the checks at the ends of its parts would tell of that
    // instead.
    static auto& failed = *new std::vector<std::unique_ptr<Simulation>>;
    failed.push_back(std::move(simulation));
  }
  return outcome;
}

}  // namespace eris::sim
