// Superblocks change hands and move while the threads of all who have a part in them go on working.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "memory/system/write_guard.h"
#include "tests/unit/memory/superblock_claim_lab.h"

namespace eris::memory {
namespace {

using Brought = LocalCache::Brought;

class ClaimMailbox {
 public:
  // Those of the one that looks into it.
  std::atomic<uint64_t> turns{0};

  void Put(const ClaimBlocks& blocks) {
    base::MutexLock lock(&mu_);
    blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
  }
  ClaimBlocks Take() {
    base::MutexLock lock(&mu_);
    return std::exchange(blocks_, {});
  }

 private:
  base::Mutex mu_;
  ClaimBlocks blocks_ ABSL_GUARDED_BY(mu_);
};

class SuperblockThreadsTest : public ClaimLab {
 protected:
  SuperblockThreadsTest() { WriteGuard::TurnOn(); }

  static int Turns(int turns) {
#if defined(ERIS_TSAN) || defined(ERIS_ASAN)
    return turns / 4;
#else
    return turns;
#endif
  }
};

// An AEU's part: it writes to its own blocks alone, and gives some of them away as a leap does.
class ClaimingWorker {
 public:
  ClaimingWorker(LocalCache& cache, ClaimMailbox& in, std::vector<ClaimMailbox*> out, uint64_t seed)
      : cache_(cache), in_(in), out_(std::move(out)), random_(seed) {}

  void Turn() {
    in_.turns.fetch_add(1);
    const ClaimBlocks got = in_.Take();
    mine_.insert(mine_.end(), got.begin(), got.end());
    if (given_to_ != nullptr && given_to_->turns.load() < quiet_until_) {
      std::this_thread::yield();
    } else {
      for (int i = 0; i < 100; ++i) Add();
    }
    for (size_t i = mine_.size() / 32; i > 0; --i) FreeOne();
    for (int i = 0; i < 20 && !mine_.empty(); ++i) {
      ClaimBlock& block = mine_[random_() % mine_.size()];
      block.salt = random_();
      block.Fill();
    }
    if (mine_.size() > 1000 && random_() % 16 == 0) GiveAway();
    // A census takes two turns, between which blocks come and go.
    if (census_.has_value()) {
      NoteFirst(mine_.size());
      claims += cache_.Claim(std::move(*census_));
      census_.reset();
    } else if (!got.empty() || random_() % 8 == 0) {
      census_.emplace(cache_);
      NoteFirst(mine_.size() / 2);
    }
    if (random_() % 4 != 0) cache_.EndTurn();
    if (random_() % 4 != 0) cache_.Collect();
    if (random_() % 32 == 0) cache_.Trim();
    for (uint64_t bytes = 0; cache_.HasToBring() && random_() % 4 != 0;) {
      brought += cache_.BringSuperblock(random_() % 2 == 0, bytes) == Brought::kYes;
    }
  }
  void Rest() {
    in_.turns.fetch_add(1);
    cache_.EndTurn();
    cache_.Collect();
  }
  ClaimBlocks& mine() { return mine_; }

  uint64_t broken = 0, claims = 0, brought = 0;

 private:
  void Add() {
    static constexpr size_t kBlockSizes[] = {16, 64, 704, 2112, 9008};
    const size_t bytes = kBlockSizes[random_() % std::size(kBlockSizes)];
    const ClaimBlock block{static_cast<std::byte*>(cache_.Allocate(bytes)), bytes, random_()};
    if (block.memory == nullptr) return;
    block.Fill();
    mine_.push_back(block);
  }
  void FreeOne() {
    std::swap(mine_[random_() % mine_.size()], mine_.back());
    broken += !mine_.back().Holds();
    cache_.Free(mine_.back().memory, mine_.back().bytes);
    mine_.pop_back();
  }
  // All that it has of some superblocks: what is left of these is another one's.
  void GiveAway() {
    const bool all = random_() % 2 == 0;
    const uint64_t salt = random_();
    ClaimBlocks given;
    std::erase_if(mine_, [&](const ClaimBlock& block) {
      const void* const base = cache_.layout().Base(block.memory);
      const bool gives =
          all || ((reinterpret_cast<uintptr_t>(base) >> 21 ^ salt) * 0x9e3779b97f4a7c15 >> 63) != 0;
      if (gives) given.push_back(block);
      return gives;
    });
    cache_.GaveBlocksAway();
    given_to_ = out_[random_() % out_.size()];
    given_to_->Put(given);
    quiet_until_ = given_to_->turns.load() + random_() % 16;
  }
  void NoteFirst(size_t count) {
    for (size_t i = 0; i < count; ++i) census_->Note(mine_[i].memory, mine_[i].bytes);
  }

