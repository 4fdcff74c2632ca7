// Changes texts at random, without libFuzzer, and runs them.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/text/text_machine.h"
#include "tests/support/seed.h"

namespace eris::fuzz {
namespace {

constexpr size_t kBytesMax = 8192;

class TextFuzzTest : public testing::TestWithParam<TextKind> {
 protected:
  // Changes seeds, and texts that were taken, again and again; returns the first failure.
  static absl::Status RunChanged(int rounds, bool plant, std::mt19937_64& random) {
    std::vector<std::string> texts = TextSeeds(GetParam());
    const size_t seeds = texts.size();
    for (int i = 0; i < rounds; ++i) {
      std::string changed = ChangedText(texts[random() % texts.size()], random);
      if (changed.size() > kBytesMax) continue;
      bool taken = false;
      const absl::Status status = RunText(GetParam(), changed, plant, &taken);
      if (!status.ok()) return absl::InternalError(std::string(status.message()) + "\n" + changed);
      if (!taken || random() % 4 != 0) continue;
      if (texts.size() < 2 * seeds) texts.emplace_back();
      texts[seeds + random() % (texts.size() - seeds)] = std::move(changed);
    }
    return absl::OkStatus();
  }
};

TEST_P(TextFuzzTest, SeedsAreTaken) {
  size_t all = 0;
  for (const std::string& seed : TextSeeds(GetParam())) {
    bool taken = false;
    EXPECT_EQ(RunText(GetParam(), seed, false, &taken), absl::OkStatus()) << seed;
    all += taken;
  }
  EXPECT_GE(all, 3u);
}

TEST_P(TextFuzzTest, ChangedTextsAreReadOrRefused) {
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  EXPECT_EQ(RunChanged(3'000, false, random), absl::OkStatus());
}

TEST_P(TextFuzzTest, AChangeFindsAPlantedRule) {
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  EXPECT_NE(RunChanged(200'000, true, random).message().find("a planted"), std::string::npos);
}

std::string NameOf(const testing::TestParamInfo<TextKind>& info) {
  constexpr const char* kNames[] = {"Config", "Filter", "Csv"};
  return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, TextFuzzTest,
                         testing::Values(TextKind::kConfig, TextKind::kFilter, TextKind::kCsv),
                         NameOf);

}  // namespace
}  // namespace eris::fuzz
