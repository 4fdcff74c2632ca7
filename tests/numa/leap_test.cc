// Memory that migrates to another NumaNode while a thread writes it, and where the kernel then says
// that its pages lie: for each method, and for the kernel's own balancing. Prints how many pages
// moved and how many were left behind; the emulated machine says nothing of times. Needs two
// NumaNodes with memory, and 32 reserved huge pages on each:
// ./dev numa --huge-pages 32,32 2x2.
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "eris/leap.h"
#include "tests/numa/page_locations.h"
#include "tests/numa/plugin/node_memory.h"

namespace eris::numa_lab {
namespace {

constexpr size_t kBytes = size_t{64} << 20;
constexpr size_t kWords = kBytes / sizeof(uint64_t);
constexpr size_t kHugePageBytes = size_t{2} << 20;
constexpr const char* kBalancing = "/proc/sys/kernel/numa_balancing";

std::string ReadWord(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

// 64 MiB whose pages lie on one NumaNode, but may be anywhere.
class RangeOn {
 public:
  RangeOn(uint32_t numa_node, leap::Pages pages) {
    wide_ = mmap(nullptr, kBytes + kHugePageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto first = reinterpret_cast<uintptr_t>(wide_) + kHugePageBytes - 1;
    void* const at = reinterpret_cast<void*>(first / kHugePageBytes * kHugePageBytes);
    words_ = static_cast<uint64_t*>(at);
    if (pages == leap::Pages::kReservedHuge) {
      EXPECT_EQ(mmap(at, kBytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_FIXED, -1, 0),
                at);
    } else {
      mprotect(at, kBytes, PROT_READ | PROT_WRITE);
      madvise(at, kBytes, pages == leap::Pages::kAnonymousHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    }
    const unsigned long mask = 1UL << numa_node;
    // The kernel wants one bit more than the mask has.
    syscall(SYS_mbind, at, kBytes, MPOL_BIND, &mask, 8 * sizeof mask + 1, 0);
    std::memset(at, 0, kBytes);
    syscall(SYS_mbind, at, kBytes, MPOL_DEFAULT, nullptr, 0, 0);
  }
  RangeOn(const RangeOn&) = delete;
  RangeOn& operator=(const RangeOn&) = delete;
  ~RangeOn() { munmap(wide_, kBytes + kHugePageBytes); }

  uint64_t* words() { return words_; }
  // The 4 KiB pages that lie there.
  size_t PagesOn(uint32_t numa_node) const {
    const auto begin = reinterpret_cast<uintptr_t>(words_);
    const std::vector<int> found = PageLocations(begin, begin + kBytes);
    return static_cast<size_t>(std::count(found.begin(), found.end(), static_cast<int>(numa_node)));
  }

 private:
  void* wide_;
  uint64_t* words_;
};

// Increments words at random. One thread.
class Increments {
 public:
  explicit Increments(uint64_t* words) : words_(words) {}
  void Write(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i, ++made_) {
      // volatile: each write goes to memory.
      volatile uint64_t& word = words_[Next()];
      word = word + 1;
    }
  }
  // The words that lack some.
  uint64_t CountLost() {
    random_ = 1;
    for (uint64_t i = 0; i < made_; ++i) --words_[Next()];
    return kWords - static_cast<uint64_t>(std::count(words_, words_ + kWords, 0));
  }
  uint64_t made() const { return made_; }

 private:
  size_t Next() {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    return (random_ >> 20) % kWords;
  }
  uint64_t* const words_;
  uint64_t random_ = 1;
  uint64_t made_ = 0;
};

class LeapTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<uint32_t> nodes = NumaNodesWithMemory();
    if (nodes.size() < 2) GTEST_SKIP() << "one NumaNode: nothing can move to another";
    from_ = nodes.front();
    to_ = nodes.back();
    balancing_ = ReadWord(kBalancing);
  }
  void TearDown() override { Balance(balancing_); }
  static void Balance(const std::string& how) { std::ofstream(kBalancing) << how; }
  static void Tell(const std::string& how, size_t moved, size_t left) {
    std::cout << "leap: " << how << ": " << moved << " pages moved, " << left << " left behind\n";
  }

  uint32_t from_ = 0;
  uint32_t to_ = 0;
  std::string balancing_;
};

class LeapMethodTest : public LeapTest,
                       public testing::WithParamInterface<std::tuple<leap::Method, leap::Pages>> {};

std::string PagesName(leap::Pages pages) {
  switch (pages) {
    case leap::Pages::kAnonymousHuge:
      return "huge";
    case leap::Pages::kReservedHuge:
      return "reserved huge";
    default:
      return "small";
  }
}

TEST_P(LeapMethodTest, PagesLieOnTheOtherNumaNode) {
  const auto [method, pages] = GetParam();
  Balance("0");  // else the kernel would move pages, too
  RangeOn range(from_, pages);
  ASSERT_EQ(range.PagesOn(from_), kBytes / kPageBytes);
  const auto pool = leap::Pool::Create({.os_numa_node = to_, .bytes = kBytes, .pages = pages});
  ASSERT_TRUE(pool.ok()) << pool.status();

  Increments increments(range.words());
  std::atomic<bool> end{false};
  std::thread writer;
  if (method != leap::Method::kOwner) {
    writer = std::thread([&] {
      while (!end.load(std::memory_order_relaxed)) {
        increments.Write(16);
        // Not all the time: threads outnumber the real cores.
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  const auto done =
      leap::Migrate({range.words(), kBytes}, **pool,
                    {.method = method, .area_bytes = kHugePageBytes}, [&](const auto&) {
                      if (method == leap::Method::kOwner) increments.Write(16);
                    });
  end.store(true, std::memory_order_relaxed);
  if (writer.joinable()) writer.join();
  ASSERT_TRUE(done.ok()) << done.status();

  const size_t moved = range.PagesOn(to_);
  const size_t left = kBytes / kPageBytes - moved;
  Tell(std::string(leap::MethodName(method)) + (done->how.empty() ? "" : " by " + done->how) +
           ", " + PagesName(pages) + " pages",
       moved, left);
  EXPECT_EQ(left, done->progress.left_bytes / kPageBytes);
  if (method != leap::Method::kKernel) {
    EXPECT_EQ(left, 0u) << done->ended;
  }
  EXPECT_GT(increments.made(), 0u);
  EXPECT_EQ(increments.CountLost(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Methods, LeapMethodTest,
    testing::Combine(testing::Values(leap::Method::kOwner, leap::Method::kHold,
                                     leap::Method::kRetry, leap::Method::kKernel),
                     testing::Values(leap::Pages::kAnonymous, leap::Pages::kAnonymousHuge,
                                     leap::Pages::kReservedHuge)),
    [](const auto& one) {
      std::string name = leap::MethodName(std::get<0>(one.param));
      name += "_" + PagesName(std::get<1>(one.param));
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

// How far the kernel comes by itself is its own affair: nothing of it is asserted.
TEST_F(LeapTest, TheKernelsBalancingLosesNoPage) {
  if (balancing_.empty()) GTEST_SKIP() << "this kernel has no automatic balancing";
  Balance("1");
  for (const bool huge : {false, true}) {
    RangeOn range(from_, huge ? leap::Pages::kAnonymousHuge : leap::Pages::kAnonymous);
    Increments increments(range.words());
    std::thread reader([&] {
      cpu_set_t cpus;
      CPU_ZERO(&cpus);
      // The first cpu of the list, e.g. 2 of "2-3".
      CPU_SET(
          std::stoul(ReadWord("/sys/devices/system/node/node" + std::to_string(to_) + "/cpulist")),
          &cpus);
      ASSERT_EQ(sched_setaffinity(0, sizeof cpus, &cpus), 0);
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(4);
      while (std::chrono::steady_clock::now() < end) {
        for (size_t at = 0; at < kWords; at += kPageBytes / sizeof(uint64_t)) {
          // volatile: the load is the point.
          [[maybe_unused]] const uint64_t word =
              *static_cast<const volatile uint64_t*>(range.words() + at);
        }
        increments.Write(16);
      }
    });
    reader.join();
    const size_t moved = range.PagesOn(to_);
    Tell(std::string("balancing for 4 s") + (huge ? ", huge pages" : ", small pages"), moved,
         range.PagesOn(from_));
    EXPECT_EQ(moved + range.PagesOn(from_), kBytes / kPageBytes);
    EXPECT_EQ(increments.CountLost(), 0u);
  }
}

}  // namespace
}  // namespace eris::numa_lab
