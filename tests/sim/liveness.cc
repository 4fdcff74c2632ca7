// The oracle for liveness: what is with AEUs ends within so many turns of them. A coordinator or a
// client that takes its time is not waited for, nor an AEU that is paused: it does not turn.
#include <string>

#include "tests/sim/simulation.h"

namespace eris::sim {
namespace {

// Of each AEU. Lives are short, so this has to be little more than it takes: of half a million lives
// the longest wait was of 23 turns.
constexpr uint64_t kTurnsMax = 40;

}  // namespace

void Simulation::MayFlush(uint32_t client) {
  if (!clients_[client].port->HasBuffered()) return;
  for (const auto& batch : batches_) {
    if (batch->client == client && batch->request->owed > 0) batch->waiting.Begin(turns_);
  }
  Scan* const scan = clients_[client].scan.get();
  if (scan != nullptr && scan->out) scan->waiting.Begin(turns_);
}

void Simulation::CheckLiveness() {
  if (failed() || now_ % 16 != 0) return;
  const auto too_long = [&](uint64_t turns, const std::string& what) {
    outcome_.longest_wait = std::max(outcome_.longest_wait, turns);
    if (turns > kTurnsMax) {
      Fail(what + " has waited for " + std::to_string(turns) + " turns of each of its AEUs");
    }
  };
  for (const auto& transfer : transfers_) {
    const SimTransfer::Phase phase = transfer->phase;
    if (phase != SimTransfer::Phase::kReserving && phase != SimTransfer::Phase::kGiven &&
        phase != SimTransfer::Phase::kConcluding) {
      continue;
    }
    if (phase == SimTransfer::Phase::kGiven && transfer->step->ended > 0) continue;
    if (phase != SimTransfer::Phase::kGiven && transfer->reply->answered > 0) continue;
    too_long(transfer->waiting.Turns(turns_, transfer->from, transfer->to),
             "a transfer in phase " + std::to_string(static_cast<int>(phase)));
  }
  for (const auto& batch : batches_) {
    const Client& client = clients_[batch->client];
    if (batch->request->owed == 0 || batch->detached || client.port->HasBuffered()) continue;
    too_long(batch->waiting.Turns(turns_), "a batch of client " + std::to_string(batch->client));
  }
  for (const Client& client : clients_) {
    if (client.scan == nullptr || !client.scan->out || client.port->HasBuffered()) continue;
    too_long(client.scan->waiting.Turns(turns_), "a scan");
  }
  for (const auto& object : objects_) {
    const bool control = object->phase == SimObject::Phase::kCreating ||
                         object->phase == SimObject::Phase::kDropping;
    if (!control || !object->to_send.empty() || !object->waiting.any() ||
        object->control_reply->answered >= object->control_expected) {
      continue;
    }
    too_long(object->waiting.Turns(turns_), "a create or a drop");
  }
}

}  // namespace eris::sim
