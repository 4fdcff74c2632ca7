// AEUs on threads of their own that free each other's blocks: an owner that sleeps is woken for
// them, takes them in on its own thread, and gives back what has become whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "aeu/aeu_thread.h"
#include "base/mutex.h"
#include "tests/sim/aeu_peer.h"
#include "tests/support/aeu_lab.h"
#include "tests/support/seed.h"

namespace eris::aeu {
namespace {

constexpr uint32_t kSlot = 0;
constexpr ObjectId kObject{3};

// Long enough for any machine; reached only by what never happens.
bool Eventually(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// AEUs that each have a range of one object, until Start stepped by hand.
class Machine {
 public:
  explicit Machine(uint32_t aeus) : lab_(memory_, aeus) {
    std::vector<uint64_t> starts;
    std::vector<AeuId> owners;
    for (uint32_t i = 0; i < aeus; ++i) {
      starts.push_back(i * 1000);
      owners.push_back(AeuId{i});
    }
    lab_.Create(kSlot, kObject, starts, owners);
    lab_.Settle();
  }
  ~Machine() { Stop(); }

  void Start() {
    AeuThreadOptions options;
    options.spin_ns = 0;
    for (uint32_t i = 0; i < lab_.size(); ++i) {
      threads_.push_back(std::make_unique<AeuThread>(lab_[i], lab_.directory()[AeuId{i}], options));
    }
  }
  void Stop() { threads_.clear(); }

  test::AeuLab& lab() { return lab_; }
  Aeu& operator[](uint32_t aeu) { return lab_[aeu]; }
  memory::LocalCache& CacheOf(uint32_t aeu) {
    return AeuTestPeer::AnySlot(lab_[aeu], kSlot)->cache();
  }
  memory::MemoryManager& manager() { return CacheOf(0).manager(); }

 private:
  test::LabMemory memory_;
  test::AeuLab lab_;
  std::vector<std::unique_ptr<AeuThread>> threads_;
};

// Waits for its turn, awake; then works once.
class WhenTold : public IdleWork {
 public:
  explicit WhenTold(std::function<void()> work) : work_(std::move(work)) {}
  bool Run(uint64_t) override {
    if (done_ || !told_.load(std::memory_order_acquire)) return false;
    work_();
    return done_ = true;
  }
  bool HasWork() const override { return !done_; }  // so it is always awake
  void Tell() { told_.store(true, std::memory_order_release); }

 private:
  const std::function<void()> work_;
  bool done_ = false;
  std::atomic<bool> told_{false};
};

// Nothing else wakes the owner: a lost wake-up would leave its memory where it is.
TEST(ForeignFreeTest, AnOwnerThatSleepsIsWokenAndGivesItsMemoryBack) {
  constexpr size_t kBytes = 192;
  constexpr size_t kBlocks = 60'000;
  Machine machine(2);
  std::vector<void*> blocks;
  for (size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(machine.CacheOf(0).Allocate(kBytes));
    ASSERT_NE(blocks.back(), nullptr);
  }
  memory::LocalCache& freer = machine.CacheOf(1);
  WhenTold work([&] {
    for (void* block : blocks) freer.Free(block, kBytes);
    freer.EndTurn();
  });
  machine[1].SetIdleWork(&work);
  machine.Start();
  ASSERT_TRUE(Eventually([&] { return machine[0].counters().parks.Read() > 0; }));
  const uint64_t parks = machine[0].counters().parks.Read();
  work.Tell();
  EXPECT_TRUE(Eventually([&] { return machine.manager().reserved_bytes() == 0; }))
      << machine.manager().reserved_bytes() << " bytes are held";
  EXPECT_TRUE(Eventually([&] { return machine[0].counters().parks.Read() > parks; }));
  machine.Stop();
  machine[1].SetIdleWork(nullptr);
  machine.lab().Settle();
  EXPECT_TRUE(machine.lab().at_rest());
  EXPECT_EQ(machine.manager().Account().used_bytes, 0u);
}

// Frees one block whenever it is handed one.
class OneByOne : public IdleWork {
 public:
  OneByOne(memory::LocalCache& cache, size_t bytes, int rounds)
      : cache_(cache), bytes_(bytes), left_(rounds) {}
  bool Run(uint64_t) override {
    if (void* block = handed_.exchange(nullptr, std::memory_order_acquire)) {
      cache_.Free(block, bytes_);
      cache_.EndTurn();
      --left_;
      return true;
    }
    return false;
  }
  bool HasWork() const override { return left_ > 0; }
  void Hand(void* block) { handed_.store(block, std::memory_order_release); }

 private:
  memory::LocalCache& cache_;
  const size_t bytes_;
  int left_;
  std::atomic<void*> handed_{nullptr};
};

// A turn of the owner that finds something can only be the one that takes the block in.
TEST(ForeignFreeTest, ASingleBlockWakesItsOwnerEveryTime) {
  constexpr size_t kBytes = 64;
  constexpr int kRounds = 100;
  Machine machine(2);
  OneByOne freer(machine.CacheOf(1), kBytes, kRounds);
  machine[1].SetIdleWork(&freer);
  std::vector<void*> blocks;
  for (int i = 0; i < kRounds; ++i) blocks.push_back(machine.CacheOf(0).Allocate(kBytes));
  machine.Start();
  ASSERT_TRUE(Eventually([&] { return machine[0].counters().parks.Read() > 0; }));
  for (void* block : blocks) {
    const uint64_t turns = machine[0].counters().turns.Read();
    freer.Hand(block);
    ASSERT_TRUE(Eventually([&] { return machine[0].counters().turns.Read() > turns; }));
  }
  machine.Stop();
  machine[1].SetIdleWork(nullptr);
  machine.lab().Settle();
  EXPECT_FALSE(machine.CacheOf(0).Collect()) << "a block was left in the bin";
  EXPECT_EQ(machine.manager().Account().used_bytes, 0u);
}

struct Handed {
  std::byte* memory;
  size_t bytes;
  std::byte pattern;
};

// Blocks that anybody may free.
class Market {
 public:
  void Put(std::vector<Handed>& blocks) {
    base::MutexLock lock(&mu_);
    blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
    blocks.clear();
  }
  void Take(size_t most, std::vector<Handed>& blocks) {
    base::MutexLock lock(&mu_);
    for (; most > 0 && !blocks_.empty(); --most) {
      blocks.push_back(blocks_.back());
      blocks_.pop_back();
    }
  }

 private:
  base::Mutex mu_;
  std::vector<Handed> blocks_ ABSL_GUARDED_BY(mu_);
};

// Allocates for the market and frees what it gets there, whoever's it is.
class Trader : public IdleWork {
 public:
  Trader(memory::LocalCache& cache, Market& market, uint64_t seed, int rounds)
      : cache_(cache), market_(market), random_(seed), rounds_(rounds) {}

  bool Run(uint64_t) override {
    if (round_ == rounds_) return false;
    ++round_;
    // TreeNodes' sizes, and a few large ones; phases in which little is freed, and much.
    static constexpr std::array<size_t, 7> kSizes{16, 16, 64, 192, 704, 2112, 20'000};
    for (uint64_t n = random_() % 200; n > 0; --n) {
      const size_t bytes = kSizes[random_() % kSizes.size()];
      auto* memory = static_cast<std::byte*>(cache_.Allocate(bytes));
      if (memory == nullptr) {
        ++refused;
        break;
      }
      const auto pattern = static_cast<std::byte>(random_());
      std::memset(memory, static_cast<int>(pattern), bytes);
      made_.push_back({memory, bytes, pattern});
    }
    market_.Put(made_);
    std::vector<Handed> taken;
    market_.Take(random_() % (round_ / 16 % 2 == 0 ? 100 : 400), taken);
    for (const Handed& block : taken) Free(block);
    cache_.EndTurn();
    if (round_ == rounds_) ended.store(true, std::memory_order_release);
    return true;
  }
  bool HasWork() const override { return round_ < rounds_; }
  void Free(const Handed& block) {
    const std::byte* const end = block.memory + block.bytes;
    if (std::any_of(block.memory, const_cast<std::byte*>(end),
                    [&](std::byte one) { return one != block.pattern; })) {
      ++broken;
    }
    cache_.Free(block.memory, block.bytes);
  }

  std::atomic<bool> ended{false};
  // Read when the threads have stopped.
  uint64_t refused = 0;
  uint64_t broken = 0;

 private:
  memory::LocalCache& cache_;
  Market& market_;
  std::mt19937_64 random_;
  const int rounds_;
  int round_ = 0;
  std::vector<Handed> made_;
};

TEST(ForeignFreeTest, AEUsThatFreeEachOthersBlocksLoseNone) {
  constexpr uint32_t kAeus = 4;
  SCOPED_TRACE(test::SeedText(test::Seed()));
  Machine machine(kAeus);
  Market market;
  std::vector<std::unique_ptr<Trader>> traders;
  for (uint32_t i = 0; i < kAeus; ++i) {
    traders.push_back(
        std::make_unique<Trader>(machine.CacheOf(i), market, test::Seed() + i, /*rounds=*/400));
    machine[i].SetIdleWork(traders.back().get());
  }
  machine.Start();
  // Whoever sleeps before its first turn has been asked for nothing.
  EXPECT_TRUE(Eventually([&] {
    return std::all_of(traders.begin(), traders.end(), [](const auto& trader) {
      return trader->ended.load(std::memory_order_acquire);
    });
  }));
  machine.Stop();
  for (uint32_t i = 0; i < kAeus; ++i) machine[i].SetIdleWork(nullptr);
  // The rest, by hand: everything to the first one.
  std::vector<Handed> left;
  market.Take(~size_t{0}, left);
  for (const Handed& block : left) traders[0]->Free(block);
  machine.CacheOf(0).EndTurn();
  machine.lab().Settle();
  for (uint32_t i = 0; i < kAeus; ++i) {
    EXPECT_EQ(traders[i]->broken, 0u) << "AEU " << i;
    EXPECT_EQ(traders[i]->refused, 0u) << "AEU " << i;
    EXPECT_FALSE(machine.CacheOf(i).Collect()) << "AEU " << i;
    machine.CacheOf(i).Trim();
  }
  const memory::ObjectAccount account = machine.manager().Account();
  EXPECT_EQ(account.used_bytes, 0u);
  EXPECT_EQ(account.cached_bytes, 0u);
  EXPECT_EQ(machine.manager().reserved_bytes(), 0u);
}

}  // namespace
}  // namespace eris::aeu
