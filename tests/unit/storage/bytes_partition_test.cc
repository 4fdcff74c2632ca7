// A partition of byte strings against a map, with sizes at every edge (in the word, in a block, at
// the limit), with memory that runs out at every allocation, and while ranges change hands. After
// each case the cache's account is what the rows need.
#include "storage/index/bytes_partition.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/extract.h"
#include "tests/support/write_model.h"
#include "tests/unit/storage/partition_kinds.h"

namespace eris::storage {
namespace {

using BytesModel = std::map<uint64_t, std::string>;

constexpr size_t kSizes[] = {0, 1, 6, 7, 8, 12, 13, 60, 63, 64, 65, 1020, 1021, 4092, 4095, 8192};

std::string Text(uint64_t word) {
  const absl::string_view bytes = BytesOf(word);
  return std::string(bytes.data(), bytes.size());
}

class BytesPartitionTest : public testing::Test {
 protected:
  BytesPartitionTest() : random_(Seed()), partition_(New({})) {}

  std::unique_ptr<BytesPartition> New(const Range& range) {
    auto partition = BytesPartition::Create(range, memory_.cache);
    EXPECT_TRUE(partition.ok()) << partition.status();
    return *std::move(partition);
  }
  std::string Value(size_t size) {
    std::string value(size, '\0');
    for (char& c : value) c = static_cast<char>(random_());
    return value;
  }
  std::string AnyValue() {
    const size_t kind = random_() % 40;
    if (kind < std::size(kSizes)) return Value(kSizes[kind]);
    if (kind == 39 && random_() % 20 == 0) return Value(random_() % (kValueBytesMax + 1));
    return Value(random_() % 300);
  }

  struct Answers {
    std::vector<KeyState> states;
    std::vector<uint64_t> words;
    std::vector<std::string> texts;  // of words that are not 0
  };
  Answers Run(BytesPartition& partition, Operation operation, const std::vector<uint64_t>& keys,
              const std::vector<std::string>& values = {},
              const std::vector<std::string>& expected = {}, BytesSink* sink = nullptr) {
    Strings given, own;
    const std::vector<uint64_t> words = given.Words(values), compared = given.Words(expected);
    std::vector<uint32_t> positions(keys.size());
    std::iota(positions.begin(), positions.end(), 0);
    Answers answers{std::vector<KeyState>(keys.size(), KeyState::kPending),
                    std::vector<uint64_t>(keys.size(), 0),
                    {}};
    // In two parts, as from two commands.
    const auto half = static_cast<uint32_t>(keys.size() / 2);
    std::vector<BatchPart> parts;
    for (const auto& [begin, end] : {std::pair(0u, half), std::pair(half, uint32_t(keys.size()))}) {
      parts.push_back({.count = end - begin,
                       .keys = keys.data() + begin,
                       .values_in = values.empty() ? nullptr : words.data() + begin,
                       .positions = positions.data() + begin,
                       .values_out = answers.words.data(),
                       .states_out = answers.states.data(),
                       .expected = expected.empty() ? nullptr : compared.data() + begin,
                       .bytes_out = sink == nullptr ? &own : sink});
    }
    partition.Execute({operation, parts});
    for (const uint64_t word : answers.words) answers.texts.push_back(word == 0 ? "" : Text(word));
    return answers;
  }
  void Put(BytesPartition& partition, BytesModel& model, const std::vector<uint64_t>& keys,
           const std::vector<std::string>& values) {
    const Answers answers = Run(partition, Operation::kUpsert, keys, values);
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(answers.states[i],
                test::RunOnModel(model, Operation::kUpsert, keys[i], values[i]).state)
          << "key " << keys[i];
    }
  }
  void Fill(BytesPartition& partition, BytesModel& model, size_t rows, uint64_t below) {
    std::vector<uint64_t> keys;
    std::vector<std::string> values;
    for (size_t i = 0; i < rows; ++i) {
      keys.push_back(random_() % below);
      values.push_back(AnyValue());
    }
    Put(partition, model, keys, values);
  }
  void ExpectEqual(BytesPartition& partition, const BytesModel& model) {
    EXPECT_EQ(partition.size(), model.size());
    std::vector<uint64_t> keys;
    for (const auto& [key, value] : model) keys.push_back(key);
    const Answers answers = Run(partition, Operation::kLookup, keys);
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(answers.states[i], KeyState::kPresent) << "key " << keys[i];
      ASSERT_EQ(answers.texts[i], model.at(keys[i])) << "key " << keys[i];
    }
  }
  // The blocks that hold the strings; what is left of the account is the trees'.
  uint64_t RecordsOf(const BytesModel& model) const {
    uint64_t bytes = 0;
    for (const auto& [key, value] : model) {
      if (value.size() > kShortBytesMax)
        bytes += memory_.cache.ClassBytes(BlockBytes(value.size()));
    }
    return bytes;
  }
  void ExpectNothingLeft() { EXPECT_EQ(memory_.cache.used_bytes(), 0u); }

