// AEUs with everything that they need and no engine, stepped by hand in the test's own thread.
#ifndef ERIS_TESTS_SUPPORT_AEU_LAB_H_
#define ERIS_TESTS_SUPPORT_AEU_LAB_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "aeu/aeu.h"
#include "base/check.h"
#include "memory/memory_budget.h"
#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "routing/port.h"
#include "tests/support/test_endpoints.h"
#include "tests/support/test_reply.h"
#include "topology/topology.h"

namespace eris::test {

// Memory that outlives the AEUs of many labs.
struct LabMemory {
  memory::MemoryBudget budget{uint64_t{1} << 30};
  memory::NumaNodePool pool{topology::NumaNode{}, /*bind=*/false, budget};
};

class AeuLab {
 public:
  AeuLab(LabMemory& memory, uint32_t aeus, size_t half_bytes = 64 << 10,
         size_t outgoing_bytes = 4 << 10)
      : memory_(memory),
        endpoints_(aeus, half_bytes),
        outgoing_bytes_(outgoing_bytes),
        control_(endpoints_.directory(), outgoing_bytes, /*wait_ns=*/0) {
    for (uint32_t i = 0; i < aeus; ++i) {
      aeus_.push_back(std::make_unique<aeu::Aeu>(AeuId{i}, directory(), outgoing_bytes));
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(aeus_.size()); }
  aeu::Aeu& operator[](uint32_t aeu) { return *aeus_[aeu]; }
  size_t outgoing_bytes() const { return outgoing_bytes_; }
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

  // An object in `slot` whose partition i is installed at owners[i]. Lives as long as the lab.
  routing::ObjectRoute& Create(uint32_t slot, ObjectId id, std::vector<uint64_t> starts,
                               std::vector<AeuId> owners) {
    managers_.push_back(std::make_unique<memory::MemoryManager>(id, memory_.pool));
    routes_.push_back(std::make_unique<routing::ObjectRoute>(
        slot, id, std::make_unique<routing::RangeTable>(1, std::move(starts), std::move(owners))));
    routing::ObjectRoute& route = *routes_.back();
    for (size_t i = 0; i < route.table().size(); ++i) {
      Install(route, route.table().owners()[i], route.table().RangeOf(i));
    }
    return route;
  }
  void Install(routing::ObjectRoute& route, AeuId owner, const storage::Range& range) {
    const routing::InstallSegment segment{
        .range = range, .manager = managers_.back().get(), .route = &route};
    TestReply reply(1);
    ERIS_CHECK(TrySend(owner, route, routing::CommandType::kInstall, &reply, &TestReply::Answered,
                       segment));
    while (reply.answered == 0) Step(owner.value);
    ERIS_CHECK(reply.state_column[0] == storage::KeyState::kAbsent);
  }
  // Buffers and copies over; the AEU has not seen it yet.
  void SendDrop(const routing::ObjectRoute& route, AeuId owner, TestReply& reply) {
    ERIS_CHECK(TrySend(owner, route, routing::CommandType::kDrop, &reply, &TestReply::Answered,
                       routing::DropSegment{}));
  }
  void SendScan(const routing::ObjectRoute& route, AeuId owner, const storage::Range& range,
                TestScanPart& part, uint64_t rows_max = ~uint64_t{0}) {
    ERIS_CHECK(TrySendScan(route, owner, range, part, rows_max));
  }
  // False: its incoming buffer is full, nothing was sent.
  [[nodiscard]] bool TrySendScan(const routing::ObjectRoute& route, AeuId owner,
                                 const storage::Range& range, TestScanPart& part,
                                 uint64_t rows_max = ~uint64_t{0}) {
    const routing::ScanSegment segment{range, rows_max, &part};
    const bool sent =
        TrySend(owner, route, routing::CommandType::kScan, &part, &TestScanPart::Answered, segment);
    if (!sent) {
      control_.RefuseBuffered(storage::KeyState::kRefused);
      part.Reset();
      --part.ended;
    }
    return sent;
  }

 private:
  template <class Segment>
  bool TrySend(AeuId owner, const routing::ObjectRoute& route, routing::CommandType type,
               routing::Reply* context, routing::CompletionFunction complete,
               const Segment& segment) {
    const routing::CommandHeader header{.type = type,
                                        .slot = route.slot(),
                                        .object = route.object(),
                                        .table_version = route.table().version(),
                                        .complete = complete,
                                        .context = context,
                                        .count = 1};
    return control_.SendTo(owner, header,
                           {reinterpret_cast<const std::byte*>(&segment), sizeof segment}) &&
           control_.Flush();
  }

  LabMemory& memory_;
  std::vector<std::unique_ptr<memory::MemoryManager>> managers_;
  std::vector<std::unique_ptr<routing::ObjectRoute>> routes_;

  TestEndpoints endpoints_;
  const size_t outgoing_bytes_;
  routing::Port control_;
  std::vector<std::unique_ptr<aeu::Aeu>> aeus_;  // last: they use all of the above
};

// A source of keyed commands in the test's own thread. Commands on their way borrow nothing of it.
class LabClient {
 public:
  explicit LabClient(const AeuLab& lab)
      : port_(lab.directory(), lab.outgoing_bytes(), /*wait_ns=*/0) {}

  // Each key gets its answer in `reply` by the route's table; refused ones at once, as kRefused.
  void Send(const routing::ObjectRoute& route, routing::CommandType type,
            const std::vector<uint64_t>& keys, const std::vector<uint64_t>& values,
            TestReply& reply, const std::vector<uint32_t>& positions = {}, uint16_t hops = 0) {
    const uint32_t refused = port_.Send(route,
                                        {.type = type,
                                         .keys = keys,
                                         .values = values,
                                         .positions = positions,
                                         .hops = hops,
                                         .complete = &TestReply::Answered,
                                         .context = &reply},
                                        storage::KeyState::kRefused);
    if (!port_.Flush()) port_.RefuseBuffered(storage::KeyState::kRefused);
    if (refused > 0) TestReply::Answered(&reply, refused);
  }

 private:
  routing::Port port_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_AEU_LAB_H_
