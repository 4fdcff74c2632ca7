// Memory that is write-protected while it leaps: a planted writer is found and named.
#include "memory/system/write_guard.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace eris::memory {
namespace {

constexpr size_t kBytes = 64 << 10;

class WriteGuardTest : public testing::Test {
 protected:
  WriteGuardTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    memory_ = static_cast<volatile char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~WriteGuardTest() override { munmap(At(0), kBytes); }
  void* At(size_t byte) { return const_cast<char*>(memory_) + byte; }
  void WriteInAThread(size_t byte) {
    std::thread writer([&] {
      pthread_setname_np(pthread_self(), "the-writer");
      memory_[byte] = 1;
    });
    writer.join();
  }

  volatile char* memory_;
};

TEST_F(WriteGuardTest, AWriterIsNamed) {
  EXPECT_DEATH(
      {
        WriteGuard::TurnOn();
        const WriteGuard guard(At(0), kBytes);
        WriteInAThread(4321);
      },
      "thread the-writer wrote to 0x[0-9a-f]+, byte 4321 of memory that was leaping");
}

TEST_F(WriteGuardTest, ReadersAndWritersOfOtherMemoryGoOn) {
  WriteGuard::TurnOn();
  memory_[5] = 7;
  {
    const WriteGuard guard(At(0), kBytes / 2);
    EXPECT_EQ(memory_[5], 7);
    WriteInAThread(kBytes / 2);
  }
  WriteInAThread(5);
  EXPECT_EQ(memory_[5], 1);
}

TEST_F(WriteGuardTest, AFaultElsewhereIsWhatItWasBefore) {
  EXPECT_EXIT(
      {
        WriteGuard::TurnOn();
        const WriteGuard guard(At(0), kBytes / 2);
        mprotect(At(kBytes / 2), kBytes / 2, PROT_READ);
        WriteInAThread(kBytes / 2);
      },
      [](int status) { return status != 0; }, "");
}

TEST_F(WriteGuardTest, MoreThanThereArePlacesGuardNothing) {
  WriteGuard::TurnOn();
  std::vector<std::unique_ptr<WriteGuard>> guards;
  for (size_t i = 0; i < WriteGuard::kPlaces; ++i) {
    guards.push_back(std::make_unique<WriteGuard>(At(0), kBytes / 2));
  }
  {
    const WriteGuard none(At(kBytes / 2), kBytes / 2);
    WriteInAThread(kBytes - 1);
  }
  guards.clear();
  WriteInAThread(0);
}

}  // namespace
}  // namespace eris::memory
