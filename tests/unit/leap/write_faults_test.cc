// The handler of SIGSEGV: what is not ours goes to the handler before.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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
    static const bool first = [] {
      signal(SIGSEGV, SIG_DFL);
      return InstallFaultHandler().ok();
    }();
    EXPECT_TRUE(first);
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

#ifndef ERIS_TSAN  // which has such a thread of its own
TEST_F(FaultsTest, ThreadThatHasThemBlockedIsFound) {
  EXPECT_EQ(ThreadWithBlockedFaults(), 0U);
  std::atomic<int> step{0};
  std::thread thread([&] {
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &faults, nullptr);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  EXPECT_NE(ThreadWithBlockedFaults(), 0U);
  // A migration by mprotect is refused then.
  const TestMemory memory(4 * kPage);
  const auto pool = NewPool(4 * kPage);
  const auto done = Migrate(memory.range(), *pool, {.method = Method::kRetry});
  EXPECT_EQ(done.status().code(), absl::StatusCode::kFailedPrecondition) << done.status();
  const auto trusted =
      Migrate(memory.range(), *pool, {.method = Method::kRetry, .blocked_threads_write = false});
  EXPECT_TRUE(trusted.ok() && trusted->ended.ok());
  step = 2;
  thread.join();
}
#endif

TEST_F(FaultsTest, ChildOfAForkWritesWhatItsParentHolds) {
  const TestMemory memory(4 * kPage);
  for (const Catch how : {Catch::kWait, Catch::kNote}) {
    auto held = HeldArea::Protect(memory.begin(), 4 * kPage, how);
    ASSERT_TRUE(held.ok());
    const pid_t child = fork();
    if (child == 0) {
      Store(memory.begin() + kPage);
      _exit(7);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    held->Finish([] { return false; });
  }
}

TEST_F(FaultsTest, SignalsWaitWhileAThreadHoldsAnArea) {
  static std::atomic<int> ticks{0};
  ticks = 0;
  struct sigaction tick;
  std::memset(&tick, 0, sizeof tick);
  tick.sa_handler = [](int) { ++ticks; };
  sigaction(SIGUSR1, &tick, nullptr);
  {
    const SignalsBlocked blocked;
    raise(SIGUSR1);
    EXPECT_EQ(ticks.load(), 0);
  }
  EXPECT_EQ(ticks.load(), 1);
  signal(SIGUSR1, SIG_DFL);
}

// A crash handler that passes faults on to the one that it found, as some do: ours.
TEST_F(FaultsTest, HandlerOverOursThatPassesFaultsOnDoesNotGoRound) {
  static struct sigaction found;
  static std::atomic<int> passed{0};
  passed = 0;
  struct sigaction over;
  std::memset(&over, 0, sizeof over);
  over.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
    if (++passed < 10) found.sa_sigaction(signal, info, context);
  };
  over.sa_flags = SA_SIGINFO | SA_NODEFER;
  ASSERT_EQ(sigaction(SIGSEGV, &over, &found), 0);
  ASSERT_TRUE(InstallFaultHandler().ok());
  // The first handler of the process is the one that was there before any of these tests.
  // A sanitizer's ends with a code.
  EXPECT_EXIT(
      Store(nullptr), [](int status) { return status != 0; }, "");
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

TEST_F(FaultsDeathTest, SignalThatWasSentEndsTheProcessAsWithoutUs) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        if (InstallFaultHandler().ok()) raise(SIGSEGV);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

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
