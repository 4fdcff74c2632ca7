// Changes requests at random, without libFuzzer, and runs them.
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/request_machine.h"
#include "tests/support/seed.h"

namespace eris::fuzz {
namespace {

// Each round changes a seed, or what has been changed before.
absl::Status RunChangedRequests(int rounds, RequestPlant plant, std::mt19937_64& random) {
  google::protobuf::LogSilencer silent;  // it reports each text that is no UTF-8
  constexpr size_t kKeptBytesMax = 64 << 10;
  const std::vector<std::string> seeds = RequestSeeds();
  std::vector<std::string> kept = seeds;
  for (int i = 0; i < rounds; ++i) {
    const size_t number = random() % seeds.size();
    std::string changed = ChangedRequest((random() % 2 == 0 ? seeds : kept)[number], random);
    const absl::Status status = RunRequestBytes(changed, plant);
    if (!status.ok()) return status;
    if (changed.size() < kKeptBytesMax && random() % 4 == 0) kept[number] = std::move(changed);
  }
  return absl::OkStatus();
}

TEST(RequestFuzzTest, EachTypeOfRequestHasASeed) {
  EXPECT_GE(RequestSeeds().size(), 30u);
  for (const std::string& seed : RequestSeeds()) EXPECT_EQ(RunRequestBytes(seed), absl::OkStatus());
}

TEST(RequestFuzzTest, ChangedRequestsAreReadOrRefused) {
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  EXPECT_EQ(RunChangedRequests(30'000, RequestPlant::kNone, random), absl::OkStatus());
}

TEST(RequestFuzzTest, AnEstimateThatIsTooSmallIsFound) {
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  const absl::Status found = RunChangedRequests(30'000, RequestPlant::kShortEstimate, random);
  EXPECT_NE(found.message().find("estimated were"), absl::string_view::npos) << found;
}

}  // namespace
}  // namespace eris::fuzz
