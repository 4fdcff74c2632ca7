#include "server/admin/load_sampler.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/fake_engine.h"

namespace eris::server {
namespace {

TEST(LoadSamplerTest, LineTellsTheLoadSinceTheLastOne) {
  FakeEngine engine;
  LoadSampler sampler(&engine);
  const std::string line = sampler.Next(absl::Now() + absl::Seconds(1));
  EXPECT_THAT(line, testing::StartsWith("0 keys/s (busiest AEU 0 %), 0 rows/s scanned"));
}

}  // namespace
}  // namespace eris::server
