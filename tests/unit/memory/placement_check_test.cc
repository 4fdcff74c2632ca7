#include "memory/placement_check.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/unit/memory/memory_fixture.h"
#include "topology/page_location.h"

namespace eris::memory {
namespace {

constexpr size_t kPage = kPlacementPageBytes;

absl::Status GoOn() { return absl::OkStatus(); }

// Small pages of the test's own, untouched at first.
class Pages {
 public:
  explicit Pages(size_t count) : bytes_(count * kPage) {
    memory_ = static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    EXPECT_NE(memory_, MAP_FAILED);
    madvise(memory_, bytes_, MADV_NOHUGEPAGE);
  }
  ~Pages() { munmap(memory_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* operator[](size_t page) const { return memory_ + page * kPage; }
  void Touch(size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) *(*this)[i] = std::byte{1};
  }
  PoolRange Range(size_t first, size_t count) const { return {(*this)[first], count * kPage}; }

 private:
  const size_t bytes_;
  std::byte* memory_;
};

class PlacementCheckTest : public testing::Test {
 protected:
  void SetUp() override {
    pages_.Touch(0, 1);
    void* const page = pages_[0];
    const absl::Status status = topology::LocatePages({&page, 1}, {&here_, 1});
    if (!status.ok()) GTEST_SKIP() << "this system does not tell where pages lie: " << status;
    ASSERT_GE(here_, 0);
  }
  // The numbers of NumaNodes: where the kernel puts this test's pages, and another one.
  std::vector<uint32_t> Here() const { return {static_cast<uint32_t>(here_)}; }
  std::vector<uint32_t> Elsewhere() const { return {static_cast<uint32_t>(here_) + 1}; }

  PlacementCheck Check(std::vector<PoolRange> ranges, std::vector<uint32_t> allowed,
                       uint64_t pages_max = 0) {
    auto check = CheckPlacement(ranges, allowed, pages_max, GoOn);
    EXPECT_TRUE(check.ok()) << check.status();
    return check.ok() ? *std::move(check) : PlacementCheck{};
  }

