// Versions come and go under their readers. Tables here poison their memory when they are freed and
// give it back only at the end, so that a reader of a freed one sees it. The interleavings: before
// each atomic access other readers and the publisher may run whole calls, chosen by a seed; all in
// one thread. (tests/explore/ runs the same code with every interleaving of single accesses.)
#include "routing/ranges/published_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/seed.h"

namespace eris::routing {
namespace {

class PoisonedTable {
 public:
  explicit PoisonedTable(uint64_t version) : version_(version), again_(~version) { ++alive_; }
  ~PoisonedTable() { --alive_; }
  PoisonedTable(const PoisonedTable&) = delete;
  PoisonedTable& operator=(const PoisonedTable&) = delete;

  uint64_t version() const { return version_; }
  bool Whole() const { return version_ == ~again_; }
  static int alive() { return alive_; }

  static void* operator new(size_t bytes) {
    void* memory = ::operator new(bytes);
    const std::lock_guard lock(mu_);
    memory_.emplace_back(memory);
    return memory;
  }
  [[gnu::noinline]] static void operator delete(void* memory, size_t bytes) {
    std::memset(memory, 0xDD, bytes);
    asm volatile("" : : "r"(memory) : "memory");  // the poison is not a dead store
  }

 private:
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory); }
  };

  uint64_t version_;
  uint64_t again_;
  static inline std::atomic<int> alive_{0};
  static inline std::mutex mu_;
  static inline std::vector<std::unique_ptr<void, Free>> memory_;
};

std::unique_ptr<const PoisonedTable> PoisonedVersion(uint64_t version) {
  return std::make_unique<PoisonedTable>(version);
}

TEST(PublishedTableTest, ASupersededVersionThatNobodyReadsIsFreedAtOnce) {
  const int before = PoisonedTable::alive();
  {
    PublishedTable<PoisonedTable> tables(PoisonedVersion(1));
    TableReaders readers;
    TableReader reader;
    readers.Add(&reader);
    EXPECT_EQ(reader.Acquire(tables).version(), 1u);
    reader.Release();
    tables.Publish(PoisonedVersion(2), readers);
    EXPECT_EQ(PoisonedTable::alive(), before + 1);
    EXPECT_EQ(tables.versions(), 1u);
    readers.Remove(&reader);
  }
  EXPECT_EQ(PoisonedTable::alive(), before);
}

TEST(PublishedTableTest, AVersionThatAReaderShowsGoesWithTheFirstPublicationAfterItsRelease) {
  PublishedTable<PoisonedTable> tables(PoisonedVersion(1));
  TableReaders readers;
  TableReader reader;
  readers.Add(&reader);
  const PoisonedTable& first = reader.Acquire(tables);
  for (uint64_t version = 2; version < 10; ++version)
    tables.Publish(PoisonedVersion(version), readers);
  EXPECT_EQ(tables.versions(), 2u);  // the first and the last
  EXPECT_TRUE(first.Whole());
  reader.Release();
  tables.Publish(PoisonedVersion(10), readers);
  EXPECT_EQ(tables.versions(), 1u);
  readers.Remove(&reader);
}

TEST(PublishedTableTest, ALaterAcquireLetsTheVersionBeforeGo) {
  PublishedTable<PoisonedTable> tables(PoisonedVersion(1));
  PublishedTable<PoisonedTable> others(PoisonedVersion(7));
  TableReaders readers;
  TableReader reader;
  readers.Add(&reader);
  reader.Acquire(tables);
  EXPECT_EQ(reader.Acquire(others).version(), 7u);
  tables.Publish(PoisonedVersion(2), readers);
  EXPECT_EQ(tables.versions(), 1u);
  others.Publish(PoisonedVersion(8), readers);
  EXPECT_EQ(others.versions(), 2u);
  EXPECT_EQ(reader.Acquire(others).version(), 8u);
  reader.Release();
  readers.Remove(&reader);
}

