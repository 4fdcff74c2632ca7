// AEUs with everything that they need and no engine, stepped by hand in the test's own thread.
#ifndef ERIS_TESTS_SUPPORT_AEU_LAB_H_
#define ERIS_TESTS_SUPPORT_AEU_LAB_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "aeu/aeu.h"
#include "base/check.h"
#include "memory/cache_directory.h"
#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "memory/system/memory_budget.h"
#include "routing/port.h"
#include "tests/support/test_endpoints.h"
#include "tests/support/test_reply.h"
#include "topology/topology.h"

namespace eris::test {

// Memory that outlives the AEUs of many labs.
struct LabMemory {
  memory::MemoryBudget budget{uint64_t{1} << 30};
  memory::NumaNodePool pool{topology::NumaNode{}, /*bind=*/false, budget};
  // A second NumaNode's, for objects that are on both.
  memory::NumaNodePool other_pool{topology::NumaNode{.id = NumaNodeId{1}}, /*bind=*/false, budget};
};

class AeuLab {
 public:
  AeuLab(LabMemory& memory, uint32_t aeus, size_t half_bytes = 64 << 10,
         size_t outgoing_bytes = 4 << 10)
      : memory_(memory),
        endpoints_(aeus, half_bytes),
        port_options_{.outgoing_bytes = outgoing_bytes, .pool_bytes_max = 4 << 20},
        control_(endpoints_.directory(), port_options_) {
    for (uint32_t i = 0; i < aeus; ++i) {
      aeus_.push_back(std::make_unique<aeu::Aeu>(AeuId{i}, directory(), port_options_));
    }
  }
  // Nothing is lost and nothing comes twice: what was sent has been delivered, and what was
  // delivered has been answered or passed on.
  ~AeuLab() {
    if (!at_rest()) return;
    uint64_t delivered = 0;
    for (const auto& aeu : aeus_) {
      const RoutingStats routing = aeu->Routing();
      ERIS_CHECK(routing.delivered == routing.answered + routing.forwarded);
      delivered += routing.delivered;
    }
    ERIS_CHECK(directory().ports().Total().sent == delivered);
  }

  uint32_t size() const { return static_cast<uint32_t>(aeus_.size()); }
  aeu::Aeu& operator[](uint32_t aeu) { return *aeus_[aeu]; }
  const routing::PortOptions& port_options() const { return port_options_; }
  memory::NumaNodePool& other_pool() { return memory_.other_pool; }
  bool at_rest() const {
    return std::none_of(aeus_.begin(), aeus_.end(), [](const auto& aeu) {
      return aeu->HasWork() || aeu->scans_running() > 0 || aeu->joins_running() > 0;
    });
  }
  const routing::EndpointDirectory& directory() const { return endpoints_.directory(); }

  bool Step(uint32_t aeu) { return aeus_[aeu]->Step({}); }
  // Until no AEU finds anything to do. Bounded: what never comes to rest fails a check.
  void Settle() {
    for (int round = 0; round < 10'000; ++round) {
      bool worked = false;
      for (uint32_t i = 0; i < size(); ++i) worked |= Step(i);
      if (!worked) return;
    }
    ERIS_CHECK(false);
  }

