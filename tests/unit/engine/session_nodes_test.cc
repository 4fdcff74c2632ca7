// Which completion thread a session belongs to, and where that runs.
#include "engine/completion/session_nodes.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine_impl.h"

namespace eris::engine {
namespace {

topology::Topology Synthetic(const std::string& description) {
  return *topology::Topology::Synthetic(description);
}

TEST(SessionNodesTest, EachNumaNodeWithCoresHasOneAndSyntheticOnesTakeTurns) {
  const topology::Topology topology = Synthetic("numa:4 core:2 pu:1");
  InFlight in_flight;
  SessionNodes nodes(topology, in_flight, /*pinned=*/true);
  std::map<uint32_t, int> sessions;
  for (int i = 0; i < 12; ++i) ++sessions[nodes.Here().numa_node.value];
  EXPECT_EQ(sessions, (std::map<uint32_t, int>{{0, 3}, {1, 3}, {2, 3}, {3, 3}}));
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(nodes.NearestTo(NumaNodeId{i}).numa_node, NumaNodeId{i});
    EXPECT_TRUE(nodes.NearestTo(NumaNodeId{i}).in_flight.TryEnter());
  }
  EXPECT_NE(&nodes.NearestTo(NumaNodeId{0}).in_flight, &nodes.NearestTo(NumaNodeId{1}).in_flight);
  EXPECT_EQ(in_flight.count(), 4u);
}

// Also where there is one NumaNode only; tests/numa/placement_test.cc runs where there are several.
TEST(SessionNodesTest, OnARealMachineItIsTheNumaNodeOfTheThread) {
  const topology::Topology topology = *topology::Topology::Discover();
  InFlight in_flight;
  SessionNodes nodes(topology, in_flight, /*pinned=*/true);
  for (const topology::Core& core : topology.cores()) {
    for (const uint32_t cpu : core.cpus) {
      std::thread([&] {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
        EXPECT_EQ(nodes.Here().numa_node, core.numa_node) << "cpu " << cpu;
      }).join();
    }
  }
}

TEST(SessionNodesTest, ClosingWaitsForEveryLane) {
  for (const bool first_leaves_last : {false, true}) {
    InFlight in_flight;
    InFlight::Lane& first = in_flight.AddLane();
    InFlight::Lane& second = in_flight.AddLane();
    ASSERT_TRUE(first.TryEnter());
    ASSERT_TRUE(second.TryEnter());
    in_flight.Close();
    EXPECT_FALSE(first.TryEnter());
    EXPECT_FALSE(second.TryEnter());
    EXPECT_EQ(in_flight.count(), 2u);
    std::atomic<bool> returned = false;
    std::thread waiter([&] {
      in_flight.AwaitNone();
      returned.store(true);
    });
    (first_leaves_last ? second : first).Leave();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(returned.load());
    (first_leaves_last ? first : second).Leave();
    waiter.join();
    EXPECT_EQ(in_flight.count(), 0u);
  }
}

// The callbacks of one session come from one thread; those of another NumaNode's from another.
TEST(SessionNodesTest, CallbacksComeFromTheThreadOfTheSessionsNumaNode) {
  Options options;
  options.topology = "numa:2 core:1 pu:1";
  options.memory_limit_bytes = 64 << 20;
  absl::StatusOr<std::unique_ptr<EngineImpl>> engine =
      EngineImpl::Open(options, EngineImpl::Threads::kStart);
  ASSERT_TRUE(engine.ok()) << engine.status();
  ASSERT_TRUE((*engine)->Create("t", CreateOptions()).ok());
  std::map<uint32_t, std::set<std::thread::id>> threads;
  for (int round = 0; round < 20; ++round) {
    for (uint32_t node = 0; node < 2; ++node) {
      auto session = (*engine)->NewSession(NumaNodeId{node});
      ASSERT_TRUE(session.ok()) << session.status();
      const Object object = *(*session)->Open("t");
      const std::vector<uint64_t> keys = {uint64_t{node}, ~uint64_t{node}};
      std::atomic<bool> answered = false;
      std::thread::id ran_on;
      ASSERT_TRUE((*session)
                      ->UpsertAsync(object, keys, keys,
                                    [&](BatchResult result) {
                                      EXPECT_TRUE(result.status.ok()) << result.status;
                                      ran_on = std::this_thread::get_id();
                                      answered.store(true);
                                    })
                      .ok());
      while (!answered.load()) sched_yield();
      threads[node].insert(ran_on);
      EXPECT_EQ((*session)->numa_node(), NumaNodeId{node});
      // Also what is read by many AEUs.
      answered.store(false);
      ASSERT_TRUE((*session)
                      ->AggregateAsync(object, {},
                                       [&](absl::StatusOr<RangeAggregate> result) {
                                         EXPECT_TRUE(result.ok()) << result.status();
                                         ran_on = std::this_thread::get_id();
                                         answered.store(true);
                                       })
                      .ok());
      while (!answered.load()) sched_yield();
      threads[node].insert(ran_on);
    }
  }
  EXPECT_EQ(threads[0].size(), 1u);
  EXPECT_EQ(threads[1].size(), 1u);
  EXPECT_NE(threads[0], threads[1]);
  const auto none = (*engine)->NewSession(NumaNodeId{2});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(none.status().message(), "NumaNode 2 of 2: the machine's have the numbers 0 to 1");
  (*engine)->Close();
}

}  // namespace
}  // namespace eris::engine