  LocalCache& cache_;
  ClaimMailbox& in_;
  const std::vector<ClaimMailbox*> out_;
  std::mt19937_64 random_;
  ClaimBlocks mine_;
  // Until that one has had so many turns it allocates nothing: what it has given stays whole.
  ClaimMailbox* given_to_ = nullptr;
  uint64_t quiet_until_ = 0;
  std::optional<SuperblockCensus> census_;
};

// Two NumaNodes, or more of them than there are cores.
class WorkersTest : public SuperblockThreadsTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(WorkersTest, BlocksThatAreWrittenWhileTheirSuperblocksMoveKeepTheirContents) {
  uint64_t claims = 0, brought = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Open(GetParam(), {.kept_bytes_max = seed % 2 == 0 ? 0 : 8 * kSuperblockBytes});
    std::vector<ClaimMailbox> mailboxes(nodes_.size());
    std::vector<std::unique_ptr<ClaimingWorker>> workers;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      std::vector<ClaimMailbox*> others;
      for (size_t j = 0; j < nodes_.size(); ++j) {
        if (j != i) others.push_back(&mailboxes[j]);
      }
      workers.push_back(std::make_unique<ClaimingWorker>(*nodes_[i].cache, mailboxes[i],
                                                         std::move(others), 10 * seed + i));
    }
    std::vector<std::thread> threads;
    std::atomic<size_t> working{nodes_.size()};
    for (const std::unique_ptr<ClaimingWorker>& worker : workers) {
      threads.emplace_back([&working, &worker = *worker] {
        for (int turn = 0; turn < Turns(1200); ++turn) worker.Turn();
        // The others' claims are answered to the end.
        for (working.fetch_sub(1); working.load() > 0; std::this_thread::yield()) worker.Rest();
      });
    }
    for (std::thread& thread : threads) thread.join();
    Settle();
    ClaimBlocks left;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      EXPECT_EQ(workers[i]->broken, 0u);
      claims += workers[i]->claims;
      brought += workers[i]->brought;
      for (const ClaimBlocks& blocks : {workers[i]->mine(), mailboxes[i].Take()}) {
        left.insert(left.end(), blocks.begin(), blocks.end());
      }
    }
    EXPECT_EQ(Broken(left), 0u);
    ExpectExact(left);
    FreeAll(*nodes_[seed % nodes_.size()].cache, left);
    ExpectNothingLeft();
  }
  EXPECT_GT(claims, 0u);
  EXPECT_GT(brought, 0u);
}

INSTANTIATE_TEST_SUITE_P(NumaNodes, WorkersTest, testing::Values(2, 3));

// As an AEU does it: it looks again when its bin is filled, and as long as there is more.
class CollectingListener final : public RecollectionListener {
 public:
  void BinFilled() override { filled_.store(true); }
  void Collect(LocalCache& cache) {
    while (filled_.exchange(false) || again_) again_ = cache.Collect() && cache.CollectsMore();
  }

 private:
  std::atomic<bool> filled_{false};
  bool again_ = false;
};

