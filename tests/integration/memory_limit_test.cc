// Objects of every kind at the memory limit: new rows are refused, each row tells whether it
// counted, and what is there is served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "eris/engine.h"
#include "tests/support/any_object.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

using test::AnyAnswer;
using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::AnyRows;
using testing::HasSubstr;

constexpr size_t kBatch = 10'000;

std::unique_ptr<Engine> OpenWith(uint64_t memory_bytes) {
  Options options = test::SmallOptions();
  options.memory_limit_bytes = memory_bytes;
  return test::OpenEngine(options);
}

class MemoryLimitTest : public testing::TestWithParam<AnyKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, MemoryLimitTest,
                         testing::Values(AnyKind::kIndex, AnyKind::kSigned, AnyKind::kBytes,
                                         AnyKind::kTwoParts, AnyKind::kHash, AnyKind::kTable,
                                         AnyKind::kHeapTable),
                         [](const auto& of) { return NameOf(of.param); });

TEST_P(MemoryLimitTest, EachRowTellsWhetherItCountedAndTheOthersAreServed) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  const auto engine = OpenWith(uint64_t{24} << 20);
  AnyObject object(*engine, GetParam(), "o");
  ASSERT_TRUE(object.Create({uint64_t{1} << 62, uint64_t{1} << 63, uint64_t{3} << 62}).ok());
  std::mt19937_64 random(test::Seed());
  std::map<AnyKey, uint64_t> model;
  const bool counts = Takes(GetParam(), WriteMode::kAdd);
  absl::Status status;
  for (int batch = 0; batch < 1000 && status.ok(); ++batch) {
    AnyRows rows;
    for (size_t i = 0; i < kBatch; ++i) rows.push_back({{random(), 0}, 1 + random() % 1000});
    // Counters that are there go on at the limit.
    for (size_t i = 0; counts && !model.empty() && i < kBatch; i += 10) {
      rows[i].first = model.lower_bound({random() / 2, 0})->first;
    }
    const AnyAnswer answer =
        object.Write(counts ? WriteMode::kAdd : test::PutMode(GetParam()), rows);
    status = answer.status;
    ASSERT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    ASSERT_EQ(answer.executed.size(), kBatch) << status;
    for (size_t i = 0; i < kBatch; ++i) {
      const auto& [key, value] = rows[i];
      if (answer.executed[i]) {
        model[key] = counts ? model[key] + value : value;
        if (counts) {
          ASSERT_EQ(answer.values[i], model[key]);
        }
      } else {
        ASSERT_FALSE(status.ok());
        ASSERT_FALSE(model.contains(key));
        ASSERT_EQ(answer.values[i], 0u);
      }
      if (counts) {
        ASSERT_EQ(answer.applied[i], answer.executed[i]);
      }
    }
    const auto executed = std::count(answer.executed.begin(), answer.executed.end(), 1);
    if (!status.ok()) {
      EXPECT_LT(executed, static_cast<long>(kBatch));
    }
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("memory limit of 24 MiB for data (option "
                                       "memory_limit_bytes, --memory-limit): "),
                             HasSubstr(object.is_table() ? " of 10000 rows were refused"
                                                         : " of 10000 keys were refused")));
  EXPECT_GT(model.size(), 30'000u);
  EXPECT_EQ(engine->Describe("o")->keys, model.size());
  if (object.scans()) {
    const auto all = object.All();
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_TRUE(*all == AnyRows(model.begin(), model.end())) << all->size();
  }
  if (!object.has_keys()) return;
  AnyRows rows;
  std::vector<AnyKey> keys;
  for (const auto& row : model) {
    rows.push_back(row), keys.push_back(row.first);
    if (rows.size() < 1000) continue;
    const AnyAnswer found = object.Lookup(keys);
    ASSERT_TRUE(found.status.ok()) << found.status;
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(found.values[i], rows[i].second);
    // Keys whose values have a fixed length can still be replaced, and erased.
    if (!HasStrings(GetParam())) {
      ASSERT_TRUE(object.Put(rows).ok());
      std::vector<uint8_t> existed;
      ASSERT_TRUE(object.Erase(keys, existed).ok());
      ASSERT_EQ(std::count(existed.begin(), existed.end(), 1), 1000);
    }
    rows.clear(), keys.clear();
  }
}

// A string that cannot be stored leaves the old one.
TEST(MemoryLimitOfStringsTest, ARefusedStringLeavesTheOldOne) {
  const auto engine = OpenWith(uint64_t{64} << 20);
  const auto session = engine->NewSession();
  const Object strings = test::Create(
      *engine, "b",
      {.schema = KeyValueSchema(ColumnType::kUint64, ColumnType::kString), .expected = {0, 10'000}});
  const auto put = [&](const std::vector<uint64_t>& keys, const std::vector<std::string>& values) {
    const test::StringsColumn column(values);
    const ColumnView columns[] = {test::ColumnOf(keys), column.view()};
    return session->Write(strings, {.rows = {keys.size(), columns}}).status;
  };
  const std::vector<uint64_t> keys{1, 2600, 5100, 7600};
  const std::vector<std::string> old(keys.size(), "old"), other(keys.size(), std::string(600'000, 'x'));
  ASSERT_TRUE(put(keys, old).ok());
  absl::Status status;
  for (uint64_t key = 100; status.ok() && key < 200; ++key) {
    status = put({key}, {std::string(kValueBytesMax, 'y')});
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  for (int i = 0; i < 20; ++i) {
    status = put(keys, other);
    if (status.ok()) break;
    ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
    const ColumnView asked = test::ColumnOf(keys);
    const BatchResult found = session->Lookup(strings, {.keys = {keys.size(), {&asked, 1}}});
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_EQ(found.existed, "\x0f");
    for (const std::string& value : test::StringsOf(found.columns[0])) {
      ASSERT_TRUE(value == "old" || value == other[0]) << value.size();
    }
  }
}

}  // namespace
}  // namespace eris