TEST(PublishedTableTest, APinnedVersionLivesUntilItsLastPinHasGoneAndLongerThanItsPublisher) {
  const int before = PoisonedTable::alive();
  const TableReaders readers;
  auto tables = std::make_unique<PublishedTable<PoisonedTable>>(PoisonedVersion(1));
  std::shared_ptr<const PoisonedTable> pin = tables->Pin();
  std::shared_ptr<const PoisonedTable> copy = pin;
  tables->Publish(PoisonedVersion(2), readers);
  EXPECT_EQ(PoisonedTable::alive(), before + 2);
  EXPECT_EQ(tables->Pin()->version(), 2u);
  tables.reset();
  pin.reset();
  EXPECT_TRUE(copy->Whole());
  EXPECT_EQ(copy->version(), 1u);
  EXPECT_EQ(PoisonedTable::alive(), before + 1);
  copy.reset();
  EXPECT_EQ(PoisonedTable::alive(), before);
}

TEST(TableReadersDeathTest, AReaderThatWasNeverAddedAndOneThatIsNeverRemovedAreRefused) {
  TableReader reader;
  TableReaders readers;
  EXPECT_DEATH(readers.Remove(&reader), "check failed");
  EXPECT_DEATH(
      {
        TableReaders left;
        left.Add(&reader);
      },
      "check failed");
}

// --- Interleavings ---

// What a processor could do if the accesses were not seq_cst.
enum class Plant {
  kNone,
  kReloadIsStale,      // Acquire's second load is answered before its store is seen
  kPublicationIsLate,  // the slots are looked at before the new version is seen
};

using Current = const PoisonedTable*;

// What an access has to know of the call that it stands in.
struct Call {
  Current first_load = nullptr;
  std::function<void()> late;
};

struct Interleaver {
  Plant plant = Plant::kNone;
  std::function<void()> before_access;
  Call* call = nullptr;
} interleaver;

struct InterleavedMemory {
  template <class T>
  class Atomic {
   public:
    explicit Atomic(T value) : value_(value) {}
    T load(std::memory_order) const {
      interleaver.before_access();
      if constexpr (std::is_same_v<T, Current>) {
        Call& call = *interleaver.call;
        if (call.first_load == nullptr) call.first_load = value_;
        if (interleaver.plant == Plant::kReloadIsStale) return call.first_load;
      }
      return value_;
    }
    void store(T value, std::memory_order) {
      interleaver.before_access();
      if constexpr (std::is_same_v<T, Current>) {
        if (interleaver.plant == Plant::kPublicationIsLate) {
          interleaver.call->late = [this, value] { value_ = value; };
          return;
        }
      }
      value_ = value;
    }

   private:
    T value_;
  };
};

// True: every reader saw whole tables all the time, and versions that do not fall.
bool RunInterleaving(uint64_t seed, Plant plant) {
  constexpr size_t kReaders = 3;
  constexpr int kDepthMax = 4;
  struct Reading {
    BasicTableReader<InterleavedMemory> reader;
    const PoisonedTable* table = nullptr;
    uint64_t seen = 0;
    bool busy = false;
  };
  std::mt19937_64 random(seed);
  BasicTableReaders<InterleavedMemory> readers;
  std::array<Reading, kReaders> all;
  for (Reading& one : all) readers.Add(&one.reader);
  uint64_t version = 1;
  bool publishing = false;
  bool good = true;
  int depth = 0;
  // Outside the calls, the harness looks as well.
  const auto check = [&] {
    for (Reading& one : all) {
      if (one.table == nullptr) continue;
      good &= one.table->Whole() && one.table->version() >= one.seen;
      if (good) one.seen = one.table->version();
    }
  };
  BasicPublishedTable<PoisonedTable, InterleavedMemory> tables(PoisonedVersion(version));
  const auto act = [&] {
    Call call;
    Call* const outer = std::exchange(interleaver.call, &call);
    ++depth;
    const size_t who = random() % (kReaders + 1);
    if (who == kReaders) {
      if (!publishing) {
        publishing = true;
        tables.Publish(PoisonedVersion(++version), readers);
        if (call.late) call.late();
        publishing = false;
        good &= tables.versions() <= 1 + kReaders;
      }
    } else if (Reading& one = all[who]; !one.busy) {
      one.busy = true;
      one.table = nullptr;  // from the call on, the one before may go
      if (random() % 3 == 0) {
        one.reader.Release();
      } else {
        one.table = &one.reader.Acquire(tables);
      }
      one.busy = false;
    }
    check();
    --depth;
    interleaver.call = outer;
  };
  interleaver.plant = plant;
  interleaver.before_access = [&] {
    if (depth < kDepthMax && random() % 3 == 0) act();
  };
  for (int i = 0; i < 60 && good; ++i) act();
  interleaver.before_access = [] {};
  for (Reading& one : all) readers.Remove(&one.reader);
  return good;
}

