// Clients: batches of keyed operations through Ports of their own, several under way at a time,
// with tables that may be old.
#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/sim/simulation.h"

namespace eris::sim {

using routing::CommandType;
using routing::ObjectRoute;
using storage::KeyState;
using Kind = KeyEvent::Kind;

namespace {

// Operations of one key at a time, of all clients. Those sent again may pass it.
constexpr uint32_t kUnderWayMax = 6;

CommandType TypeOf(Kind kind) {
  static constexpr CommandType kTypes[] = {CommandType::kLookup,
                                           CommandType::kUpsert,
                                           CommandType::kErase,
                                           CommandType::kInsertIfAbsent,
                                           CommandType::kReplaceIfPresent,
                                           CommandType::kCompareAndSet,
                                           CommandType::kAdd};
  static_assert(std::size(kTypes) == static_cast<size_t>(Kind::kCount));
  return kTypes[static_cast<int>(kind)];
}

// Rows of tables are stored, erased and looked up.
CommandType TypeOf(const SimObject& object, Kind kind) {
  if (!object.is_table() || kind == Kind::kErase) return TypeOf(kind);
  return kind == Kind::kLookup ? CommandType::kLookupRows : CommandType::kPutRows;
}

std::unique_ptr<routing::RangeTable> CopyOf(const routing::RangeTable& table) {
  return std::make_unique<routing::RangeTable>(table.version(), table.starts(), table.owners());
}

}  // namespace

void Simulation::ClientStep(uint32_t client) {
  Client& self = clients_[client];
  if (answered_here_ && random_.OneIn(2)) CollectHome(client);
  const uint64_t dice = random_.Below(32);
  if (dice < 14) {
    uint32_t mine = 0;
    for (const auto& batch : batches_) mine += batch->client == client && !batch->detached;
    if (mine < plan_.batches_per_client) return StartBatch(client);
  }
  if (dice < 24) {
    // Looks at what is under way: at one of its batches, from a random place on.
    const size_t n = batches_.size();
    const size_t first = n == 0 ? 0 : random_.Below(n);
    for (size_t i = 0; i < n; ++i) {
      const size_t at = (first + i) % n;
      const Batch& batch = *batches_[at];
      if (batch.client != client || batch.request->owed > 0) continue;
      if (!batch.to_send.empty()) {
        if (GoOn(OrderOf(batch), client, *batch.object)) break;
        continue;
      }
      if (!SendAgain(*batches_[at])) LetGo(at);
      break;
    }
    return;
  }
  if (dice < 28) {
    if (self.scan != nullptr) {
      ReadScan(client);
    } else if (self.table_scan != nullptr) {
      ReadTableScan(client);
    } else if (self.join != nullptr) {
      ReadJoin(client);
    } else if (SimObject* object = random_.OneIn(2) ? PickLive() : nullptr;
               object != nullptr && !object->hash()) {
      if (object->is_table()) return StartTableScan(client, *object, /*whole=*/false);
      if (plan_.joins && random_.OneIn(2)) return StartJoin(client, *object);
      StartScan(client, *object, /*whole=*/false);
    }
    return;
  }
  if (dice < 30) return FlushClient(client);
  if (dice == 30 && plan_.cancels) return CancelBatch(client);
  if (dice == 31 && plan_.deaths && random_.OneIn(4)) return KillPort(client);
}

SimObject* Simulation::PickObject() {
  SimObject* object = slots_[random_.Below(slots_.size())];
  // Sometimes one that is being created or dropped, or has been: a session may know its name still.
  if (random_.OneIn(16)) object = objects_[random_.Below(objects_.size())].get();
  return object != nullptr && (object->phase == SimObject::Phase::kLive ||
                               (object->phase != SimObject::Phase::kCreating && random_.OneIn(2)))
             ? object
             : nullptr;
}

ObjectRoute& Simulation::ViewOf(Client& client, SimObject& object) {
  if (!plan_.stale_views) return object.world.route;
  size_t index = 0;
  while (objects_[index].get() != &object) ++index;
  if (client.views.size() <= index) client.views.resize(index + 1);
  auto& view = client.views[index];
  if (view == nullptr) {
    const ObjectRoute& route = object.world.route;
    view = std::make_unique<ObjectRoute>(route.slot(), route.object(), CopyOf(*route.Pin()));
  }
  return *view;
}

void Simulation::RefreshView(Client& client, SimObject& object) {
  if (!plan_.stale_views) return;
  ObjectRoute& view = ViewOf(client, object);
  const auto newest = object.world.route.Pin();
  if (view.Pin()->version() == newest->version()) return;
  world_.Publish(view, CopyOf(*newest));
  outcome_.coverage.Add(Event::kViewsRefreshed);
}

uint64_t Simulation::Guess(const SimObject& object, uint32_t key) {
  const auto& history = object.histories[key];
  if (history.empty() || random_.OneIn(4)) return 1 + random_.Below(next_value_);
  const KeyEvent& last = history.back();
  return last.kind == Kind::kAdd ? last.answer : last.value;
}

void Simulation::StartBatch(uint32_t client) {
  SimObject* object = PickObject();
  if (object == nullptr) return;
  if (object->heap()) return StartAppend(client, *object);
  auto batch = std::make_unique<Batch>();
  batch->object = object;
  batch->client = client;
  batch->session = clients_[client].session;
  batch->kind = static_cast<Kind>(random_.Below(static_cast<uint64_t>(Kind::kCount)));
  if (object->form == Form::kBytes && batch->kind == Kind::kAdd) batch->kind = Kind::kLookup;
  if (object->is_table()) batch->kind = static_cast<Kind>(static_cast<int>(batch->kind) % 3);
  const auto universe = static_cast<uint32_t>(object->universe.size());
  const uint64_t count = random_.Between(1, plan_.batch_keys_max);
  // A run of neighbours, or keys from anywhere; twice the same key is allowed.
  const bool run = random_.OneIn(3);
  uint32_t key = static_cast<uint32_t>(random_.Below(universe));
  for (uint64_t i = 0; i < count; ++i) {
    key = run ? (key + 1) % universe : static_cast<uint32_t>(random_.Below(universe));
    const auto twice = std::count(batch->keys.begin(), batch->keys.end(), key);
    // Bounded, so that the oracle's work is.
    if (object->under_way[key] + twice >= kUnderWayMax) continue;
    if (twice == 1) outcome_.coverage.Add(Event::kDuplicateKeys);
    batch->keys.push_back(key);
    if (routing::HasValues(TypeOf(batch->kind))) {
      const bool joins = plan_.joins && random_.OneIn(2);
      batch->values.push_back(joins ? 1 + random_.Below(kJoinKeys) : next_value_++);
    }
    if (batch->kind == Kind::kCompareAndSet) batch->expected.push_back(Guess(*object, key));
  }
  if (batch->keys.empty()) return;
  outcome_.coverage.Add(Event::kBatches);
  Note("client starts a batch", client, static_cast<uint64_t>(batch->kind), batch->keys.size());
  AddBatch(std::move(batch));
}

void Simulation::ShowRows(Batch& batch) {
  SimRequest& request = *batch.request;
  if (batch.kind == Kind::kLookup) return request.AnswerRows();
  if (batch.kind == Kind::kErase) return;
  TableRows& rows = request.StoreRows();
  for (size_t i = 0; i < batch.keys.size(); ++i) {
    rows.Add(batch.object->universe[batch.keys[i]], batch.values[i]);
  }
  request.rows = &rows.Batch();
}

void Simulation::AddBatch(std::unique_ptr<Batch> batch) {
  const size_t n = batch->keys.size();
  batch->sent.resize(n);
  batch->sequence.resize(n);
  batch->request = std::make_unique<SimRequest>(ledger_, static_cast<uint32_t>(n));
  batch->request->batch = batch.get();
  if (batch->object->is_table()) ShowRows(*batch);
  outcome_.coverage.Add(Event::kBatchesBehind, OrderOf(*batch).out > 0);
  batches_.push_back(std::move(batch));
  std::vector<uint32_t> all(n);
  for (uint32_t i = 0; i < n; ++i) {
    all[i] = i;
    batches_.back()->sequence[i] = next_sequence_++;
    ++batches_.back()->object->under_way[batches_.back()->keys[i]];
  }
  SendInOrder(*batches_.back(), std::move(all));
}

Simulation::SessionOrder& Simulation::OrderOf(const Batch& batch) {
  size_t index = 0;
  while (objects_[index].get() != batch.object) ++index;
  auto& orders = clients_[batch.client].orders;
  if (orders.size() <= index) orders.resize(index + 1);
  return orders[index];
}

void Simulation::SendInOrder(Batch& batch, std::vector<uint32_t> positions) {
  SessionOrder& order = OrderOf(batch);
  batch.to_send = std::move(positions);
  const bool waits = order.draining || !order.held.empty();
  if (waits && options_.bug != PlantedBug::kSendPastRefused) {
    order.held.push_back(&batch);
    outcome_.coverage.Add(Event::kBatchesHeld);
    return;
  }
  SendNow(order, batch);
}

void Simulation::SendNow(SessionOrder& order, Batch& batch) {
  Client& client = clients_[batch.client];
  const bool newest = options_.bug == PlantedBug::kTablesMixed && random_.OneIn(2);
  if (order.out == 0 || order.table == nullptr || newest) {
    order.table = ViewOf(client, *batch.object).Pin();
  }
  if (!batch.detached) ++order.out;
  batch.out = true;
  const std::vector<uint32_t> positions = std::exchange(batch.to_send, {});
  const SimObject& object = *batch.object;
  std::vector<uint64_t> keys, seconds, values, expected;
  for (const uint32_t position : positions) {
    batch.request->states[position] = KeyState::kPending;
    batch.request->recorded[position] = 0;
    batch.sent[position] = now_;
    const storage::Key& key = object.universe[batch.keys[position]];
    keys.push_back(key.head);
    if (object.two_parts) seconds.push_back(key.tail);
    if (!batch.values.empty() && !object.is_table())
      values.push_back(WordOf(object, batch.values[position]));
    if (!batch.expected.empty()) expected.push_back(WordOf(object, batch.expected[position]));
  }
  batch.request->owed = static_cast<uint32_t>(positions.size());
  MayFlush(batch.client);
  const bool from_zero = positions.size() == batch.keys.size() && random_.OneIn(2);
  const uint32_t refused = client.port->SendBy(
      *order.table, batch.object->world.route,
      {.type = TypeOf(object, batch.kind),
       .keys = keys,
       .values = values,
       .positions = from_zero ? std::span<const uint32_t>() : positions,
       .complete = &SimRequest::Answered,
       .context = batch.request.get(),
       .expected = expected,
       .seconds = seconds,
       .answers = answered_here_ ? routing::AnswersTo::kRecord : routing::AnswersTo::kReply},
      KeyState::kRefused);
  if (refused > 0) batch.request->AddAnswers(refused);
  batch.waiting.Begin(turns_, now_);
  if (draining_ || !plan_.lazy_flushes || random_.OneIn(2)) FlushClient(batch.client);
}

bool Simulation::SendAgain(Batch& batch) {
  SessionOrder& order = OrderOf(batch);
  std::vector<uint32_t> moved, refused;
  // An append goes nowhere else: what was refused is refused.
  const bool again =
      !batch.detached && batch.object->phase == SimObject::Phase::kLive && !batch.object->heap();
  for (uint32_t i = 0; again && i < batch.keys.size(); ++i) {
    const KeyState state = batch.request->states[i];
    if (state == KeyState::kMoved) moved.push_back(i);
    // An answer, which the caller may take as final.
    if (state == KeyState::kRefused && !draining_) refused.push_back(i);
  }
  const bool in_order = !moved.empty();
  const bool keeps_credit = options_.bug == PlantedBug::kLoseCredit && in_order;
  if (std::exchange(batch.out, false) && !batch.detached && !keeps_credit) --order.out;
  if (in_order) {
    order.draining = true;
    batch.to_send = std::move(moved);
    order.held.push_back(&batch);
  } else if (!refused.empty()) {
    // As a new operation, that is.
    for (const uint32_t i : refused) batch.sequence[i] = next_sequence_++;
  }
  for (const uint32_t i : in_order ? batch.to_send : refused) {
    ++batch.object->under_way[batch.keys[i]];
  }
  if (!in_order && !refused.empty()) SendInOrder(batch, std::move(refused));
  // The engine's thread that sends again may come to it later.
  if (draining_ || random_.OneIn(2)) {
    GoOn(order, batch.client, *batch.object);
  } else if (order.out == 0 && !order.held.empty()) {
    outcome_.coverage.Add(Event::kBatchesHeldOn);
  }
  return batch.out || !batch.to_send.empty();
}

bool Simulation::GoOn(SessionOrder& order, uint32_t client, SimObject& object) {
  if (order.out > 0 || order.held.empty()) return false;
  if (draining_ || random_.OneIn(2)) RefreshView(clients_[client], object);
  const auto first = [](const Batch* batch) {
    uint32_t sequence = ~uint32_t{0};
    for (const uint32_t i : batch->to_send) sequence = std::min(sequence, batch->sequence[i]);
    return sequence;
  };
  std::sort(order.held.begin(), order.held.end(),
            [&](const Batch* a, const Batch* b) { return first(a) < first(b); });
  if (options_.bug == PlantedBug::kSendAgainUnsorted) {
    std::reverse(order.held.begin(), order.held.end());
  }
  order.draining = false;
  Note("client sends again", client, order.held.size());
  outcome_.coverage.Add(Event::kBatchesSentAgain, order.held.size());
  for (Batch* const batch : std::exchange(order.held, {})) SendNow(order, *batch);
  return true;
}

void Simulation::FlushClient(uint32_t client) {
  MayFlush(client);
  if (!clients_[client].port->Flush()) Fail("a Port outside could not hand its blocks over");
}

bool Simulation::CollectHome(uint32_t client) {
  const bool collected = clients_[client].home->Collect();
  outcome_.coverage.Add(Event::kHomesCollected, collected);
  return collected;
}

void Simulation::CancelBatch(uint32_t client) {
  for (const auto& batch : batches_) {
    if (batch->client != client || batch->cancelled || batch->request->owed == 0) continue;
    Note("client cancels", client, batch->sent[0]);
    outcome_.coverage.Add(Event::kCancels);
    batch->request->SetCancelled();
    batch->cancelled = true;
    return;
  }
}

void Simulation::KillPort(uint32_t client) {
  Client& self = clients_[client];
  bool outstanding = false;
  for (const auto& batch : batches_) {
    if (batch->client != client) continue;
    outstanding |= batch->request->owed > 0;
    batch->detached = true;
    // What was held is never sent.
    for (const uint32_t position : std::exchange(batch->to_send, {})) {
      --batch->object->under_way[batch->keys[position]];
    }
  }
  self.orders.clear();
  ++self.session;
  Note("a Port dies", client, outstanding);
  outcome_.coverage.Add(Event::kPortDeaths);
  if (self.port->HasBuffered()) outcome_.coverage.Add(Event::kPortDeathsBuffered);
  if (outstanding) outcome_.coverage.Add(Event::kPortDeathsOutstanding);
  MayFlush(client);
  self.port = world_.MakePort(&self.home->blocks());
}

void Simulation::RecordAnswer(Batch& batch, uint32_t position) {
  if (batch.object->heap()) RecordAppend(batch, position);
  const KeyState state = batch.request->states[position];
  const SimObject& object = *batch.object;
  --batch.object->under_way[batch.keys[position]];
  Note("answer", batch.keys[position], static_cast<uint64_t>(state), batch.sent[position]);
  const auto illegal = [&](const char* why) {
    Fail(object.NameOf(batch.keys[position]) + " sent in step " +
         std::to_string(batch.sent[position]) + " was answered with state " +
         std::to_string(static_cast<int>(state)) + ": " + why);
  };
  switch (state) {
    case KeyState::kUnequal:
      if (batch.kind != Kind::kCompareAndSet) return illegal("nothing was compared");
      [[fallthrough]];
    case KeyState::kAbsent:
    case KeyState::kPresent: {
      // An answer in a block may be taken home long after its turn.
      if (object.phase == SimObject::Phase::kGone &&
          (!answered_here_ || object.heap() || batch.sent[position] >= object.gone_since)) {
        return illegal("every AEU had dropped it");
      }
      KeyEvent event;
      event.kind = batch.kind;
      event.found = state != KeyState::kAbsent;
      if (!batch.values.empty()) event.value = batch.values[position];
      if (!batch.expected.empty()) event.expected = batch.expected[position];
      if (event.conditional() && (event.found || batch.kind == Kind::kAdd)) {
        event.answer = ValueIn(object, batch.request->values[position]);
      }
      event.swapped = batch.kind == Kind::kCompareAndSet && state == KeyState::kPresent;
      if (batch.kind == Kind::kLookup && event.found) {
        event.value = ValueIn(object, batch.request->values[position]);
        const TableAnswers* const row = batch.request->answers.get();
        if (row != nullptr && !row->Whole(position)) return illegal("its row is torn");
      }
      event.sent = batch.sent[position];
      event.answered = now_;
      // What a session sends on a key takes effect in its order, whatever moves.
      if (!object.heap()) event.lane = 1 + batch.session * plan_.clients + batch.client;
      event.sequence = batch.sequence[position];
      batch.object->histories[batch.keys[position]].push_back(event);
      outcome_.coverage.Add(Event::kKeysExecuted);
      return;
    }
    case KeyState::kNoMemory:
      outcome_.coverage.Add(Event::kKeysNoMemory);
      // Any write but an erase needs some where a snapshot needs what it replaces.
      if (!allocation_failed_ || batch.kind == Kind::kLookup || batch.kind == Kind::kErase) {
        illegal("there was memory");
      }
      if (options_.bug == PlantedBug::kWriteWithoutMemory && !object.heap()) {
        WriteBehindTheBack(*batch.object, object.universe[batch.keys[position]],
                           batch.values[position]);
      }
      return;
    case KeyState::kMoved:
      outcome_.coverage.Add(Event::kKeysRedirected);
      if (!plan_.may_move()) illegal("no range ever moves");
      if (((options_.bug == PlantedBug::kExecuteRedirected && batch.kind == Kind::kUpsert) ||
           (options_.bug == PlantedBug::kAddRedirected && batch.kind == Kind::kAdd)) &&
          random_.OneIn(10)) {
        WriteBehindTheBack(*batch.object, object.universe[batch.keys[position]],
                           batch.values[position], routing::OperationOf(TypeOf(batch.kind)));
      }
      return;
    case KeyState::kNoObject:
      outcome_.coverage.Add(Event::kKeysNoObject);
      if (object.phase == SimObject::Phase::kLive) illegal("the object is there");
      return;
    case KeyState::kCancelled:
      outcome_.coverage.Add(Event::kKeysCancelled);
      if (!batch.cancelled) illegal("nobody cancelled it");
      return;
    case KeyState::kRefused:
      outcome_.coverage.Add(Event::kKeysRefused);
      if (!plan_.may_refuse()) illegal("there are blocks enough");
      return;
    case KeyState::kPending:
      return;
    case KeyState::kNoRoom:  // there is room for all answers
      break;
  }
  illegal("no such state");
}

void Simulation::LookupAll(SimObject& object) {
  auto batch = std::make_unique<Batch>();
  batch->object = &object;
  batch->session = clients_[0].session;
  for (uint32_t i = 0; i < object.universe.size(); ++i) batch->keys.push_back(i);
  AddBatch(std::move(batch));
}

void Simulation::LetGo(size_t batch) {
  auto& request = batches_[batch]->request;
  request->batch = nullptr;
  // A planted bug may answer a request once more after its last answer. The request must be there
  // still, so that EndStep sees that answer.
  const bool planted = options_.bug != PlantedBug::kNone;
  if (planted || !plan_.free_at_once) done_requests_.push_back(std::move(request));
  batches_[batch] = std::move(batches_.back());
  batches_.pop_back();
}

}  // namespace eris::sim
