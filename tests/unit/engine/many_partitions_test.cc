// The largest number of partitions that an object may have, all at one AEU. Work per install that
// grows with the partitions there are would take minutes here, beyond the test's time.
#include <gtest/gtest.h>

#include <vector>

#include "engine/objects/boundaries.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

TEST(ManyPartitionsTest, AnObjectWithAsManyAsAllowedIsCreatedUsedAndDropped) {
  test::HandEngine engine(1);
  CreateOptions options;
  for (uint64_t i = 1; i < engine::kPartitionsMax; ++i) options.split_points.push_back(10 * i);
  const auto info = engine.While([&] { return engine->Create("o", options); });
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->partition_starts.size(), engine::kPartitionsMax);
  auto session = engine->NewSession();
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 1000; ++i) keys.push_back(655 * i);
  const Object object = test::Open(*session, "o");
  EXPECT_TRUE(engine.While([&] { return session->Upsert(object, keys, keys); }).ok());
  EXPECT_EQ(engine->Describe("o")->keys, keys.size());
  EXPECT_TRUE(engine.While([&] { return engine->Drop("o"); }).ok());
}

}  // namespace
}  // namespace eris