int Failures(Plant plant) {
  int failures = 0;
  for (uint64_t i = 0; i < 2'000; ++i) failures += !RunInterleaving(test::Seed() + i, plant);
  return failures;
}

TEST(PublishedTableTest, NoInterleavingShowsAFreedVersionOrAnOlderOne) {
  for (uint64_t i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(RunInterleaving(test::Seed() + i, Plant::kNone))
        << test::SeedText(test::Seed() + i);
  }
}

TEST(PublishedTableTest, AReloadThatIsAnsweredTooEarlyIsFound) {
  EXPECT_GT(Failures(Plant::kReloadIsStale), 0);
}

TEST(PublishedTableTest, ALookAtTheSlotsThatComesTooEarlyIsFound) {
  EXPECT_GT(Failures(Plant::kPublicationIsLate), 0);
}

// --- Real threads, for the thread sanitizer as well ---

TEST(PublishedTableTest, ReadersNeverSeeAFreedVersionWhileThousandsArePublished) {
  constexpr uint64_t kVersions = 5'000;
  constexpr size_t kReaders = 3;
  const int before = PoisonedTable::alive();
  {
    PublishedTable<PoisonedTable> tables(PoisonedVersion(1));
    TableReaders readers;
    std::atomic<int> wrong{0};
    std::latch start(kReaders + 2);  // and the one with pins, and the publisher
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kReaders; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        while (true) {
          // Readers come and go as sessions do.
          TableReader reader;
          readers.Add(&reader);
          uint64_t seen = 0;
          for (int round = 0; round < 500 && seen < kVersions; ++round) {
            const PoisonedTable& table = reader.Acquire(tables);
            if (!table.Whole() || table.version() < seen) wrong.fetch_add(1);
            seen = table.version();
            if (round % 64 == 0) std::this_thread::yield();
            if (!table.Whole() || table.version() != seen) wrong.fetch_add(1);
            if ((static_cast<size_t>(round) + i) % 4 != 0) reader.Release();
          }
          reader.Release();
          readers.Remove(&reader);
          if (seen >= kVersions) return;
        }
      });
    }
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (uint64_t seen = 0; seen < kVersions;) {
        const std::shared_ptr<const PoisonedTable> pin = tables.Pin();
        std::this_thread::yield();
        if (!pin->Whole() || pin->version() < seen) wrong.fetch_add(1);
        seen = pin->version();
      }
    });
    int alive_max = 0;
    start.arrive_and_wait();
    for (uint64_t version = 2; version <= kVersions; ++version) {
      tables.Publish(PoisonedVersion(version), readers);
      alive_max = std::max(alive_max, PoisonedTable::alive() - before);
      if (version % 4 == 0) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0);
    // The one in force, one per reader, one per pin (an old and a new one while it changes hands).
    EXPECT_LE(alive_max, static_cast<int>(1 + kReaders + 2));
  }
  EXPECT_EQ(PoisonedTable::alive(), before);
}

}  // namespace
}  // namespace eris::routing