  TreeMemory memory_;
  Random random_;
  std::unique_ptr<BytesPartition> partition_;
  BytesModel model_;
};

TEST_F(BytesPartitionTest, SizesAtEveryEdgeComeBackAsTheyWere) {
  std::vector<uint64_t> keys;
  std::vector<std::string> values;
  for (const size_t size : kSizes) {
    keys.push_back(keys.size());
    values.push_back(Value(size));
  }
  keys.push_back(kKeyMax);
  values.push_back(Value(kValueBytesMax));
  Put(*partition_, model_, keys, values);
  ExpectEqual(*partition_, model_);
  EXPECT_EQ(Run(*partition_, Operation::kLookup, {999}).states[0], KeyState::kAbsent);
  EXPECT_GE(memory_.cache.used_bytes(), RecordsOf(model_));
  partition_.reset();
  ExpectNothingLeft();
}

TEST_F(BytesPartitionTest, EverySizeReplacesEveryOther) {
  for (const size_t before : kSizes) {
    for (const size_t after : kSizes) {
      Put(*partition_, model_, {5}, {Value(before)});
      Put(*partition_, model_, {5}, {Value(after)});
      ExpectEqual(*partition_, model_);
    }
  }
  Run(*partition_, Operation::kErase, {5});
  ExpectNothingLeft();
}

TEST_F(BytesPartitionTest, RandomBatchesAgreeWithAMap) {
  SCOPED_TRACE(SeedText());
  for (int round = 0; round < 150; ++round) {
    const uint64_t below = round % 3 == 0 ? 20 : 2000;  // few keys: many twice in a batch
    if (round % 4 != 3) {
      Fill(*partition_, model_, 1 + random_() % 200, below);
    } else {
      std::vector<uint64_t> keys;
      for (size_t i = 1 + random_() % 200; i > 0; --i) keys.push_back(random_() % below);
      const Answers answers = Run(*partition_, Operation::kErase, keys);
      for (size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(answers.states[i], test::RunOnModel(model_, Operation::kErase, keys[i]).state);
      }
    }
    if (round % 10 == 9) ExpectEqual(*partition_, model_);
  }
  ExpectEqual(*partition_, model_);
  partition_.reset();
  ExpectNothingLeft();
}

// The same keys as words alone, in the same order: what is used beyond their tree is the strings'.
TEST_F(BytesPartitionTest, AccountIsTheTreeAndTheStrings) {
  SCOPED_TRACE(SeedText());
  TreeMemory words_memory;
  auto words = IndexPartition::Create({}, words_memory.cache);
  ASSERT_TRUE(words.ok());
  for (int round = 0; round < 60; ++round) {
    std::vector<uint64_t> keys;
    std::vector<std::string> values;
    for (uint32_t i = 0; i < 200; ++i) {
      keys.push_back(random_() % 3000);
      values.push_back(AnyValue());
    }
    const std::vector<uint64_t> numbers(keys.size());
    if (round % 3 < 2) {
      Put(*partition_, model_, keys, values);
      RunBatch(**words, Operation::kUpsert, keys, numbers);
    } else {
      Run(*partition_, Operation::kErase, keys);
      RunBatch(**words, Operation::kErase, keys);
      for (const uint64_t key : keys) model_.erase(key);
    }
    ASSERT_EQ(memory_.cache.used_bytes(), words_memory.cache.used_bytes() + RecordsOf(model_));
  }
}