// Stops the first thread that comes to a page, until it may go on.
class StopAt {
 public:
  explicit StopAt(const void* inside) {
    page_ = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(inside) & ~uintptr_t{kPage - 1});
    reached_.store(false);
    goes_on_.store(false);
    struct sigaction action = {};
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
      if (at - reinterpret_cast<uintptr_t>(page_) >= kPage) {
        signal(SIGSEGV, SIG_DFL);
        return;
      }
      for (reached_.store(true); !goes_on_.load();) sched_yield();
      mprotect(page_, kPage, PROT_READ | PROT_WRITE);
    };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
    EXPECT_EQ(mprotect(page_, kPage, PROT_NONE), 0);
  }
  ~StopAt() { sigaction(SIGSEGV, &before_, nullptr); }
  static void Await() {
    while (!reached_.load()) std::this_thread::yield();
  }
  static void GoOn() { goes_on_.store(true); }

 private:
  static constexpr size_t kPage = 4096;
  inline static void* page_ = nullptr;
  inline static std::atomic<bool> reached_{false}, goes_on_{false};
  struct sigaction before_ = {};
};

// They are blocks of a superblock that is given already, while the owner still looks at the others.
TEST_F(SuperblockThreadsTest, WhatComesHomeBeforeTheAnswerIsTakenInWithTheAnswer) {
  for (const bool alone : {false, true}) {
    SCOPED_TRACE(alone ? "alone" : "in a carrier");
    Open(3);
    LocalCache& claimant = *there().cache;
    CollectingListener listener;
    claimant.SetListener(&listener);
    const ClaimBlocks blocks = Make(here(), 4);
    if (alone) (void)UseUpCarriers(claimant, *third().cache);
    ASSERT_TRUE(claimant.Claim(Note(claimant, blocks)));
    StopAt last(layout().HeaderOf(blocks.back().memory));
    std::thread owner([&] { Collect(*here().cache); });
    StopAt::Await();
    const std::span<const ClaimBlock> first = std::span(blocks).first(10);
    for (const ClaimBlock& block : first) claimant.Free(block.memory, block.bytes);
    claimant.EndTurn();
    listener.Collect(claimant);
    EXPECT_TRUE(claimant.ClaimsAreOut());
    StopAt::GoOn();
    owner.join();
    listener.Collect(claimant);
    EXPECT_FALSE(claimant.ClaimsAreOut());
    EXPECT_EQ(BringAll(claimant), 4u) << "nothing is on its way any more";
    for (const ClaimBlock& block : std::span(blocks).subspan(first.size())) {
      claimant.Free(block.memory, block.bytes);
    }
    claimant.Trim();
    EXPECT_EQ(there().manager->reserved_bytes(), 0u) << "blocks wait to be taken in";
    claimant.SetListener(nullptr);
    ExpectNothingLeft();
  }
}

