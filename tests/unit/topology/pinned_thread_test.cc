#include "topology/pinned_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "tests/support/sanitized.h"

namespace eris::topology {
namespace {

using ::testing::HasSubstr;

TEST(PinnedThreadTest, RunsOnItsCpuAlone) {
  absl::StatusOr<Topology> topology = Topology::Discover();
  ASSERT_TRUE(topology.ok()) << topology.status();
  for (const uint32_t cpu : topology->allowed_cpus()) {
    int now = -1, cpus = 0;
    PinnedThread thread("pinned", {&cpu, 1}, topology->numa_nodes()[0], [&] {
      cpu_set_t set;
      now = sched_getcpu();
      if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = CPU_COUNT(&set);
    });
    thread.Join();
    if (absl::IsPermissionDenied(thread.binding_status())) {
      GTEST_SKIP() << thread.binding_status();
    }
    ASSERT_TRUE(thread.binding_status().ok()) << thread.binding_status();
    EXPECT_EQ(now, static_cast<int>(cpu));
    EXPECT_EQ(cpus, 1);
  }
}

TEST(PinnedThreadTest, AnImpossibleCpuIsAStatusThatNamesItAndTheBodyRuns) {
  for (const uint32_t cpu : {60000u, 1u << 20}) {
    bool ran = false;
    PinnedThread thread("pinned", {&cpu, 1}, std::nullopt, [&] { ran = true; });
    thread.Join();
    EXPECT_TRUE(ran);
    EXPECT_FALSE(thread.binding_status().ok());
    EXPECT_THAT(std::string(thread.binding_status().message()), HasSubstr(std::to_string(cpu)));
  }
}

TEST(PinnedThreadTest, WithoutACpuItRunsAnywhere) {
  bool ran = false;
  {
    PinnedThread thread("anywhere", {}, std::nullopt, [&] { ran = true; });
    EXPECT_TRUE(thread.binding_status().ok());
  }
  EXPECT_TRUE(ran);
}

TEST(PinnedThreadTest, RunsOnAnyOfSeveralCpus) {
  absl::StatusOr<Topology> topology = Topology::Discover();
  ASSERT_TRUE(topology.ok()) << topology.status();
  const std::vector<uint32_t>& cpus = topology->allowed_cpus();
  std::vector<uint32_t> allowed;
  // The thread would inherit its creator's cpu alone.
  PinnedThread creator("creator", {cpus.data(), 1}, std::nullopt, [&] {
    PinnedThread thread("several", cpus, std::nullopt, [&] {
      cpu_set_t set;
      ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
      for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) allowed.push_back(cpu);
      }
    });
    thread.Join();
  });
  creator.Join();
  if (absl::IsPermissionDenied(creator.binding_status())) GTEST_SKIP() << creator.binding_status();
  EXPECT_EQ(allowed, cpus);
}

// Does not return: tells by the exit code whether the thread's constructor has said why.
[[noreturn]] void BeginWithoutMemory() {
  rlimit none{};
  none.rlim_cur = none.rlim_max = 1 << 20;
  setrlimit(RLIMIT_AS, &none);
  try {
    PinnedThread thread("none", {}, std::nullopt, [] {});
  } catch (const std::system_error& error) {
    _exit(std::strstr(error.what(), "starts no thread (none)") != nullptr ? 7 : 1);
  }
  _exit(2);
}

// In a process of its own, which gets no more memory.
TEST(PinnedThreadTest, WithoutMemoryForAStackItThrows) {
  if (test::kSanitized) return;  // a sanitizer needs memory of its own
  EXPECT_EXIT(BeginWithoutMemory(), testing::ExitedWithCode(7), "");
}

TEST(PinnedThreadTest, HasItsNameOrTheBeginningOfIt) {
  for (const std::string name : {"short", "a name of more than 15 characters"}) {
    std::atomic<bool> named = false;
    char seen[32] = {};
    PinnedThread thread(name, {}, std::nullopt, [&] {
      while (!named.load()) sched_yield();
      pthread_getname_np(pthread_self(), seen, sizeof seen);
    });
    named.store(true);  // its constructor gives the name
    thread.Join();
    EXPECT_EQ(seen, name.substr(0, 15));
  }
}

// Recursion that the compiler cannot take out.
int Deep(int levels) {
  std::array<volatile char, 4096> frame;
  frame[static_cast<size_t>(levels) % frame.size()] = 1;
  return levels == 0 ? 0 : Deep(levels - 1) + frame[static_cast<size_t>(levels) % frame.size()];
}

TEST(PinnedThreadTest, HasAStackForDeepCalls) {
  int depth = 0;
  PinnedThread("deep", {}, std::nullopt, [&] { depth = Deep(500); }).Join();
  EXPECT_EQ(depth, 500);
}

}  // namespace
}  // namespace eris::topology
