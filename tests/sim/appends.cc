// Appends to heap tables: pieces of rows, each sent to one AEU that has a part of the table. A
// piece is one key of the oracle, stored once and never changed. The scans see to it that its rows
// come together, once each, and never if it was refused.
#include <span>
#include <utility>

#include "tests/sim/simulation.h"

namespace eris::sim {

using routing::CommandType;
using storage::KeyState;

namespace {

constexpr uint64_t kPieceRowsMax = 8;
// The most pieces of one table. A scan with a single chunk for a single row takes a round for each
// row at the end.
constexpr size_t kPiecesMax = 120;

}  // namespace

void Simulation::PlaceHeap(std::vector<uint64_t>& starts, std::vector<AeuId>& owners) const {
  starts.clear();
  owners.clear();
  for (uint32_t i = 0; i < world_.aeus(); ++i) {
    starts.push_back(i);
    owners.push_back({i});
  }
}

void Simulation::StartAppend(uint32_t client, SimObject& object) {
  if (object.appends.size() >= kPiecesMax) return;
  const auto pieces = static_cast<uint32_t>(random_.Between(1, 4));
  auto batch = std::make_unique<Batch>();
  batch->object = &object;
  batch->kind = KeyEvent::Kind::kUpsert;
  batch->client = client;
  batch->session = clients_[client].session;
  batch->sent.assign(pieces, now_);
  batch->sequence.resize(pieces);
  batch->request = std::make_unique<SimRequest>(ledger_, pieces);
  SimRequest& request = *batch->request;
  request.batch = batch.get();
  request.owed = pieces;
  std::vector<uint64_t> firsts{0};
  TableRows& rows = request.StoreRows();
  for (uint32_t i = 0; i < pieces; ++i) {
    const auto piece = static_cast<uint32_t>(object.appends.size());
    const auto count = static_cast<uint32_t>(random_.Between(1, kPieceRowsMax));
    object.appends.push_back({.rows = count});
    object.histories.emplace_back();
    object.under_way.push_back(1);
    for (uint32_t row = 0; row < count; ++row) rows.Add({piece, row}, piece + 1);
    firsts.push_back(firsts.back() + count);
    batch->keys.push_back(piece);
    batch->values.push_back(piece + 1);
  }
  request.rows = &rows.Batch();
  Note("client starts an append", client, pieces, firsts.back());
  outcome_.coverage.Add(Event::kBatches);
  outcome_.coverage.Add(Event::kAppends, pieces);
  std::vector<AeuId> aeus;
  for (uint32_t i = 0; i < world_.aeus(); ++i) {
    if (object.appended_to[i]) aeus.push_back({i});
  }
  const uint64_t next = random_.Below(aeus.size());
  MayFlush(client);
  uint32_t refused = 0;
  for (uint32_t i = 0; i < pieces; ++i) {
    const routing::AppendSegment segment{.first = firsts[i],
                                         .count = static_cast<uint32_t>(firsts[i + 1] - firsts[i]),
                                         .position = i};
    const routing::CommandHeader header{.type = CommandType::kAppendRows,
                                        .slot = object.world.route.slot(),
                                        .object = object.world.route.object(),
                                        .complete = &SimRequest::Answered,
                                        .context = &request,
                                        .count = 1};
    if (clients_[client].port->SendTo(aeus[(next + i) % aeus.size()], header,
                                      std::as_bytes(std::span(&segment, 1)))) {
      continue;
    }
    request.states[i] = KeyState::kRefused;
    ++refused;
  }
  if (refused > 0) request.AddAnswers(refused);
  batch->waiting.Begin(turns_, now_);
  batches_.push_back(std::move(batch));
  if (draining_ || !plan_.lazy_flushes || random_.OneIn(2)) FlushClient(client);
}

void Simulation::RecordAppend(Batch& batch, uint32_t position) {
  const KeyState state = batch.request->states[position];
  batch.object->appends[batch.keys[position]].refused = state != KeyState::kAbsent;
  if (state != KeyState::kAbsent) outcome_.coverage.Add(Event::kAppendsRefused);
  if (state == KeyState::kPresent || state == KeyState::kMoved) {
    Fail("append " + std::to_string(batch.keys[position]) + " was answered with state " +
         std::to_string(static_cast<int>(state)));
  }
}

}  // namespace eris::sim
