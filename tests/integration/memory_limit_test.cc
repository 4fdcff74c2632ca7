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
#include "eris/errors.h"
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

class MemoryLimitTest : public testing::TestWithParam<AnyKind> {
 protected:
  // Writes batches until one is refused, in part or as a whole.
  absl::Status Fill() {
    for (int batch = 0; batch < 1000; ++batch) {
      AnyRows rows;
      for (size_t i = 0; i < kBatch; ++i) rows.push_back({{random_(), 0}, 1 + random_() % 1000});
      // Counters that are there go on at the limit.
      for (size_t i = 0; counts_ && !model_.empty() && i < kBatch; i += 10) {
        rows[i].first = model_.lower_bound({random_() / 2, 0})->first;
      }
      const AnyAnswer answer =
          object_.Write(counts_ ? WriteMode::kAdd : test::PutMode(GetParam()), rows);
      stored_ += kBatch - answer.refused;
      if (object_.has_keys()) Note(rows, answer);  // of others only how many were refused is told
      if (!answer.status.ok() || HasFailure()) return answer.status;
    }
    return absl::OkStatus();
  }
  void Note(const AnyRows& rows, const AnyAnswer& answer) {
    ASSERT_EQ(answer.executed.size(), rows.size()) << answer.status;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto& [key, value] = rows[i];
      if (answer.executed[i]) {
        stored_ -= model_.contains(key);
        model_[key] = counts_ ? model_[key] + value : value;
      } else {
        ASSERT_FALSE(answer.status.ok());
        ASSERT_FALSE(model_.contains(key));
      }
      if (!counts_) continue;
      ASSERT_EQ(answer.applied[i], answer.executed[i]);
      ASSERT_EQ(answer.values[i], answer.executed[i] ? model_[key] : 0);
    }
    EXPECT_EQ(std::count(answer.executed.begin(), answer.executed.end(), 0),
              static_cast<long>(answer.refused));
  }
  void ExpectServed(const AnyRows& rows) {
    std::vector<AnyKey> keys;
    for (const auto& row : rows) keys.push_back(row.first);
    const AnyAnswer found = object_.Lookup(keys);
    ASSERT_TRUE(found.status.ok()) << found.status;
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(found.values[i], rows[i].second);
    // Keys whose values have a fixed length can still be replaced, and erased.
    if (HasStrings(GetParam())) return;
    ASSERT_TRUE(object_.Put(rows).ok());
    const AnyAnswer erased = object_.Write(WriteMode::kErase, rows);
    ASSERT_TRUE(erased.status.ok()) << erased.status;
    ASSERT_EQ(erased.existed, std::vector<uint8_t>(rows.size(), 1));
  }

  std::mt19937_64 random_{test::Seed()};
  const bool counts_ = Takes(GetParam(), WriteMode::kAdd);
  std::unique_ptr<Engine> engine_ = OpenWith(uint64_t{24} << 20);
  AnyObject object_{*engine_, GetParam(), "o"};
  std::map<AnyKey, uint64_t> model_;
  uint64_t stored_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Kinds, MemoryLimitTest, testing::ValuesIn(test::kAllKinds),
                         test::kNameOfKind);

TEST_P(MemoryLimitTest, EachRowTellsWhetherItCountedAndTheOthersAreServed) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  ASSERT_TRUE(object_.Create({uint64_t{1} << 62, uint64_t{1} << 63, uint64_t{3} << 62}).ok());
  const absl::Status status = Fill();
  ASSERT_FALSE(HasFailure());
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("memory limit of 24 MiB for data (option "
                                       "memory_limit_bytes, --memory-limit): "),
                             HasSubstr(" of 10000 "), HasSubstr("were refused")));
  EXPECT_GT(stored_, 30'000u);
  EXPECT_EQ(engine_->Describe("o")->keys, stored_);
  if (object_.scans()) {
    const auto all = object_.All();
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(all->size(), stored_);
    if (object_.has_keys()) {
      EXPECT_TRUE(*all == AnyRows(model_.begin(), model_.end()));
    }
  }
  AnyRows rows;
  for (const auto& row : model_) {
    rows.push_back(row);
    if (rows.size() < 1000) continue;
    ASSERT_NO_FATAL_FAILURE(ExpectServed(rows));
    rows.clear();
  }
}

// A string that cannot be stored leaves the old one.
TEST(MemoryLimitOfStringsTest, ARefusedStringLeavesTheOldOne) {
  const auto engine = OpenWith(uint64_t{64} << 20);
  const auto session = engine->NewSession();
  const Object strings =
      test::Create(*engine, "b",
                   {.schema = KeyValueSchema(ColumnType::kUint64, ColumnType::kString),
                    .expected = {0, 10'000}});
  const auto put = [&](const std::vector<uint64_t>& keys, const std::vector<std::string>& values) {
    const test::StringsColumn column(values);
    const ColumnView columns[] = {test::ColumnOf(keys), column.view()};
    return session->Write(strings, {.rows = {keys.size(), columns}}).status;
  };
  const std::vector<uint64_t> keys{1, 2600, 5100, 7600};
  const std::vector<std::string> old(keys.size(), "old"),
      other(keys.size(), std::string(600'000, 'x'));
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

TEST(MemoryLimitOfScansTest, RowsThatFindNoRoomInAnObjectEndTheScanWithTheReason) {
  const auto engine = OpenWith(uint64_t{24} << 20);
  AnyObject table(*engine, AnyKind::kTable, "t");
  ASSERT_TRUE(table.Create({uint64_t{1} << 62, uint64_t{1} << 63, uint64_t{3} << 62}).ok());
  const Object copy = test::Create(*engine, "copy", test::OptionsOf(AnyKind::kTable));
  std::mt19937_64 random(test::Seed());
  absl::Status status;
  for (int batch = 0; status.ok() && batch < 1000; ++batch) {
    AnyRows rows;
    for (size_t i = 0; i < kBatch; ++i) rows.push_back({{random(), 0}, i});
    status = table.Put(rows);
  }
  ASSERT_EQ(ErrorDetailsOf(status).reason, "MEMORY_LIMIT") << status;
  status = table.session().ScanInto(table.object(), {}, copy).status();
  EXPECT_EQ(ErrorDetailsOf(status).reason, "MEMORY_LIMIT") << status;
}

}  // namespace
}  // namespace eris
