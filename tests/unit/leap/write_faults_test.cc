// The handler of SIGSEGV: what is not ours goes to the handler before.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "leap/faults.h"
#include "leap/held_area.h"
#include "tests/unit/leap/leap_fixture.h"

namespace eris::leap {
namespace {

sigjmp_buf back;
std::atomic<int> caught{0};

void JumpBack(int, siginfo_t*, void*) {
  ++caught;
  siglongjmp(back, 1);
}

void Store(std::byte* where) {
  // volatile: the store is the point.
  *static_cast<volatile std::byte*>(where) = std::byte{1};
}

// A handler before ours, which jumps out of the fault.
class FaultsTest : public ::testing::Test {
 protected:
  FaultsTest() {
    struct sigaction before;
    std::memset(&before, 0, sizeof before);
    before.sa_sigaction = JumpBack;
    before.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &before, nullptr);
    caught = 0;
    EXPECT_TRUE(InstallFaultHandler().ok());
  }
  ~FaultsTest() override {
    // Not the handler before: it jumps to where no test is any more.
    signal(SIGSEGV, SIG_DFL);
    EXPECT_TRUE(InstallFaultHandler().ok());
  }
  // Whether a store there is caught by the handler before.
  static bool GoesToTheOneBefore(std::byte* where) {
    const int before = caught;
    if (sigsetjmp(back, 1) == 0) Store(where);
    return caught != before;
  }
};

TEST_F(FaultsTest, OfMemoryThatIsNotHeldGoToTheHandlerBefore) {
  const TestMemory memory(4 * kPage);
  ASSERT_EQ(mprotect(memory.begin(), kPage, PROT_READ), 0);
  EXPECT_TRUE(GoesToTheOneBefore(memory.begin()));
  EXPECT_TRUE(GoesToTheOneBefore(nullptr));  // not mapped
  // Also after areas have been held.
  auto held = HeldArea::Protect(memory.begin() + kPage, kPage, Catch::kWait);
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(GoesToTheOneBefore(memory.begin()));
  held->Finish([] { return false; });
  EXPECT_TRUE(GoesToTheOneBefore(memory.begin()));
  EXPECT_FALSE(GoesToTheOneBefore(memory.begin() + kPage));
}

TEST_F(FaultsTest, OfAHeldAreaWaitUntilItIsLetGo) {
  const TestMemory memory(4 * kPage);
  auto held = HeldArea::Protect(memory.begin(), 4 * kPage, Catch::kWait);
  ASSERT_TRUE(held.ok());
  std::atomic<bool> written{false};
  std::thread writer([&] {
    Store(memory.begin() + 2 * kPage);
    written = true;
  });
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_FALSE(written.load());
  EXPECT_FALSE(held->Finish([] { return false; }));
  writer.join();
  EXPECT_EQ(memory.begin()[2 * kPage], std::byte{1});
  EXPECT_EQ(caught.load(), 0);
}

TEST_F(FaultsTest, OfANotedAreaGoOnAndMakeItDirty) {
  const TestMemory memory(4 * kPage);
  auto held = HeldArea::Protect(memory.begin(), 4 * kPage, Catch::kNote);
  ASSERT_TRUE(held.ok());
  Store(memory.begin());
  Store(memory.begin() + kPage);
  bool remapped = false;
  EXPECT_FALSE(held->Finish([&] { return remapped = true; }));
  EXPECT_FALSE(remapped);
  auto clean = HeldArea::Protect(memory.begin(), 4 * kPage, Catch::kNote);
  EXPECT_TRUE(clean->Finish([&] {
    remapped = mprotect(memory.begin(), 4 * kPage, PROT_READ | PROT_WRITE) == 0;
    return remapped;
  }));
  EXPECT_EQ(caught.load(), 0);
}

TEST_F(FaultsTest, SixtyFourAreasAreHeldAtATimeAndNoMore) {
  const TestMemory memory(65 * kPage);
  std::vector<HeldArea> held;
  for (size_t i = 0; i < 64; ++i) {
    auto one = HeldArea::Protect(memory.begin() + i * kPage, kPage, Catch::kWait);
    ASSERT_TRUE(one.ok()) << i;
    held.push_back(*std::move(one));
  }
  const auto more = HeldArea::Protect(memory.begin() + 64 * kPage, kPage, Catch::kWait);
  EXPECT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted);
  for (HeldArea& one : held) one.Finish([] { return false; });
  for (size_t i = 0; i < 65; ++i) EXPECT_FALSE(GoesToTheOneBefore(memory.begin() + i * kPage));
}

TEST_F(FaultsTest, HandlerInstalledOverOursIsTheOneBeforeAfterTheNextInstall) {
  struct sigaction over;
  std::memset(&over, 0, sizeof over);
  over.sa_sigaction = JumpBack;
  over.sa_flags = SA_SIGINFO | SA_NODEFER;
  ASSERT_EQ(sigaction(SIGSEGV, &over, nullptr), 0);
  ASSERT_TRUE(InstallFaultHandler().ok());
  const TestMemory memory(4 * kPage);
  ASSERT_EQ(mprotect(memory.begin(), kPage, PROT_READ), 0);
  EXPECT_TRUE(GoesToTheOneBefore(memory.begin()));
}

using FaultsDeathTest = FaultsTest;

TEST_F(FaultsDeathTest, WithoutAHandlerBeforeAForeignFaultEndsTheProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        if (!InstallFaultHandler().ok()) return;
        const TestMemory memory(kPage);
        mprotect(memory.begin(), kPage, PROT_READ);
        Store(memory.begin());
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace eris::leap