  // An object in `slot` whose partition i is installed at owners[i], an index unless `like` says
  // otherwise. Lives as long as the lab. numa_nodes: 1, or 2 to which its AEUs belong in turn.
  routing::ObjectRoute& Create(uint32_t slot, ObjectId id, std::vector<uint64_t> starts,
                               std::vector<AeuId> owners, const routing::InstallSegment& like = {},
                               uint32_t numa_nodes = 1) {
    const auto directory = std::make_shared<memory::CacheDirectory>();
    numa_nodes_ = numa_nodes;
    for (uint32_t i = 0; i < numa_nodes; ++i) {
      memory::NumaNodePool& pool = i == 0 ? memory_.pool : memory_.other_pool;
      managers_.push_back(std::make_unique<memory::MemoryManager>(
          id, pool, std::vector<memory::NumaNodePool*>(), directory));
    }
    routes_.push_back(std::make_unique<routing::ObjectRoute>(
        slot, id, std::make_unique<routing::RangeTable>(1, std::move(starts), std::move(owners))));
    routing::ObjectRoute& route = *routes_.back();
    const auto table = route.Pin();
    for (size_t i = 0; i < table->size(); ++i) {
      Install(route, table->owners()[i], table->RangeOf(i), like);
    }
    return route;
  }
  // For the object that was made last.
  void Install(routing::ObjectRoute& route, AeuId owner, const storage::Range& range,
               const routing::InstallSegment& like = {}) {
    ERIS_CHECK(TryInstall(route, owner, range, like) == storage::KeyState::kAbsent);
  }
  storage::KeyState TryInstall(routing::ObjectRoute& route, AeuId owner,
                               const storage::Range& range,
                               const routing::InstallSegment& like = {}) {
    routing::InstallSegment segment = like;
    segment.range = range;
    segment.manager = &ManagerOf(owner);
    segment.route = &route;
    TestReply reply(1);
    ERIS_CHECK(TrySend(owner, route, routing::CommandType::kInstall, &reply, &TestReply::Answered,
                       segment));
    while (reply.answered == 0) Step(owner.value);
    return reply.state_column[0];
  }
  // The manager of the object that was made last.
  memory::MemoryManager& ManagerOf(AeuId aeu) {
    return *managers_[managers_.size() - numa_nodes_ + aeu.value % numa_nodes_];
  }
  // Buffers and copies over; the AEU sees it in its next turn.
  void SendDrop(const routing::ObjectRoute& route, AeuId owner, TestReply& reply) {
    ERIS_CHECK(TrySend(owner, route, routing::CommandType::kDrop, &reply, &TestReply::Answered,
                       routing::DropSegment{}));
  }
  // What the AEU's rows take, as it finds them in its turns.
  storage::RowBytes Measure(const routing::ObjectRoute& route, AeuId owner) {
    storage::RowBytes bytes;
    TestReply reply(1);
    SendMeasure(route, owner, bytes, reply);
    while (reply.answered == 0) Step(owner.value);
    ERIS_CHECK(reply.state_column[0] == storage::KeyState::kPresent);
    return bytes;
  }
  void SendMeasure(const routing::ObjectRoute& route, AeuId owner, storage::RowBytes& bytes,
                   TestReply& reply) {
    ERIS_CHECK(TrySend(owner, route, routing::CommandType::kMeasure, &reply, &TestReply::Answered,
                       routing::MeasureSegment{.bytes = &bytes}));
  }
  void SendQuery(const routing::ObjectRoute& route, AeuId owner, const storage::Range& range,
                 TestScanPart& part, const storage::ScanQuery& query, bool aggregate = false,
                 uint64_t snapshot = 0) {
    const routing::ScanSegment segment{range, ~uint64_t{0}, &part, query, aggregate};
    ERIS_CHECK(TrySend(owner, route, routing::CommandType::kScan, &part, &TestScanPart::Answered,
                       segment, snapshot));
  }
  void SendScan(const routing::ObjectRoute& route, AeuId owner, const storage::Range& range,
                TestScanPart& part, uint64_t rows_max = ~uint64_t{0}) {
    ERIS_CHECK(TrySendScan(route, owner, range, part, rows_max));
  }
  // False: no block is free, nothing was sent.
  [[nodiscard]] bool TrySendScan(const routing::ObjectRoute& route, AeuId owner,
                                 const storage::Range& range, TestScanPart& part,
                                 uint64_t rows_max = ~uint64_t{0}) {
    const routing::ScanSegment segment{range, rows_max, &part};
    return TrySend(owner, route, routing::CommandType::kScan, &part, &TestScanPart::Answered,
                   segment);
  }
  // Any command without keys.
  template <class Segment>
  [[nodiscard]] bool TrySend(AeuId owner, const routing::ObjectRoute& route,
                             routing::CommandType type, routing::Reply* context,
                             routing::CompletionFunction complete, const Segment& segment,
                             uint64_t snapshot = 0) {
    const routing::CommandHeader header{.type = type,
                                        .slot = route.slot(),
                                        .object = route.object(),
                                        .table_version = route.Pin()->version(),
                                        .snapshot = snapshot,
                                        .complete = complete,
                                        .context = context,
                                        .count = 1};
    return control_.SendTo(owner, header,
                           {reinterpret_cast<const std::byte*>(&segment), sizeof segment}) &&
           control_.Flush();
  }
  void Publish(routing::ObjectRoute& route, std::unique_ptr<const routing::RangeTable> next) {
    route.Publish(std::move(next), directory().table_readers());
  }

 private:
  LabMemory& memory_;
  std::vector<std::unique_ptr<memory::MemoryManager>> managers_;
  uint32_t numa_nodes_ = 1;  // of the object that was made last
  std::vector<std::unique_ptr<routing::ObjectRoute>> routes_;

  TestEndpoints endpoints_;
  const routing::PortOptions port_options_;
  routing::Port control_;
  std::vector<std::unique_ptr<aeu::Aeu>> aeus_;  // last: they use all of the above
};

// A source of keyed commands in the test's own thread. Commands on their way borrow nothing of it.
class LabClient {
 public:
  explicit LabClient(const AeuLab& lab) : port_(lab.directory(), lab.port_options()) {}

  // Each key gets its answer in `reply` by the route's table; refused ones at once, as kRefused.
  void Send(const routing::ObjectRoute& route, routing::CommandType type,
            const std::vector<uint64_t>& keys, const std::vector<uint64_t>& values,
            TestReply& reply, const std::vector<uint32_t>& positions = {}) {
    const uint32_t refused = port_.Send(route,
                                        {.type = type,
                                         .keys = keys,
                                         .values = values,
                                         .positions = positions,
                                         .complete = &TestReply::Answered,
                                         .context = &reply},
                                        storage::KeyState::kRefused);
    port_.Flush();
    if (refused > 0) TestReply::Answered(&reply, refused);
  }

 private:
  routing::Port port_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_AEU_LAB_H_
