// Blocks of one AEU's cache that another AEU frees in its own turn, as after a range has moved by
// link: hand-stepped, with real caches and real blocks.
#include "aeu/recollection.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "tests/sim/aeu_peer.h"
#include "tests/support/aeu_lab.h"

namespace eris::aeu {
namespace {

constexpr size_t kBytes = 704;
constexpr uint32_t kSlot = 2;
// More than the carriers that may be under way hold, and worth a trim.
constexpr size_t kMany = 10'000;

// What an AEU does in its next idle turn.
class Once : public IdleWork {
 public:
  bool Run(uint64_t) override {
    auto work = std::exchange(work_, nullptr);
    if (!work) return false;
    work();
    return true;
  }
  bool HasWork() const override { return work_ != nullptr; }
  void Set(std::function<void()> work) { work_ = std::move(work); }

 private:
  std::function<void()> work_;
};

class RecollectionTest : public testing::Test {
 protected:
  static constexpr uint32_t kOwner = 0;
  static constexpr uint32_t kFreer = 1;

  RecollectionTest() : lab_(memory_, 2) {
    lab_.Create(kSlot, ObjectId{7}, {0, 1000}, {AeuId{kOwner}, AeuId{kFreer}});
    lab_[kFreer].SetIdleWork(&freers_);
    lab_.Settle();
  }

  memory::LocalCache& CacheOf(uint32_t aeu) {
    return AeuTestPeer::AnySlot(lab_[aeu], kSlot)->cache();
  }
  memory::MemoryManager& manager() { return CacheOf(kOwner).manager(); }
  std::vector<void*> AllocatedByOwner(size_t count) {
    std::vector<void*> blocks;
    for (size_t i = 0; i < count; ++i) {
      blocks.push_back(CacheOf(kOwner).Allocate(kBytes));
      if (blocks.back() == nullptr) ADD_FAILURE() << "no memory for block " << i;
      std::memset(blocks.back(), 0x5a, kBytes);
    }
    return blocks;
  }
  // In a turn of the freeing AEU.
  void FreeByOther(const std::vector<void*>& blocks) {
    freers_.Set([this, blocks] {
      for (void* block : blocks) CacheOf(kFreer).Free(block, kBytes);
      CacheOf(kFreer).EndTurn();
    });
    lab_.Step(kFreer);
  }

  test::LabMemory memory_;
  Once freers_;
  test::AeuLab lab_;
};

TEST_F(RecollectionTest, AFreedBlockIsWorkForItsOwnerAlone) {
  const std::vector<void*> blocks = AllocatedByOwner(3);
  EXPECT_FALSE(lab_[kOwner].HasWork());
  FreeByOther(blocks);
  EXPECT_TRUE(lab_[kOwner].HasWork());
  EXPECT_FALSE(lab_[kFreer].HasWork());
  EXPECT_TRUE(lab_.Step(kOwner));
  EXPECT_FALSE(lab_[kOwner].HasWork());
  EXPECT_FALSE(lab_.Step(kOwner));
  EXPECT_FALSE(CacheOf(kOwner).Collect()) << "something was left in the bin";
  EXPECT_EQ(manager().Account().used_bytes, 0u);
}

// Both ways home: in carriers, and alone when all of those are under way.
TEST_F(RecollectionTest, AnOwnerWithNothingElseToDoGivesMemoryBack) {
  const std::vector<void*> blocks = AllocatedByOwner(kMany);
  const uint64_t full_bytes = manager().reserved_bytes();
  EXPECT_GE(full_bytes, kMany * kBytes);
  FreeByOther(blocks);
  EXPECT_EQ(manager().reserved_bytes(), full_bytes) << "only the owner may touch its spans";
  EXPECT_EQ(manager().Account().used_bytes, 0u);
  lab_.Settle();
  EXPECT_EQ(manager().reserved_bytes(), 0u);
  EXPECT_EQ(manager().Account().committed_bytes, 0u);
}

TEST_F(RecollectionTest, BlocksThatComeWhileItCollectsAreTheNextTurns) {
  const std::vector<void*> blocks = AllocatedByOwner(200);
  for (size_t i = 0; i < blocks.size(); ++i) {
    FreeByOther({blocks[i]});
    if (i % 3 == 0) lab_.Step(kOwner);
  }
  lab_.Settle();
  EXPECT_FALSE(CacheOf(kOwner).Collect());
  EXPECT_EQ(manager().Account().used_bytes, 0u);
}

TEST_F(RecollectionTest, AnOwnerOfSeveralObjectsCollectsThemAll) {
  lab_.Create(kSlot + 1, ObjectId{8}, {0, 1000}, {AeuId{kOwner}, AeuId{kFreer}});
  memory::LocalCache& second = AeuTestPeer::AnySlot(lab_[kOwner], kSlot + 1)->cache();
  const std::vector<void*> blocks = AllocatedByOwner(5);
  void* const of_second = second.Allocate(kBytes);
  freers_.Set([&] {
    for (void* block : blocks) CacheOf(kFreer).Free(block, kBytes);
    CacheOf(kFreer).EndTurn();
    memory::LocalCache& own = AeuTestPeer::AnySlot(lab_[kFreer], kSlot + 1)->cache();
    own.Free(of_second, kBytes);
    own.EndTurn();
  });
  lab_.Step(kFreer);
  EXPECT_TRUE(lab_.Step(kOwner));
  EXPECT_FALSE(CacheOf(kOwner).Collect());
  EXPECT_FALSE(second.Collect());
  EXPECT_FALSE(lab_[kOwner].HasWork());
}

// The sleeper's two chances: it sees the flag after its announcement, or the freer sees that.
TEST_F(RecollectionTest, AnOwnerThatGoesToSleepIsNotForgotten) {
  routing::Waker& waker = lab_.directory()[AeuId{kOwner}].waker;
  const std::vector<void*> blocks = AllocatedByOwner(2);
  waker.PrepareToSleep();
  EXPECT_FALSE(lab_[kOwner].HasWork());
  FreeByOther({blocks[0]});
  waker.Sleep();  // does not: it would be for good
  EXPECT_TRUE(lab_.Step(kOwner));
  FreeByOther({blocks[1]});
  waker.PrepareToSleep();
  EXPECT_TRUE(lab_[kOwner].HasWork());
  waker.CancelSleep();
  lab_.Settle();
  EXPECT_EQ(manager().Account().used_bytes, 0u);
}

// The generation that a late block belongs to may have left its AEU: nobody waits for it.
TEST_F(RecollectionTest, ABlockOfADroppedObjectComesHomeToNobody) {
  const std::vector<void*> blocks = AllocatedByOwner(2);
  memory::LocalCache& freers_cache = CacheOf(kFreer);
  routing::ObjectRoute& route = lab_.Create(kSlot + 1, ObjectId{9}, {0}, {AeuId{kOwner}});
  memory::LocalCache& own = AeuTestPeer::AnySlot(lab_[kOwner], kSlot + 1)->cache();
  void* const late = own.Allocate(kBytes);
  memory::LocalCache* const other = own.manager().NewCache();
  test::TestReply reply(1);
  lab_.SendDrop(route, AeuId{kOwner}, reply);
  lab_.Settle();
  ASSERT_EQ(reply.answered, 1u);
  other->Free(late, kBytes);
  other->EndTurn();
  for (void* block : blocks) freers_cache.Free(block, kBytes);
  freers_cache.EndTurn();
  lab_.Settle();
  EXPECT_FALSE(lab_[kOwner].HasWork());
  EXPECT_FALSE(CacheOf(kOwner).Collect());
}

}  // namespace
}  // namespace eris::aeu