TEST_F(BytesPartitionTest, RandomConditionalWritesAgreeWithAMap) {
  SCOPED_TRACE(SeedText());
  for (int round = 0; round < 200; ++round) {
    const auto operation = static_cast<Operation>(4 + round % 3);
    std::vector<uint64_t> keys;
    std::vector<std::string> values, expected;
    for (size_t i = 1 + random_() % 150; i > 0; --i) {
      keys.push_back(random_() % 60);
      values.push_back(AnyValue());
      const auto found = model_.find(keys.back());
      expected.push_back(found != model_.end() && random_() % 2 ? found->second : AnyValue());
    }
    if (operation != Operation::kCompareAndSet) expected.clear();
    const Answers answers = Run(*partition_, operation, keys, values, expected);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto answer = test::RunOnModel(model_, operation, keys[i], values[i],
                                           expected.empty() ? "" : expected[i]);
      EXPECT_EQ(answers.states[i], answer.state);
      EXPECT_EQ(answers.words[i] != 0, answer.value.has_value());
      EXPECT_EQ(answers.texts[i], answer.value.value_or(""));
    }
    if (round % 10 == 9) {
      ExpectEqual(*partition_, model_);
      const uint64_t victim = random_() % 60;
      Run(*partition_, Operation::kErase, {victim});
      model_.erase(victim);
    }
  }
  ExpectEqual(*partition_, model_);
  partition_.reset();
  ExpectNothingLeft();
}

TEST_F(BytesPartitionTest, OnePieceOfReplyMemoryPerPartAndGroup) {
  std::vector<uint64_t> keys;
  std::vector<std::string> values;
  for (uint64_t key = 0; key < 4 * kFindGroupMax; ++key) {
    keys.push_back(key);
    values.push_back(Value(100));
  }
  Put(*partition_, model_, keys, values);
  Strings sink;
  Run(*partition_, Operation::kLookup, keys, {}, {}, &sink);
  EXPECT_EQ(sink.pieces, 4u);
}

TEST_F(BytesPartitionTest, KeysWithoutRoomForTheirAnswerSayIt) {
  std::vector<uint64_t> keys;
  std::vector<std::string> values;
  for (uint64_t key = 0; key < 10; ++key) {
    keys.push_back(key);
    values.push_back(Value(key == 9 ? 3 : 100));
  }
  Put(*partition_, model_, keys, values);
  Strings sink(3 * RecordBytes(100) + 5);
  const Answers answers = Run(*partition_, Operation::kLookup, keys, {}, {}, &sink);
  for (size_t i = 0; i < 10; ++i) {
    const bool answered = i < 3 || i == 9;  // the last one needs no room
    EXPECT_EQ(answers.states[i], answered ? KeyState::kPresent : KeyState::kNoRoom) << i;
    EXPECT_EQ(answers.texts[i], answered ? values[i] : "") << i;
  }
  // A write that cannot be answered is not done.
  Strings none(0);
  const Answers writes = Run(*partition_, Operation::kReplaceIfPresent, keys,
                             std::vector<std::string>(10, "new"), {}, &none);
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(writes.states[i], KeyState::kNoRoom) << i;
  EXPECT_EQ(writes.states[9], KeyState::kPresent);
  model_[9] = "new";
  ExpectEqual(*partition_, model_);
}

// At each allocation in turn: what is refused has changed nothing, and the account stays right.
TEST_F(BytesPartitionTest, RefusedMemoryAtAnyPointLeavesTheKeyAsItWas) {
  SCOPED_TRACE(SeedText());
  Fill(*partition_, model_, 100, 50);
  for (const Operation operation :
       {Operation::kUpsert, Operation::kInsertIfAbsent, Operation::kReplaceIfPresent}) {
    for (uint64_t nth = 1; nth < 60; ++nth) {
      std::vector<uint64_t> keys;
      std::vector<std::string> values;
      for (int i = 0; i < 20; ++i) {
        keys.push_back(random_() % 80);
        values.push_back(AnyValue());
      }
      memory_.cache.FailAllocationsFrom(nth);
      const Answers answers = Run(*partition_, operation, keys, values);
      memory_.cache.FailAllocationsFrom(0);
      for (size_t i = 0; i < keys.size(); ++i) {
        if (answers.states[i] == KeyState::kNoMemory) continue;
        EXPECT_EQ(answers.states[i], test::RunOnModel(model_, operation, keys[i], values[i]).state);
      }
      ExpectEqual(*partition_, model_);
      const uint64_t victim = random_() % 80;
      Run(*partition_, Operation::kErase, {victim});
      model_.erase(victim);
    }
  }
  partition_.reset();
  ExpectNothingLeft();
}