// The owner that is asked shares superblocks with a neighbour, which takes and returns its own
// meanwhile. The superblock is whole now and then, and sometimes it has just been returned.
TEST_F(SuperblockThreadsTest, ANeighbourTakesAndReturnsSpansOfASuperblockThatIsClaimed) {
  LocalCache& neighbour = *NewCache(here());
  std::atomic<bool> stop{false}, wanted{false};
  std::thread other([&] {
    std::mt19937_64 random(7);
    while (!stop.load()) {
      void* const block = neighbour.Allocate(60000);
      if (random() % 2 == 0) std::this_thread::yield();
      if (block != nullptr) neighbour.Free(block, 60000);
      neighbour.Trim();
      if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  ClaimMailbox mailbox;
  std::thread owner([&] {
    LocalCache& cache = *here().cache;
    for (uint64_t salt = 1; !stop.load(); ++salt) {
      if (wanted.exchange(false)) {
        ClaimBlocks blocks;
        for (const size_t bytes : {size_t{64}, size_t{60000}}) {
          blocks.push_back({static_cast<std::byte*>(cache.Allocate(bytes)), bytes, salt});
          if (blocks.back().memory == nullptr) return;
          blocks.back().Fill();
        }
        mailbox.Put(blocks);
      }
      if (!cache.Collect()) std::this_thread::yield();
    }
  });
  LocalCache& cache = *there().cache;
  size_t broken = 0, brought = 0;
  for (int turn = 0; turn < Turns(20000); ++turn) {
    wanted.store(true);
    ClaimBlocks blocks;
    for (; blocks.empty(); blocks = mailbox.Take()) std::this_thread::yield();
    SuperblockCensus census = Note(cache, blocks);
    // They are free before the owner looks, or not.
    if (turn % 2 == 0) FreeAll(cache, blocks);
    cache.Claim(std::move(census));
    for (int round = 0; round < 2 || cache.ClaimsAreOut(); ++round) {
      cache.EndTurn();
      if (!cache.Collect()) std::this_thread::yield();
    }
    uint64_t bytes = 0;
    while (cache.BringSuperblock(/*wait=*/false, bytes) == Brought::kYes) ++brought;
    if (turn % 2 != 0) {
      broken += Broken(blocks);
      FreeAll(cache, blocks);
      cache.EndTurn();
    }
  }
  stop.store(true);
  other.join();
  owner.join();
  EXPECT_EQ(broken, 0u);
  EXPECT_GT(brought, 0u);
  ExpectNothingLeft();
}

// Near the limit a cache takes spans of any superblock, also of one that is just being adopted or
// brought by its neighbour.
TEST_F(SuperblockThreadsTest, ANeighbourThatTakesSpansOfAdoptedSuperblocksGetsThemForItself) {
  constexpr size_t kBytes = 60000;  // fills a span
  // There is no room left next to other small caches.
  std::vector<LocalCache*> small{NewCache(there()), NewCache(there())};
  ClaimBlocks full;
  while (there().manager->reserved_bytes() < Bytes(2)) {
    LocalCache& cache = *small[full.size() < kSharedSpansMax ? 0 : 1];
    full.push_back(Allocate(cache, kBytes));
  }
  small[1]->Free(full.back().memory, kBytes);
  small[1]->Trim();
  full.pop_back();

  LocalCache& neighbour = *NewCache(there());
  FailurePoint& refusals = there().pool->take_failures();
  std::atomic<bool> stop{false}, bringing{false};
  std::atomic<uint64_t> neighbours_broken{0}, neighbours_blocks{0};
  std::thread other([&] {
    std::mt19937_64 random(11);
    while (!stop.load()) {
      ClaimBlocks blocks;
      for (uint64_t i = 1 + random() % 4; i > 0; --i) {
        // Its own request is refused, or that of the one that brings.
        if (bringing.load()) refusals.Arm(1, FailurePoint::Mode::kOnce);
        const ClaimBlock block{static_cast<std::byte*>(neighbour.Allocate(kBytes)), kBytes,
                               random()};
        if (block.memory == nullptr) break;
        block.Fill();
        blocks.push_back(block);
      }
      neighbours_blocks += blocks.size();
      neighbours_broken += Broken(blocks);
      FreeAll(neighbour, blocks);
      neighbour.Trim();
    }
  });
  size_t broken = 0, brought = 0;
  for (int turn = 0; turn < Turns(100); ++turn) {
    // Superblocks that have spans to spare.
    ClaimBlocks blocks, kept;
    for (int i = 0; i < 31 * 8; ++i) blocks.push_back(Allocate(*here().cache, kBytes));
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i % 3 == 0) {
        kept.push_back(blocks[i]);
      } else {
        here().cache->Free(blocks[i].memory, kBytes);
      }
    }
    refusals.Arm(1, FailurePoint::Mode::kFromThen);
    TakeOver(*there().cache, *here().cache, kept);
    refusals.Arm(0, FailurePoint::Mode::kOnce);
    bringing.store(true);
    uint64_t bytes = 0;
    for (int tries = 0; tries < 3; ++tries) {
      while (there().cache->BringSuperblock(/*wait=*/false, bytes) == Brought::kYes) ++brought;
      there().cache->Claim(Note(*there().cache, kept));  // what was refused
    }
    bringing.store(false);
    broken += Broken(kept);
    FreeAll(*there().cache, kept);
    there().cache->Trim();
  }
  stop.store(true);
  other.join();
  refusals.Arm(0, FailurePoint::Mode::kOnce);
  EXPECT_EQ(broken, 0u);
  EXPECT_EQ(neighbours_broken, 0u);
  EXPECT_GT(neighbours_blocks, 0u);
  EXPECT_GT(brought, 0u);
  FreeAll(*there().cache, full);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace eris::memory