  Pages pages_{1024};
  int32_t here_ = -1;
};

TEST_F(PlacementCheckTest, TouchedPagesAreLocalAndOthersAbsent) {
  pages_.Touch(8, 4);
  const PlacementCheck check = Check({pages_.Range(0, 2), pages_.Range(6, 10)}, Here());
  EXPECT_EQ(check.asked, 12u);
  EXPECT_EQ(check.allowed_pages(), 5u);
  EXPECT_EQ(check.other_pages(), 0u);
  EXPECT_EQ(check.absent, 7u);
  ASSERT_EQ(check.located.size(), 1u);
  EXPECT_EQ(check.located[0].os_node, Here()[0]);
  EXPECT_TRUE(check.located[0].allowed);
  EXPECT_TRUE(check.located[0].examples.empty());
}

// One NumaNode is enough to plant a page: the pool wanted it on another one.
TEST_F(PlacementCheckTest, PlantedMisplacedPagesAreFoundByAddress) {
  pages_.Touch(100, 1);
  const PlacementCheck one = Check({pages_.Range(64, 100)}, Elsewhere());
  EXPECT_EQ(one.allowed_pages(), 0u);
  EXPECT_EQ(one.other_pages(), 1u);
  ASSERT_EQ(one.located.size(), 1u);
  EXPECT_FALSE(one.located[0].allowed);
  EXPECT_EQ(one.located[0].examples, std::vector<const std::byte*>{pages_[100]});

  pages_.Touch(200, 20);
  const PlacementCheck many = Check({pages_.Range(200, 20)}, Elsewhere());
  EXPECT_EQ(many.other_pages(), 20u);
  ASSERT_EQ(many.located[0].examples.size(), kPlacementExamplesMax);
  EXPECT_EQ(many.located[0].examples.back(), pages_[207]);
}

TEST_F(PlacementCheckTest, InterleavedPagesMayLieOnAnyOfTheirNumaNodes) {
  pages_.Touch(0, 8);
  const PlacementCheck check = Check({pages_.Range(0, 8)}, {Elsewhere()[0], Here()[0]});
  EXPECT_EQ(check.allowed_pages(), 8u);
}

TEST_F(PlacementCheckTest, SampleHasOnePageOfEachEqualPiece) {
  constexpr size_t kPieces = 64;
  constexpr size_t kPiece = 16;
  const Pages untouched(kPieces * kPiece);
  size_t first_pages = 0;
  for (size_t i = 0; i < kPieces; ++i) {
    std::vector<PoolRange> ranges;
    for (size_t j = 0; j < kPieces; ++j) ranges.push_back(untouched.Range(j * kPiece, kPiece));
    Pages touched(kPiece);
    touched.Touch(0, kPiece);
    ranges[i] = touched.Range(0, kPiece);
    const PlacementCheck check = Check(ranges, Elsewhere(), kPieces);
    EXPECT_EQ(check.asked, kPieces);
    ASSERT_EQ(check.other_pages(), 1u) << i;
    first_pages += check.located[0].examples[0] == touched[0];
  }
  EXPECT_LT(first_pages, kPieces / 2) << "what lies at each piece's begin alone is seen";
}

TEST_F(PlacementCheckTest, AsManyPagesAreAskedAsThereAreAndNoneTwice) {
  pages_.Touch(0, 1024);
  for (const uint64_t pages_max : {uint64_t{0}, uint64_t{1024}, uint64_t{1} << 32}) {
    EXPECT_EQ(Check({pages_.Range(0, 1000), pages_.Range(1000, 24)}, Here(), pages_max).asked,
              1024u);
  }
  EXPECT_EQ(Check({pages_.Range(0, 1024)}, Here(), 1023).allowed_pages(), 1023u);
  EXPECT_EQ(Check({pages_.Range(0, 1024)}, Here(), 1).asked, 1u);
  EXPECT_EQ(Check({}, Here()).asked, 0u);
}

TEST_F(PlacementCheckTest, ManyChunksAreOneAnswer) {
  Pages many(10'000);
  many.Touch(0, 10'000);
  EXPECT_EQ(Check({many.Range(0, 10'000)}, Here()).allowed_pages(), 10'000u);
}

TEST_F(PlacementCheckTest, InterruptionEndsIt) {
  Pages many(10'000);
  int asked = 0;
  const std::vector<PoolRange> ranges{many.Range(0, 10'000)};
  const auto check = CheckPlacement(ranges, Here(), 0, [&] {
    return ++asked == 2 ? absl::UnavailableError("enough") : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsUnavailable(check.status())) << check.status();
  EXPECT_EQ(asked, 2);
}

TEST_F(PlacementCheckTest, PoolIsCheckedAgainstItsOwnPolicy) {
  auto topology = topology::Topology::Discover();
  ASSERT_TRUE(topology.ok());
  MemoryBudget budget(kPlenty);
  topology::NumaNode numa_node = topology->numa_nodes()[0];
  for (const bool bind : {true, false}) {
    NumaNodePool pool(numa_node, bind, budget);
    std::vector<void*> superblocks;
    for (int i = 0; i < 3; ++i) superblocks.push_back(pool.TakeSuperblock());
    void* const extent = pool.TakeExtent(kSuperblockBytes, NumaNodePool::Pages::kOnTouch);
    const auto check = CheckPlacement(pool, 0, GoOn);
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_EQ(check->asked, 4 * kSuperblockBytes / kPage);
    EXPECT_EQ(check->absent, kSuperblockBytes / kPage);  // the extent
    const bool bound = !pool.allowed_os_nodes().empty();
    EXPECT_EQ(check->allowed_pages(), bound ? 3 * kSuperblockBytes / kPage : 0);
    for (void* superblock : superblocks) pool.ReturnSuperblock(superblock);
    pool.ReturnExtent(extent, kSuperblockBytes);
  }
}

// An unbound pool, so that every page found would be worth a second look.
TEST_F(PlacementCheckTest, ItLooksAgainWhenExtentsHaveGoneMeanwhileButNotForEver) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  void* const superblock = pool.TakeSuperblock();
  void* extent = pool.TakeExtent(kSuperblockBytes);
  int looked = 0;
  auto check = CheckPlacement(pool, 0, [&] {
    if (++looked == 1) pool.ReturnExtent(std::exchange(extent, nullptr), kSuperblockBytes);
    return absl::OkStatus();
  });
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(looked, 2);
  EXPECT_EQ(check->asked, kSuperblockBytes / kPage);

  looked = 0;
  check = CheckPlacement(pool, 0, [&] {
    ++looked;
    if (extent == nullptr) {
      extent = pool.TakeExtent(kSuperblockBytes);
    } else {
      pool.ReturnExtent(std::exchange(extent, nullptr), kSuperblockBytes);
    }
    return absl::OkStatus();
  });
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_GT(looked, 1);
  EXPECT_LT(looked, 10);
  if (extent != nullptr) pool.ReturnExtent(extent, kSuperblockBytes);
  pool.ReturnSuperblock(superblock);
}

}  // namespace
}  // namespace eris::memory
