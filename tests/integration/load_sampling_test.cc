// From accesses to a plan: what the AEUs count, sampled, tells One-Shot where the boundaries should
// be.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "balancer/one_shot.h"
#include "engine/engine_impl.h"
#include "tests/support/objects.h"

namespace eris::engine {
namespace {

TEST(LoadSamplingTest, AHotRangeIsSeenAndPlannedOverAllAeus) {
  // Without a balancer, which would sample, too, and move the hot range.
  auto engine = EngineImpl::Open(test::SmallOptions(4, ""), EngineImpl::Threads::kStart);
  ASSERT_TRUE(engine.ok()) << engine.status();
  const Object o = test::Create(**engine, "o", {.expected = {0, 400'000}});
  auto session = (*engine)->NewSession();

  std::vector<uint64_t> keys(100'000), values(keys.size());
  std::vector<uint8_t> found(keys.size());
  for (uint64_t part = 0; part < 4; ++part) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = part * 100'000 + i;
    ASSERT_TRUE(session->Upsert(o, keys, keys).ok());
  }
  auto sample = (*engine)->SampleLoad("o");
  ASSERT_TRUE(sample.ok());
  ASSERT_EQ(sample->partitions.size(), 4u);
  const auto weight = [&](size_t partition) {
    uint64_t sum = 0;
    for (const balancer::SubRange& one : sample->partitions[partition].sub_ranges) {
      sum += one.weight;
    }
    return sum;
  };
  for (size_t p = 0; p < 4; ++p) {
    // In time: how long the AEU has been executing.
    EXPECT_GT(weight(p), 0u) << p;
    EXPECT_EQ(sample->partitions[p].size, 100'000u);
    EXPECT_GT(sample->partitions[p].mean_execution_ns, 0u);
  }
  // No AEU has worked for longer than the object is there.
  for (size_t p = 0; p < 4; ++p) EXPECT_LT(weight(p), sample->window_ns) << p;
  EXPECT_LT(sample->seen_last, 400'000u);
  EXPECT_GT(sample->seen_last, 399'000u);

  // Then the second half of partition 1 alone, [150'000, 200'000): so much else that what was
  // before is forgotten.
  std::mt19937_64 random(1);
  for (int round = 0; round < 10; ++round) {
    for (uint64_t& key : keys) key = 150'000 + random() % 50'000;
    ASSERT_TRUE(session->Lookup(o, keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
  }
  sample = (*engine)->SampleLoad("o");
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(weight(0) + weight(2) + weight(3), 0u);
  EXPECT_GT(weight(1), 0u);
  const auto hot = (*engine)->FindHotRanges("o", 3);
  ASSERT_TRUE(hot.ok()) << hot.status();
  EXPECT_EQ(hot->starts, (std::vector<uint64_t>{0, 100'000, 200'000, 300'000}));
  EXPECT_EQ(hot->rows, std::vector<uint64_t>(4, 100'000));
  EXPECT_EQ(hot->load, hot->loads[1]);
  EXPECT_GT(hot->load, 0);
  double hottest = 0;
  ASSERT_FALSE(hot->hottest.empty());
  for (const HotRange& one : hot->hottest) {
    EXPECT_GE(one.range.lo, 149'000u);
    EXPECT_LE(*one.range.hi, 200'000u);
    EXPECT_EQ(one.owner, hot->owners[1]);
    hottest += one.load;
  }
  EXPECT_NEAR(hottest, hot->load, 0.01 * hot->load);
  for (const uint32_t ranges_max : {0u, kHotRangesMax + 1}) {
    EXPECT_EQ((*engine)->FindHotRanges("o", ranges_max).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  const balancer::Partitioning plan = balancer::OneShot(*sample);
  ASSERT_EQ(plan.starts.size(), 4u);
  // A quarter of the hot range each.
  EXPECT_NEAR(static_cast<double>(plan.starts[1].head), 162'500, 2500);
  EXPECT_NEAR(static_cast<double>(plan.starts[2].head), 175'000, 2500);
  EXPECT_NEAR(static_cast<double>(plan.starts[3].head), 187'500, 2500);

  ASSERT_TRUE((*engine)->Drop("o").ok());
  EXPECT_EQ((*engine)->SampleLoad("o").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*engine)->FindHotRanges("o", 1).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace eris::engine
