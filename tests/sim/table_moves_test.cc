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
constexpr uint64_t kSeeds = test::Fewer(150, 30);

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
    all.splits += one.splits;
    all.splits_refused += one.splits_refused;
    all.forks += one.forks;
    all.absorbs += one.absorbs;
    all.restarts += one.restarts;
    all.copies += one.copies;
    all.prepared += one.prepared;
    all.scans += one.scans;
    all.sums += one.sums;
    all.taken_inside_turns += one.taken_inside_turns;
  }
  std::printf(
      "%lu splits, %lu refused, %lu forks of pieces, %lu absorbed, %lu begun again, "
      "%lu copies, %lu prepared, %lu scans, %lu sums, %lu snapshots inside turns\n",
      all.splits, all.splits_refused, all.forks, all.absorbs, all.restarts, all.copies,
      all.prepared, all.scans, all.sums, all.taken_inside_turns);
  if (seeds < kSeeds) return;
  for (const uint64_t times :
       {all.splits, all.splits_refused, all.forks, all.absorbs, all.restarts, all.copies,
        all.prepared, all.scans, all.sums, all.taken_inside_turns}) {
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
  constexpr const char* kNames[] = {"None",         "PointerCursor", "KeepPlace", "LeaveVersions",
                                    "ForgetBirths", "StaleRegistry", "EndEarly"};
  return kNames[static_cast<size_t>(of.param)];
}

INSTANTIATE_TEST_SUITE_P(
    All, TableMovesFaultTest,
    testing::Values(TableMovesFault::kPointerCursor, TableMovesFault::kKeepPlace,
                    TableMovesFault::kLeaveVersions, TableMovesFault::kForgetBirths,
                    TableMovesFault::kStaleRegistry, TableMovesFault::kEndEarly),
    NameOf);

}  // namespace
}  // namespace eris::sim
