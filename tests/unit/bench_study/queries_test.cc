// The blind program's queries by several threads, compared with a map and a sort.
#include "bench/study/blind/queries.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/study/blind/loaded_tables.h"
#include "bench/study/blind/reference.h"
#include "bench/study/blind/team.h"

namespace eris::bench::study {
namespace {

constexpr size_t kThreads = 4;
constexpr double kScale = 0.0002;

std::unique_ptr<Query> Make(const std::string& name, const Tables& tables, const Team& team) {
  return name == "w4" ? MakeIndexJoin(tables, team) : MakeQuery(name, tables);
}

TEST(BlindQueriesTest, AnswersAreThoseOfAMapAndASort) {
  for (const char* name : {"w1", "w2", "w3", "w4"}) {
    for (const auto distribution :
         {Distribution::kMovingCluster, Distribution::kSequential, Distribution::kZipf}) {
      const Team team(kThreads, {});
      const LoadedTables loaded(IsJoin(name), distribution, kScale, 3, false, team);
      const auto query = Make(name, loaded.tables(), team);
      const Answer answer = query->Work(team);
      query->Free(team);
      const Answer right = ReferenceOf(name, loaded.tables());
      EXPECT_EQ(answer.rows, right.rows) << name;
      EXPECT_EQ(answer.checksum, right.checksum) << name;
      EXPECT_GT(answer.rows, 100u) << name;
    }
  }
}

TEST(BlindQueriesTest, ALostRecordChangesTheChecksum) {
  const Team team = Team::OfCaller();
  for (const char* name : {"w1", "w2", "w3", "w4"}) {
    const LoadedTables loaded(IsJoin(name), Distribution::kZipf, kScale, 3, false, team);
    Tables less = loaded.tables();
    less.records = less.records.first(less.records.size() - 1);
    const auto query = Make(name, less, team);
    const Answer answer = query->Work(team);
    query->Free(team);
    EXPECT_NE(answer.checksum, ReferenceOf(name, loaded.tables()).checksum) << name;
  }
}

TEST(BlindQueriesTest, TheMedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle) {
  std::vector<uint64_t> one = {5}, two = {9, 4}, four = {7, 1, 100, 2}, five = {5, 4, 3, 2, 1};
  EXPECT_EQ(TwiceTheMedian(one), 10u);
  EXPECT_EQ(TwiceTheMedian(two), 13u);
  EXPECT_EQ(TwiceTheMedian(four), 9u);
  EXPECT_EQ(TwiceTheMedian(five), 6u);
}

TEST(TeamTest, SharesCoverAllAndEachCpuIsThere) {
  const Team team(3, CpusFor("sparse", 3));
  std::vector<int> taken(10);
  team.RunShares(taken.size(), [&](size_t, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) ++taken[i];
  });
  EXPECT_EQ(taken, std::vector<int>(10, 1));
  EXPECT_TRUE(CpusFor("none", 3).empty());
  EXPECT_EQ(CpusFor("dense", 3).size(), 3u);
}

}  // namespace
}  // namespace eris::bench::study