TEST_F(BytesPartitionTest, SplitAndAbsorbMoveRowsWithTheirStrings) {
  SCOPED_TRACE(SeedText());
  for (int round = 0; round < 20; ++round) {
    Fill(*partition_, model_, 100, 1000);
    const uint64_t cut = 1 + random_() % 999;
    auto upper = partition_->SplitAt(Key::FromU64(cut));
    ASSERT_TRUE(upper.ok()) << upper.status();
    BytesModel low(model_.begin(), model_.lower_bound(cut));
    BytesModel high(model_.lower_bound(cut), model_.end());
    ExpectEqual(*partition_, low);
    ExpectEqual(static_cast<BytesPartition&>(**upper), high);
    if (round % 2 == 0) {
      ASSERT_TRUE(partition_->Absorb(**upper).ok());
    } else {
      ASSERT_TRUE((*upper)->Absorb(*partition_).ok());
      partition_.reset(static_cast<BytesPartition*>(upper->release()));
    }
    ExpectEqual(*partition_, model_);
  }
  partition_.reset();
  ExpectNothingLeft();
}

TEST_F(BytesPartitionTest, RefusedSplitChangesNothing) {
  Fill(*partition_, model_, 500, kKeyMax);
  for (uint64_t nth = 1; nth < 10; ++nth) {
    memory_.cache.FailAllocationsFrom(nth);
    auto upper = partition_->SplitAt(Key::FromU64(kKeyMax / 2));
    memory_.cache.FailAllocationsFrom(0);
    if (upper.ok()) {
      EXPECT_TRUE(partition_->Absorb(**upper).ok());
    }
    ExpectEqual(*partition_, model_);
  }
}

TEST_F(BytesPartitionTest, ExtractAndIngestCarryTheStrings) {
  SCOPED_TRACE(SeedText());
  Fill(*partition_, model_, 2000, kKeyMax);
  TreeMemory other;
  auto target = BytesPartition::Create(Range{{}, Key{}}, other.cache);
  ASSERT_TRUE(target.ok());
  while (!partition_->range().Empty()) {
    ExchangeChunk chunk;
    ASSERT_TRUE(test::Extract(*partition_, 1 + random_() % 300, chunk).ok());
    // Refused for want of memory at any point, then taken.
    const uint64_t used = other.cache.used_bytes();
    for (const uint64_t nth : {1, 3, 20, 100}) {
      other.cache.FailAllocationsFrom(nth);
      const absl::Status refused = (*target)->Ingest(chunk);
      other.cache.FailAllocationsFrom(0);
      if (refused.ok()) break;
      EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_EQ(other.cache.used_bytes(), used);
      if (nth == 100) {
        ASSERT_TRUE((*target)->Ingest(chunk).ok());
      }
    }
  }
  ExpectNothingLeft();
  ExpectEqual(**target, model_);
  target->reset();
  EXPECT_EQ(other.cache.used_bytes(), 0u);
}

TEST_F(BytesPartitionTest, ExtractStopsAtABoundOfBytes) {
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 40; ++key) keys.push_back(key);
  Put(*partition_, model_, keys, std::vector<std::string>(40, Value(kValueBytesMax)));
  ExchangeChunk chunk;
  ASSERT_TRUE(test::Extract(*partition_, 40, chunk).ok());
  EXPECT_EQ(chunk.keys.size(), 32u);
  EXPECT_EQ(chunk.bytes.size(), kBatchValueBytesMax);
  EXPECT_EQ(partition_->size(), 8u);
}

