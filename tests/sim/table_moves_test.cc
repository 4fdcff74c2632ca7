// Tables whose ranges change hands under scans, by the hundred. ERIS_SEED=n runs that one alone,
// ERIS_SIM_SEEDS=n so many.
#include "tests/sim/table_moves.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris::sim {
namespace {

constexpr int kTurns = 250;
constexpr uint64_t kSeeds = test::Fewer(1000, 60);

TEST(TableMovesTest, NoSeedFails) {
  TableMoves::Coverage all;
  const auto given = test::GivenSeed();
  const char* const wanted = std::getenv("ERIS_SIM_SEEDS");
  const uint64_t seeds = given               ? 1
                         : wanted == nullptr ? kSeeds
                                             : std::strtoull(wanted, nullptr, 10);
  const uint64_t first = given.value_or(1);
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    TableMoves moves(seed, TableMovesFault::kNone);
    ASSERT_EQ(moves.Run(kTurns), "") << test::SeedText(seed);
    const TableMoves::Coverage& one = moves.coverage();
    all.chunks += one.chunks;
    all.low_ends += one.low_ends;
    all.refused += one.refused;
    all.returned_at_once += one.returned_at_once;
    all.new_members += one.new_members;
    all.parts_gone += one.parts_gone;
    all.adjacent += one.adjacent;
    all.scans += one.scans;
    all.sums += one.sums;
    all.tokens += one.tokens;
    all.taken_inside_turns += one.taken_inside_turns;
    all.taken_in_steps += one.taken_in_steps;
    all.waited += one.waited;
    all.reads_in_steps += one.reads_in_steps;
  }
  std::printf(
      "%lu chunks, %lu of low ends, %lu taken back, %lu sent back at once, %lu new members, "
      "%lu partitions gone, %lu adjacent, %lu scans, %lu sums, %lu with tokens, %lu snapshots "
      "inside turns, %lu during steps, %lu scans waited, %lu reads during steps\n",
      all.chunks, all.low_ends, all.refused, all.returned_at_once, all.new_members, all.parts_gone,
      all.adjacent, all.scans, all.sums, all.tokens, all.taken_inside_turns, all.taken_in_steps,
      all.waited, all.reads_in_steps);
  if (seeds < kSeeds) return;
  for (const uint64_t times :
       {all.chunks, all.low_ends, all.refused, all.returned_at_once, all.new_members,
        all.parts_gone, all.adjacent, all.scans, all.sums, all.tokens, all.taken_inside_turns,
        all.taken_in_steps, all.waited, all.reads_in_steps}) {
    EXPECT_GT(times, 0u);
  }
}

class TableMovesFaultTest : public testing::TestWithParam<TableMovesFault> {};

TEST_P(TableMovesFaultTest, IsFound) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    TableMoves moves(seed, GetParam());
    const std::string error = moves.Run(kTurns);
    if (error.empty()) continue;
    std::printf("found after %lu seeds: %s\n", seed, error.c_str());
    return;
  }
  ADD_FAILURE() << "not found";
}

std::string NameOf(const testing::TestParamInfo<TableMovesFault>& of) {
  constexpr const char* kNames[] = {"None",          "GateOpen",      "DiesLater",
                                    "DropOldRows",   "OldBirths",     "TakeBackLoses",
                                    "OwnersOnly",    "MembersEarly",  "PlaceByRange",
                                    "PartGoesEarly", "StaleRegistry", "EndEarly"};
  return kNames[static_cast<size_t>(of.param)];
}

INSTANTIATE_TEST_SUITE_P(
    All, TableMovesFaultTest,
    testing::Values(TableMovesFault::kGateOpen, TableMovesFault::kDiesLater,
                    TableMovesFault::kDropOldRows, TableMovesFault::kOldBirths,
                    TableMovesFault::kTakeBackLoses, TableMovesFault::kOwnersOnly,
                    TableMovesFault::kMembersEarly, TableMovesFault::kPlaceByRange,
                    TableMovesFault::kPartGoesEarly, TableMovesFault::kStaleRegistry,
                    TableMovesFault::kEndEarly),
    NameOf);

}  // namespace
}  // namespace eris::sim
