#include "memory/memory_resource.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "memory/memory_manager.h"
#include "tests/unit/memory/memory_fixture.h"

namespace eris::memory {
namespace {

class MemoryResourceTest : public testing::Test {
 protected:
  MemoryBudget budget_{8 * kSuperblockBytes};
  NumaNodePool pool_{Virtual(0), /*bind=*/false, budget_};
  MemoryManager manager_{ObjectId{1}, pool_};
  LocalCache& cache_ = *manager_.NewCache();
};

TEST_F(MemoryResourceTest, ContainersLiveInTheCacheAndGiveEverythingBack) {
  CacheMemoryResource resource(cache_);
  {
    std::pmr::vector<uint64_t> numbers(&resource);
    std::pmr::map<int, std::pmr::string> words(&resource);
    for (int i = 0; i < 10000; ++i) {
      numbers.push_back(static_cast<uint64_t>(i));
      words[i % 500] = std::string(static_cast<size_t>(i % 100), 'x').c_str();
    }
    EXPECT_GE(cache_.used_bytes(), numbers.capacity() * 8 + 500 * sizeof(int));
    EXPECT_EQ(words.size(), 500u);
  }
  EXPECT_EQ(cache_.used_bytes(), 0u);
}

TEST_F(MemoryResourceTest, AlignmentsUpToACacheLineAreKept) {
  CacheMemoryResource resource(cache_);
  for (const size_t alignment : {1, 8, 16, 32, 64}) {
    for (const size_t bytes : {0, 1, 24, 65, 1000}) {
      void* block = resource.allocate(bytes, alignment);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u) << bytes;
      resource.deallocate(block, bytes, alignment);
    }
  }
  EXPECT_THROW((void)resource.allocate(64, 128), std::bad_alloc);
  volatile size_t nearly_all = SIZE_MAX - 3;  // a constant would only be warned of
  EXPECT_THROW((void)resource.allocate(nearly_all, 64), std::bad_alloc);
  EXPECT_EQ(cache_.used_bytes(), 0u);
}

TEST_F(MemoryResourceTest, RefusalIsBadAllocAndTheContainerStaysAsItWas) {
  CacheMemoryResource resource(cache_);
  std::pmr::vector<uint64_t> numbers({1, 2, 3}, &resource);
  cache_.FailAllocationsFrom(1);
  EXPECT_THROW(numbers.reserve(1000), std::bad_alloc);
  EXPECT_EQ(numbers, (std::pmr::vector<uint64_t>{1, 2, 3}));
}

TEST_F(MemoryResourceTest, EqualOnlyOnTheSameCache) {
  CacheMemoryResource one(cache_), same(cache_), other(*manager_.NewCache());
  EXPECT_TRUE(one.is_equal(same));
  EXPECT_FALSE(one.is_equal(other));
  EXPECT_FALSE(one.is_equal(*std::pmr::new_delete_resource()));
}

}  // namespace
}  // namespace eris::memory
