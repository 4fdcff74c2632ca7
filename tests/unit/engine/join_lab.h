// What a join needs of an engine, with buffers as small as a test likes, AEUs that it steps by
// hand, and ranges that it moves between them.
#ifndef ERIS_TESTS_UNIT_ENGINE_JOIN_LAB_H_
#define ERIS_TESTS_UNIT_ENGINE_JOIN_LAB_H_

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aeu/aeu.h"
#include "base/check.h"
#include "engine/core/core.h"
#include "engine/objects/object_kinds.h"
#include "engine/reads/join_state.h"
#include "tests/sim/aeu_peer.h"
#include "tests/support/aeu_lab.h"
#include "tests/support/moving_ranges.h"
#include "tests/support/one_numa_node.h"

namespace eris::test {

struct JoinLabOptions {
  uint32_t aeus = 2;
  size_t half_bytes = 64 << 10;
  size_t outgoing_bytes = 4 << 10;
  size_t port_bytes_max = 4 << 20;
  uint32_t chunks_max = 8;
};

class JoinLab {
 public:
  using Rows = std::map<uint64_t, uint64_t>;

  JoinLab(LabMemory& memory, const JoinLabOptions& options) : memory_(memory) {
    core_.options.outgoing_buffer_bytes = options.outgoing_bytes;
    core_.options.port_buffers_bytes_max = options.port_bytes_max;
    core_.options.send_wait_ms_max = 0;  // whoever waits steps no AEU
    core_.chunks = std::make_shared<engine::ScanChunkPool>(options.chunks_max);
    for (uint32_t i = 0; i < options.aeus; ++i) {
      buffers_.emplace_back(
          static_cast<std::byte*>(::operator new (2 * options.half_bytes, std::align_val_t{64})));
      core_.directory.Add(
          std::make_unique<routing::AeuEndpoint>(buffers_.back().get(), options.half_bytes));
    }
    core_.control = std::make_unique<engine::ControlPort>(core_.directory, core_.port_options());
    for (uint32_t i = 0; i < options.aeus; ++i) {
      aeus_.push_back(std::make_unique<aeu::Aeu>(AeuId{i}, core_.directory, core_.port_options()));
    }
  }
  // Nothing is lost and nothing comes twice; nobody holds anything.
  ~JoinLab() {
    Settle();
    ERIS_CHECK(core_.chunks->in_use() == 0);
    uint64_t delivered = 0;
    for (const auto& aeu : aeus_) {
      const RoutingStats routing = aeu->Routing();
      ERIS_CHECK(routing.delivered == routing.answered + routing.forwarded);
      delivered += routing.delivered;
    }
    ERIS_CHECK(core_.directory.ports().Total().sent == delivered);
    core_.control.reset();
  }

  engine::Core& core() { return core_; }
  uint32_t size() const { return static_cast<uint32_t>(aeus_.size()); }
  aeu::Aeu& operator[](uint32_t aeu) { return *aeus_[aeu]; }
  bool Step(uint32_t aeu, uint64_t scan_ns = 0) { return aeus_[aeu]->Step({.scan_ns = scan_ns}); }
  bool StepAll() {
    bool worked = false;
    for (uint32_t i = 0; i < size(); ++i) worked |= Step(i);
    return worked;
  }
  // Until every join has ended. Bounded: what never ends fails a check.
  void Settle() {
    for (int round = 0; round < 1'000'000; ++round) {
      if (!StepAll() && core_.in_flight.count() == 0 && core_.joins.size() == 0) return;
      sched_yield();
    }
    ERIS_CHECK(false);
  }

  // Partition i, with its rows, is at owners[i].
  engine::ObjectRef Create(std::string name, const std::vector<uint64_t>& starts,
                           const std::vector<AeuId>& owners, const Rows& rows) {
    const auto slot = static_cast<uint32_t>(objects_.size());
    auto object = std::make_shared<engine::ObjectEntry>(
        std::move(name), ObjectKind::kIndex, slot, ObjectId{slot + 1},
        std::make_unique<routing::RangeTable>(1, starts, owners),
        *engine::LayoutOf(ObjectKind::kIndex, KeyValueSchema()));
    objects_.push_back(object);
    const auto table = object->route.Pin();
    for (size_t i = 0; i < table->size(); ++i) {
      storage::ExchangeChunk chunk;
      chunk.covers = table->RangeOf(i);
      for (const auto& [key, value] : rows) {
        if (!chunk.covers.ContainsU64(key)) continue;
        chunk.keys.push_back(key);
        chunk.values.push_back(value);
      }
      aeu::AeuTestPeer::GiveRange(Slot(*object, owners[i]), chunk, /*join=*/false);
    }
    return object;
  }
  // What lies between two of the AEU's turns: `range`, which `from` owns in one piece, is `to`'s.
  void Move(engine::ObjectEntry& object, const storage::Range& range, AeuId from, AeuId to) {
    storage::ExchangeChunk rows;
    ERIS_CHECK(aeu::AeuTestPeer::TakeRange(Slot(object, from), range, false, false, rows));
    aeu::AeuTestPeer::GiveRange(Slot(object, to), rows, /*join=*/false);
  }
  // Puts the table in force that says who owns what now.
  void Publish(engine::ObjectEntry& object) {
    PublishOwners(
        object.route, size(),
        [&](uint32_t aeu) -> aeu::ObjectSlot& { return Slot(object, AeuId{aeu}); },
        core_.directory.table_readers());
  }
  aeu::ObjectSlot& Slot(engine::ObjectEntry& object, AeuId aeu) {
    return aeu::AeuTestPeer::MakeSlot(
        *aeus_[aeu.value],
        {.range = {}, .manager = &object.ManagerOn(memory_.pool, {}), .route = &object.route});
  }
  // Sends the drop; AEUs see it in their next turns.
  void Drop(engine::ObjectEntry& object) {
    object.MarkDropped();
    for (uint32_t i = 0; i < size(); ++i) {
      const routing::DropSegment segment{};
      replies_.push_back(std::make_unique<TestReply>(1));
      const routing::CommandHeader header{.type = routing::CommandType::kDrop,
                                          .slot = object.route.slot(),
                                          .object = object.route.object(),
                                          .complete = &TestReply::Answered,
                                          .context = replies_.back().get(),
                                          .count = 1};
      ERIS_CHECK(core_.control->SendTo(
          AeuId{i}, header, {reinterpret_cast<const std::byte*>(&segment), sizeof segment}));
    }
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };

  LabMemory& memory_;
  std::vector<std::unique_ptr<std::byte, Free>> buffers_;
  std::vector<engine::ObjectRef> objects_;
  std::vector<std::unique_ptr<TestReply>> replies_;
  engine::Core core_{test::OneNumaNode()};
  std::vector<std::unique_ptr<aeu::Aeu>> aeus_;  // last: they use all of the above
};

}  // namespace eris::test

#endif  // ERIS_TESTS_UNIT_ENGINE_JOIN_LAB_H_
