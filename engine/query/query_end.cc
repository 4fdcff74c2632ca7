#include "engine/query/query_end.h"

#include <span>
#include <utility>

#include "engine/completion/session_nodes.h"
#include "routing/data_command.h"

namespace eris::engine {

std::unique_ptr<QueryEnd> QueryEnd::Create(Core& core, SessionNode& node, uint32_t sets) {
  std::unique_ptr<QueryEnd> end(new QueryEnd(core, node));
  end->parts_ = std::make_unique<storage::QueryParts>();
  storage::QueryParts& parts = *end->parts_;
  parts.memory = core.run_memory.get();
  parts.columns.resize(sets);
  const auto aeus = static_cast<uint32_t>(core.aeu_numa_nodes.size());
  for (uint32_t aeu = 0; aeu < aeus; ++aeu) {
    memory::MemoryManager& manager =
        core.query_memories.ManagerOn(*core.memory, core.aeu_numa_nodes[aeu]);
    parts.parts.push_back(std::make_unique<storage::QueryPart>(parts, aeu, manager, sets));
    Part& part = end->stage_parts_.emplace_back();
    part.owner = AeuId{aeu};
    part.part = parts.parts.back().get();
    part.stage = &end->stage_;
    part.to_the_end = true;
    part.end = end.get();
    end->part_list_.push_back(&part);
  }
  end->to_tell_.reserve(aeus);
  end->refused_.reserve(aeus);
  parts.engine_memory = std::make_unique<memory::MemoryManager>(
      kQueryMemory, core.memory->pool(node.numa_node), core.memory->spill(node.numa_node));
  memory::LocalCache* const cache = parts.engine_memory->NewCache();
  if (cache == nullptr) return nullptr;
  parts.parts.push_back(
      std::make_unique<storage::QueryPart>(parts, aeus, *parts.engine_memory, sets));
  parts.parts.back()->Enter(*cache);
  return end;
}

void QueryEnd::Begin(std::unique_ptr<QueryEnd> end) {
  const auto& parts = end->parts_->parts;
  for (uint32_t aeu = 0; aeu < end->stage_parts_.size(); ++aeu) {
    if (parts[aeu]->entered()) end->to_tell_.push_back(AeuId{aeu});
  }
  if (end->to_tell_.empty()) return;
  if (!end->node_.in_flight.TryEnter()) {  // the engine is closing
    end->core_.query_memories.KeepToTheEnd(std::move(end->parts_));
    return;
  }
  // relaxed: the buffers that carry the commands publish it.
  end->left_.store(static_cast<uint32_t>(end->to_tell_.size()) + 1, std::memory_order_relaxed);
  end.release()->Send();
}

void QueryEnd::Send() {
  const routing::StageSegment segment{part_list_.data(), part_list_.size()};
  const routing::CommandHeader header{.type = routing::CommandType::kStage,
                                      .object = kQueryMemory,
                                      .complete = &QueryEnd::Answered,
                                      .count = 1};
  refused_.clear();
  core_.control->Multicast(to_tell_, header, std::as_bytes(std::span(&segment, 1)), refused_);
  to_tell_.swap(refused_);
  if (!to_tell_.empty()) {
    core_.resends.Push(this);
    return;
  }
  // acq_rel: the last one sees what the others have freed.
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) node_.completions.Push(this);
}

void QueryEnd::Answered(routing::Reply* reply, uint32_t answered) noexcept {
  QueryEnd* const end = static_cast<Part*>(reply)->end;
  // acq_rel, as above.
  if (end->left_.fetch_sub(answered, std::memory_order_acq_rel) != answered) return;
  end->node_.completions.Push(end);
}

void QueryEnd::Complete() {
  if (!to_tell_.empty()) {
    Send();
    return;
  }
  InFlight::Lane& in_flight = node_.in_flight;
  delete this;
  in_flight.Leave();
}

}  // namespace eris::engine
