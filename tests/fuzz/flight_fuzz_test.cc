// Changes streams of Arrow's columns at random, without libFuzzer, and reads them.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/flight_machine.h"
#include "tests/support/seed.h"
#include "wire/planted_fault.h"

namespace eris::fuzz {
namespace {

// Each round changes a seed, or what has been changed and can still be read.
absl::Status RunChangedStreams(int rounds, std::mt19937_64& random) {
  const std::vector<std::string> seeds = FlightSeeds();
  std::vector<std::string> kept = seeds;
  for (int i = 0; i < rounds; ++i) {
    const size_t number = random() % seeds.size();
    std::string changed = ChangedFlight((random() % 2 == 0 ? seeds : kept)[number], random);
    int read = 0;
    const absl::Status status = RunFlightBytes(changed, &read);
    if (!status.ok()) return status;
    if (read > 0 && random() % 4 == 0) kept[number] = std::move(changed);
  }
  return absl::OkStatus();
}

TEST(FlightFuzzTest, SeedsAreReadToTheirEnd) {
  for (const std::string& seed : FlightSeeds()) {
    int read = 0;
    EXPECT_EQ(RunFlightBytes(seed, &read), absl::OkStatus());
    EXPECT_EQ(read, 2);
  }
}

TEST(FlightFuzzTest, ChangedStreamsAreReadOrRefused) {
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  EXPECT_EQ(RunChangedStreams(50'000, random), absl::OkStatus());
}

TEST(FlightFuzzTest, OffsetsThatAreBelievedAreFound) {
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  wire::planted_wire_fault = wire::WireFault::kBelieveOffsets;
  const absl::Status found = RunChangedStreams(50'000, random);
  wire::planted_wire_fault = wire::WireFault::kNone;
  EXPECT_TRUE(found.message() == "a string outside its bytes" ||
              found.message() == "offsets that descend")
      << found;
}

}  // namespace
}  // namespace eris::fuzz
