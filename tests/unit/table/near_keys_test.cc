// Which keys get places: those of its pages and of no others, on both sides, over the ends of 64
// bits, no more pages than the groups are worth, and none after it has said no.
#include "storage/table/groups/near_keys.h"

#include <gtest/gtest.h>

#include <new>

namespace eris::storage {
namespace {

constexpr uint64_t kPage = NearKeys::kPageKeys;

class FewPages final : public PageSource {
 public:
  ~FewPages() override { EXPECT_EQ(taken, 0u); }
  void* Allocate(size_t size) override {
    if (taken == most) return nullptr;
    ++taken;
    return ::operator new (size, std::align_val_t{64});
  }
  void Free(void* page, size_t) override {
    --taken;
    ::operator delete (page, std::align_val_t{64});
  }
  absl::Status Refusal() const override { return absl::ResourceExhaustedError("few"); }

  uint64_t most = 1000;
  uint64_t taken = 0;
};

TEST(NearKeysTest, BeginsWithPlacesForItsSpan) {
  FewPages pages;
  NearKeys keys(pages);
  EXPECT_FALSE(keys.used());
  EXPECT_EQ(keys.Place(0), nullptr);
  ASSERT_TRUE(keys.Begin(3 * kPage - 1, 2));
  EXPECT_EQ(pages.taken, 2u);
  for (const uint64_t key : {2 * kPage, 3 * kPage - 1, 3 * kPage, 4 * kPage - 1}) {
    ASSERT_NE(keys.Place(key), nullptr);
    EXPECT_EQ(*keys.Place(key), NearKeys::kNone);
    *keys.Place(key) = static_cast<uint32_t>(key);
  }
  EXPECT_EQ(*keys.Place(3 * kPage), 3 * kPage);
  EXPECT_EQ(keys.Place(2 * kPage - 1), nullptr);
  EXPECT_EQ(keys.Place(4 * kPage), nullptr);
}

TEST(NearKeysTest, KeysAreARing) {
  FewPages pages;
  NearKeys keys(pages);
  ASSERT_TRUE(keys.Begin(0, 1));
  *keys.Place(0) = 1;
  uint32_t* const below = keys.Extend(~uint64_t{0}, 1'000'000);
  ASSERT_NE(below, nullptr);
  *below = 2;
  *keys.Extend(kPage, 1'000'000) = 3;
  EXPECT_EQ(*keys.Place(0), 1u);
  EXPECT_EQ(*keys.Place(~uint64_t{0}), 2u);
  EXPECT_EQ(*keys.Place(kPage), 3u);
  EXPECT_EQ(pages.taken, 3u);
}

TEST(NearKeysTest, GapsHaveNoPages) {
  FewPages pages;
  NearKeys keys(pages);
  ASSERT_TRUE(keys.Begin(100 * kPage, 1));
  ASSERT_NE(keys.Extend(150 * kPage, 1'000'000), nullptr);
  ASSERT_NE(keys.Extend(20 * kPage + 5, 1'000'000), nullptr);
  EXPECT_EQ(pages.taken, 3u);
  EXPECT_EQ(keys.Place(149 * kPage), nullptr);
  ASSERT_NE(keys.Extend(149 * kPage, 1'000'000), nullptr);
  EXPECT_EQ(*keys.Place(20 * kPage + 5), NearKeys::kNone);
  EXPECT_EQ(pages.taken, 4u);

  *keys.Place(150 * kPage) = 7;
  const uint64_t wanted[] = {150 * kPage, 148 * kPage, 149 * kPage, 20 * kPage - 1, 200 * kPage};
  uint32_t groups[5];
  keys.Find(wanted, 5, groups);
  EXPECT_EQ(groups[0], 7u);
  for (uint32_t i = 1; i < 5; ++i) EXPECT_EQ(groups[i], NearKeys::kNone) << i;
}

// Otherwise a key would be found in one way before, and in another one after.
TEST(NearKeysTest, NobodyGetsAPlaceAfterARefusal) {
  FewPages pages;
  NearKeys keys(pages);
  ASSERT_TRUE(keys.Begin(0, 1));
  pages.most = 1;
  EXPECT_EQ(keys.Extend(kPage, 1'000'000), nullptr);
  pages.most = 1000;
  EXPECT_EQ(keys.Extend(kPage, 1'000'000), nullptr);
  EXPECT_EQ(keys.Extend(2 * kPage, 1'000'000), nullptr);
  EXPECT_NE(keys.Place(1), nullptr);
  EXPECT_FALSE(keys.IsOutside(1));
  EXPECT_TRUE(keys.IsOutside(kPage));
}

TEST(NearKeysTest, FewGroupsGetFewPages) {
  FewPages pages;
  NearKeys keys(pages);
  ASSERT_TRUE(keys.Begin(0, 1));
  uint64_t next = kPage;
  while (keys.Extend(next, 8'192) != nullptr) next += kPage;
  // Eight places for each, and a page that is being filled.
  EXPECT_EQ(pages.taken * kPage, 4 * kPage);
  EXPECT_EQ(keys.Extend(next, 1'000'000), nullptr);
}

TEST(NearKeysTest, FarKeysGetNoPlaces) {
  FewPages pages;
  NearKeys keys(pages);
  ASSERT_TRUE(keys.Begin(0, 1));
  EXPECT_EQ(keys.Extend(uint64_t{1} << 63, 1'000'000), nullptr);
  EXPECT_EQ(pages.taken, 1u);
}

TEST(NearKeysTest, ARefusedBeginLeavesNothing) {
  FewPages pages;
  pages.most = 2;
  NearKeys keys(pages);
  EXPECT_FALSE(keys.Begin(0, 3 * kPage));
  EXPECT_FALSE(keys.used());
  EXPECT_EQ(pages.taken, 0u);
  EXPECT_TRUE(keys.Begin(0, 2 * kPage));
  uint32_t some = 1;
  EXPECT_TRUE(keys.FreeSome(some));
  EXPECT_EQ(pages.taken, 1u);
  some = 1;
  EXPECT_FALSE(keys.FreeSome(some));
}

}  // namespace
}  // namespace eris::storage
