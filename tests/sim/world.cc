#include "tests/sim/world.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace eris::sim {
namespace {

constexpr size_t kPutBackBytes = 128 << 10;

routing::PortOptions OptionsOf(size_t outgoing_bytes, size_t pool_bytes) {
  return {.outgoing_bytes = outgoing_bytes,
          .pool_bytes_max = std::max(outgoing_bytes, pool_bytes),
          .wait_ns = 0};
}

void AppendRecords(std::span<const std::byte> run, std::vector<Record>& records) {
  while (!run.empty()) {
    const auto* command = reinterpret_cast<const routing::CommandHeader*>(run.data());
    records.emplace_back(command->size_bytes / 8);
    std::memcpy(records.back().data(), run.data(), command->size_bytes);
    run = run.subspan(command->size_bytes);
  }
}

}  // namespace

World::World(test::LabMemory& memory, const WorldOptions& options)
    : memory_(memory), options_(options), endpoints_(options.aeus, options.half_bytes) {
  for (uint32_t i = 0; i < options.aeus; ++i) {
    aeus_.push_back(
        std::make_unique<aeu::Aeu>(AeuId{i}, endpoints_.directory(),
                                   OptionsOf(options.aeu_outgoing_bytes, options.aeu_pool_bytes)));
    // Work costs nothing: how much of it a turn does must not depend on the machine.
    aeus_.back()->SetWorkClock([] { return uint64_t{0}; });
  }
}

World::~World() {
  aeus_.clear();
  if (put_back_ != nullptr) put_back_->Close();
}

std::unique_ptr<routing::Port> World::MakePort(routing::ReturnPoint* home) {
  routing::PortOptions options = OptionsOf(options_.port_outgoing_bytes, options_.port_pool_bytes);
  options.home = home;
  return std::make_unique<routing::Port>(endpoints_.directory(), options);
}

bool World::AtRest() const {
  return std::none_of(aeus_.begin(), aeus_.end(), [](const auto& aeu) {
    return aeu->HasWork() || aeu->scans_running() > 0 || aeu->joins_running() > 0;
  });
}

std::string World::CheckCounters() const {
  uint64_t delivered = 0;
  for (const auto& aeu : aeus_) {
    const RoutingStats routing = aeu->Routing();
    if (routing.delivered != routing.answered + routing.forwarded) {
      return "AEU " + std::to_string(aeu->id().value) + " was delivered " +
             std::to_string(routing.delivered) + " keys, answered " +
             std::to_string(routing.answered) + " and passed " + std::to_string(routing.forwarded) +
             " on";
    }
    delivered += routing.delivered;
  }
  const uint64_t sent = endpoints_.directory().ports().Total().sent;
  if (sent == delivered) return "";
  return "Ports sent " + std::to_string(sent) + " keys, AEUs were delivered " +
         std::to_string(delivered);
}

void World::TakeIncoming(uint32_t aeu, std::vector<Record>& records) {
  if (const auto run = endpoints_[aeu].incoming.TryTake()) AppendRecords(*run, records);
}

void World::TakeIngress(uint32_t aeu, bool keep_block, std::vector<Record>& records) {
  routing::Block* block = endpoints_[aeu].ingress.TakeAll();
  while (block != nullptr) {
    routing::Block* const next = block->next;
    AppendRecords(block->records(), records);
    if (std::exchange(keep_block, false)) {
      kept_.push_back(block);
    } else {
      routing::BlockPool::Release(block);
    }
    block = next;
  }
}

void World::PutRecords(uint32_t aeu, const std::vector<Record>& records) {
  if (records.empty()) return;
  if (put_back_ == nullptr) put_back_ = routing::BlockPool::Create(kPutBackBytes, 64 << 20);
  routing::Block* block = nullptr;
  const auto hand_over = [&] {
    put_back_->HandOver(block, /*readers=*/1);
    endpoints_[aeu].ingress.Push(block);
  };
  for (const Record& record : records) {
    const size_t bytes = record.size() * 8;
    if (block == nullptr || block->room_bytes() < bytes) {
      if (block != nullptr) hand_over();
      block = put_back_->Take(kPutBackBytes);
      ERIS_CHECK(block != nullptr && bytes <= block->room_bytes());
    }
    std::memcpy(block->Append(bytes), record.data(), bytes);
  }
  hand_over();
}

}  // namespace eris::sim