TEST_F(BytesPartitionTest, IngestRefusesOffsetsThatDoNotFit) {
  auto empty = New(Range{{}, Key{}});
  const std::string three = "abc";
  for (const auto& offsets : std::vector<std::vector<uint64_t>>{
           {}, {0}, {0, 3, 3}, {1, 3}, {0, 2}, {0, 4}, {3, 0}, {0, uint64_t{1} << 40}}) {
    const ExchangeChunk chunk{
        .covers = {}, .keys = {7}, .values = {}, .offsets = offsets, .bytes = three};
    EXPECT_EQ(empty->Ingest(chunk).code(), absl::StatusCode::kInvalidArgument);
  }
  const ExchangeChunk words{.covers = {}, .keys = {7}, .values = {8}};
  EXPECT_EQ(empty->Ingest(words).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(BytesPartitionTest, ScanShowsNoWordToAnyone) {
  Fill(*partition_, model_, 300, 1000);
  std::vector<uint64_t> keys(1000), values(1000, 1);
  ScanRows rows{.keys = keys.data(), .values = values.data(), .capacity = 1000, .rows = 0};
  ScanCursor cursor{.rest = {}};
  partition_->Scan(cursor, {}, rows);
  ASSERT_EQ(rows.rows, model_.size());
  uint32_t i = 0;
  for (const auto& [key, value] : model_) {
    EXPECT_EQ(keys[i], key);
    EXPECT_EQ(values[i++], 0u);
  }
}

// In chunks of any size, both ways, with and without a limit: each row once, in order.
TEST_F(BytesPartitionTest, ScansGiveTheStringsInOrder) {
  SCOPED_TRACE(SeedText());
  Fill(*partition_, model_, 3000, 5000);
  for (const ScanDirection direction : {ScanDirection::kForward, ScanDirection::kBackward}) {
    for (const size_t room : {RecordBytes(kValueBytesMax), size_t{3} << 20}) {
      for (const uint64_t limit : {uint64_t{0}, uint64_t{777}}) {
        ScanCursor cursor{.rest = {Key::FromU64(100), Key::FromU64(4900)}};
        if (limit > 0) cursor.rows_left = limit;
        cursor.query.direction = direction;
        std::vector<std::pair<uint64_t, std::string>> got;
        for (int chunks = 0; !cursor.done; ++chunks) {
          ASSERT_LT(chunks, 10'000);
          uint64_t keys[1000];
          uint64_t values[1000];
          Strings sink(room);
          ScanRows rows{
              .keys = keys, .values = values, .capacity = 1000, .rows = 0, .bytes = &sink};
          const ScanBudget slice{.deadline_ns = random_() % 2 ? 0 : ~uint64_t{0}};
          partition_->Scan(cursor, slice, rows);
          ASSERT_GT(rows.rows + cursor.done, 0u);
          for (uint32_t i = 0; i < rows.rows; ++i) got.emplace_back(keys[i], Text(values[i]));
        }
        std::vector<std::pair<uint64_t, std::string>> wanted(model_.lower_bound(100),
                                                             model_.lower_bound(4900));
        if (direction == ScanDirection::kBackward) std::reverse(wanted.begin(), wanted.end());
        if (limit > 0 && wanted.size() > limit) wanted.resize(limit);
        ASSERT_EQ(got.size(), wanted.size());
        ASSERT_TRUE(got == wanted);
      }
    }
  }
}

TEST_F(BytesPartitionTest, CountsWithoutStrings) {
  Fill(*partition_, model_, 500, 5000);
  ScanCursor cursor{.rest = {}};
  cursor.query.count_only = true;
  RangeAggregate aggregate;
  while (!cursor.done) partition_->Aggregate(cursor, {}, aggregate);
  EXPECT_EQ(aggregate.count, model_.size());
}

TEST_F(BytesPartitionTest, AbandonFreesNothing) {
  Fill(*partition_, model_, 100, 1000);
  const uint64_t used = memory_.cache.used_bytes();
  partition_->Abandon();
  partition_.reset();
  EXPECT_EQ(memory_.cache.used_bytes(), used);
}

}  // namespace
}  // namespace eris::storage
