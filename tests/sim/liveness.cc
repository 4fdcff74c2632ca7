// The oracle for liveness: what is with AEUs ends within so many turns of them. A coordinator or a
// client that takes its time is not waited for, nor an AEU that is paused: it does not turn.
#include <string>

#include "tests/sim/joins.h"
#include "tests/sim/simulation.h"
#include "tests/sim/table_scans.h"

namespace eris::sim {
namespace {

// The limit of each AEU. Lives are short, so it is little more than what is needed: in half a
// million lives the longest wait took 23 turns.
constexpr uint64_t kTurnsMax = 40;

std::string TextOf(const SimTransfer& transfer) {
  static constexpr const char* kPhases[] = {"about to reserve a slot",
                                            "reserving a slot",
                                            "about to give",
                                            "giving",
                                            "about to publish",
                                            "about to conclude",
                                            "concluding",
                                            "about to ask for memory",
                                            "asking for memory",
                                            "done"};
  return "a transfer of object " + std::to_string(transfer.object->world.route.object().value) +
         " from AEU " + std::to_string(transfer.from.value) + " to " +
         std::to_string(transfer.to.value) + " (" + kPhases[static_cast<size_t>(transfer.phase)] +
         ")";
}

std::string TextOf(const Batch& batch) {
  return "a batch of client " + std::to_string(batch.client) + " (" +
         std::to_string(batch.request->owed) + " keys owed, " +
         std::to_string(batch.to_send.size()) + " to be sent again)";
}

std::string TextOf(const SimJoin& join) {
  return "a join of client " + std::to_string(join.client);
}

std::string TextOf(const SimTableScan& scan) {
  return "a table scan of client " + std::to_string(scan.client) +
         (scan.phase == SimTableScan::Phase::kAtGate ? " (at the gate)" : "");
}

std::string TextOf(const SimObject& object) {
  return std::string(object.phase == SimObject::Phase::kCreating ? "the create" : "the drop") +
         " of object " + std::to_string(object.world.route.object().value);
}

}  // namespace

std::string Simulation::UnderWay() const {
  std::string text;
  const auto add = [&](const Waiting& waiting, const std::string& what) {
    text += "\n    " + what;
    if (waiting.any()) text += " since step " + std::to_string(waiting.step());
  };
  for (const auto& transfer : transfers_) add(transfer->waiting, TextOf(*transfer));
  for (const auto& batch : batches_) add(batch->waiting, TextOf(*batch));
  for (const Client& client : clients_) {
    if (client.scan != nullptr) {
      add(client.scan->waiting, "a scan of client " + std::to_string(client.scan->client));
    }
    if (client.table_scan != nullptr) {
      add(client.table_scan->waiting, TextOf(*client.table_scan));
    }
    if (client.join != nullptr) add(client.join->waiting, TextOf(*client.join));
  }
  for (const auto& object : objects_) {
    const bool live = object->phase == SimObject::Phase::kLive;
    if (!live && object->phase != SimObject::Phase::kGone) add(object->waiting, TextOf(*object));
  }
  for (uint32_t i = 0; i < world_.aeus(); ++i) {
    if (world_[i].HasWork() || world_[i].scans_running() > 0) {
      text += "\n    AEU " + std::to_string(i) + " has work";
    }
  }
  return text;
}

void Simulation::MayFlush(uint32_t client) {
  if (!clients_[client].port->HasBuffered()) return;
  for (const auto& batch : batches_) {
    if (batch->client == client && batch->request->owed > 0) batch->waiting.Begin(turns_, now_);
  }
  Scan* const scan = clients_[client].scan.get();
  if (scan != nullptr && scan->out) scan->waiting.Begin(turns_, now_);
}

void Simulation::CheckLiveness() {
  if (failed() || now_ % 16 != 0) return;
  const auto too_long = [&](const Waiting& waiting, uint64_t turns, const std::string& what) {
    outcome_.longest_wait = std::max(outcome_.longest_wait, turns);
    if (turns > kTurnsMax) {
      Fail(what + " has waited since step " + std::to_string(waiting.step()) + ", for " +
           std::to_string(turns) + " turns of each of its AEUs");
    }
  };
  for (const auto& transfer : transfers_) {
    const SimTransfer::Phase phase = transfer->phase;
    if (phase != SimTransfer::Phase::kReserving && phase != SimTransfer::Phase::kGiven &&
        phase != SimTransfer::Phase::kConcluding && phase != SimTransfer::Phase::kAskingHome) {
      continue;
    }
    if (phase == SimTransfer::Phase::kGiven && transfer->step->ended > 0) continue;
    if (phase != SimTransfer::Phase::kGiven && transfer->reply->answered > 0) continue;
    too_long(transfer->waiting, transfer->waiting.Turns(turns_, transfer->from, transfer->to),
             TextOf(*transfer));
  }
  for (const auto& batch : batches_) {
    const Client& client = clients_[batch->client];
    if (batch->request->owed == 0 || batch->detached || client.port->HasBuffered()) continue;
    if (client.home->told()) continue;  // it may have its answers, and has been told
    too_long(batch->waiting, batch->waiting.Turns(turns_), TextOf(*batch));
  }
  for (const Client& client : clients_) {
    if (client.scan == nullptr || !client.scan->out || client.port->HasBuffered()) continue;
    const Waiting& waiting = client.scan->waiting;
    too_long(waiting, waiting.Turns(turns_),
             "a scan of client " + std::to_string(client.scan->client));
  }
  for (const Client& client : clients_) {
    const SimJoin* const join = client.join.get();
    if (join == nullptr || !join->WaitsForAeus()) continue;
    too_long(join->waiting, join->waiting.Turns(turns_), TextOf(*join));
  }
  for (const Client& client : clients_) {
    const SimTableScan* const scan = client.table_scan.get();
    if (scan == nullptr || !scan->WaitsForAeus()) continue;
    too_long(scan->waiting, scan->waiting.Turns(turns_), TextOf(*scan));
  }
  for (const auto& object : objects_) {
    const bool control = object->phase == SimObject::Phase::kCreating ||
                         object->phase == SimObject::Phase::kDropping;
    if (!control || !object->to_send.empty() || !object->waiting.any() ||
        object->control_reply->answered >= object->control_expected) {
      continue;
    }
    too_long(object->waiting, object->waiting.Turns(turns_), TextOf(*object));
  }
}

}  // namespace eris::sim
