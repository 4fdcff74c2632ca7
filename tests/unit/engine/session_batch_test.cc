// What a session makes of batches: handles are checked, columns are read by their types, and what
// an object of a kind does not take is refused with nothing changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/any_object.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

using test::AnyBatch;
using test::AnyKind;
using test::ColumnOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotOfTheKind = absl::StatusCode::kFailedPrecondition;

class SessionBatchTest : public testing::Test {
 protected:
  SessionBatchTest() : session_(engine_->NewSession()) {}

  Object Create(const CreateOptions& options, const std::string& name = "o") {
    return engine_.While([&] { return test::Create(*engine_, name, options); });
  }
  BatchResult Write(const Object& object, const WriteBatch& batch) {
    return engine_.While([&] { return session_->Write(object, batch); });
  }
  BatchResult Lookup(const Object& object, const LookupBatch& batch) {
    return engine_.While([&] { return session_->Lookup(object, batch); });
  }

  test::HandEngine engine_{2};
  std::unique_ptr<Session> session_;
  const std::vector<uint64_t> keys_{1, 2, 3};
};

TEST_F(SessionBatchTest, AHandleIsOfOneEngineAndOneObject) {
  const Object object = Create({});
  const Object copy = object;
  auto other = engine_->NewSession();
  EXPECT_TRUE(engine_.While([&] { return other->Upsert(copy, keys_, keys_); }).ok());
  EXPECT_EQ(session_->Open("p").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session_->Erase({}, keys_).code(), kInvalid);
  const ColumnView column = ColumnOf(keys_);
  const LookupBatch batch{.keys = {3, {&column, 1}}};
  EXPECT_EQ(session_->Lookup({}, batch).status.code(), kInvalid);
  EXPECT_EQ(session_->OpenScan({}, {}).status().code(), kInvalid);
  test::HandEngine elsewhere(1);
  const Object foreign = elsewhere.While([&] { return test::Create(*elsewhere, "o", {}); });
  const BatchResult result = session_->Lookup(foreign, batch);
  EXPECT_THAT(std::string(result.status.message()), HasSubstr("another engine"));
  EXPECT_EQ(result.refused, 3u);
  struct Other final : Object::State {
    using State::State;
  };
  const auto state =
      std::make_shared<const Other>("o", ObjectId{1}, ObjectKind::kIndex, KeyValueSchema());
  EXPECT_EQ(session_->Lookup(Object(state), batch).status.code(), kInvalid);

  EXPECT_TRUE(engine_.While([&] { return engine_->Drop("o"); }).ok());
  const Object again = Create({});
  EXPECT_NE(object.id(), again.id());
  const absl::Status dropped = session_->Upsert(object, keys_, keys_);
  EXPECT_EQ(dropped.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(dropped.message(), "object \"o\" has been dropped");
  EXPECT_TRUE(engine_.While([&] { return session_->Upsert(again, keys_, keys_); }).ok());
}

// More than a session keeps an order of.
TEST_F(SessionBatchTest, ASessionForgetsObjectsThatAreIdle) {
  const Object object = Create({});
  for (int i = 0; i < 1100; ++i) {
    const Object other = Create({}, "p");
    ASSERT_TRUE(engine_.While([&] { return session_->Upsert(other, keys_, keys_); }).ok());
    ASSERT_TRUE(engine_.While([&] { return engine_->Drop("p"); }).ok());
  }
  EXPECT_TRUE(engine_.While([&] { return session_->Upsert(object, keys_, keys_); }).ok());
}

TEST_F(SessionBatchTest, KeysAreReadByTheirTypes) {
  const Object object =
      Create({.schema = KeyValueSchema({ColumnType::kFloat64, ColumnType::kDate})});
  const std::vector<double> firsts{-1.5, 0.0, std::numeric_limits<double>::infinity()};
  const std::vector<int32_t> seconds{-7, 0, 9};
  const ColumnView rows[] = {ColumnOf(firsts), ColumnOf(seconds), ColumnOf(keys_)};
  EXPECT_TRUE(Write(object, {.rows = {3, rows}}).status.ok());
  // In another order; the key columns are answered as they came.
  const std::vector<double> asked{0.0, -1.5, -1.5};
  const std::vector<int32_t> days{0, -7, 0};
  const ColumnView keys[] = {ColumnOf(asked), ColumnOf(days)};
  const std::vector<std::string> columns{"second_key", "value", "key", "value"};
  const BatchResult result = Lookup(object, {.keys = {3, keys}, .columns = columns});
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(test::FlagsOf(result.existed, 3), (std::vector<uint8_t>{1, 1, 0}));
  EXPECT_TRUE(result.executed.empty());
  ASSERT_EQ(result.columns.size(), 4u);
  EXPECT_EQ(test::NumbersOf<int32_t>(result.columns[0]), days);
  EXPECT_EQ(test::NumbersOf<double>(result.columns[2]), asked);
  for (const size_t i : {1, 3}) {
    const std::vector<uint64_t> values = test::NumbersOf(result.columns[i]);
    EXPECT_EQ(values[0], 2u);
    EXPECT_EQ(values[1], 1u);
  }
  const std::vector<double> nan{0, 1, std::numeric_limits<double>::quiet_NaN()};
  const ColumnView with_nan[] = {ColumnOf(nan), ColumnOf(days)};
  const BatchResult refused = Lookup(object, {.keys = {3, with_nan}});
  EXPECT_EQ(refused.status.code(), kInvalid);
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("column key, row 2: NaN"));
  EXPECT_EQ(refused.refused, 3u);
}

TEST_F(SessionBatchTest, StringsTravelInColumnsWithAnyOffset) {
  const Object object = Create({.schema = KeyValueSchema(ColumnType::kInt64, ColumnType::kString)});
  const std::vector<int64_t> keys{-5, 0, 5};
  const std::string bytes = "....shortand a string that no word has room for";
  const auto length = static_cast<uint32_t>(bytes.size());
  const std::vector<uint32_t> offsets{4, 9, 9, length};
  const ColumnView rows[] = {ColumnOf(keys), {.values = bytes.data(), .offsets = offsets.data()}};
  EXPECT_TRUE(Write(object, {.rows = {3, rows}}).status.ok());
  const BatchResult found = Lookup(object, {.keys = {3, {rows, 1}}});
  ASSERT_TRUE(found.status.ok()) << found.status;
  EXPECT_EQ(test::StringsOf(found.columns[0]),
            (std::vector<std::string>{"short", "", bytes.substr(9)}));
  // Not all of it has room: the rest is asked for again.
  const BatchResult some = Lookup(object, {.keys = {3, {rows, 1}}, .answer_bytes_max = 8});
  EXPECT_EQ(some.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(some.refused, 1u);
  EXPECT_EQ(test::FlagsOf(some.executed, 3), (std::vector<uint8_t>{1, 1, 0}));
  EXPECT_EQ(test::StringsOf(some.columns[0]), (std::vector<std::string>{"short", "", ""}));
  // Twice what has room once.
  const std::vector<std::string> twice{"value", "value"};
  const uint64_t once = 64;
  EXPECT_TRUE(Lookup(object, {.keys = {3, {rows, 1}}, .answer_bytes_max = once}).status.ok());
  const BatchResult both =
      Lookup(object, {.keys = {3, {rows, 1}}, .columns = twice, .answer_bytes_max = once});
  EXPECT_EQ(both.refused, 1u);
  EXPECT_EQ(test::StringsOf(both.columns[1]), (std::vector<std::string>{"short", "", ""}));
  const WriteBatch set{
      .mode = WriteMode::kCompareAndSet, .rows = {3, rows}, .expected = {3, {&rows[1], 1}}};
  const BatchResult swapped = Write(object, set);
  EXPECT_EQ(test::FlagsOf(swapped.applied, 3), (std::vector<uint8_t>{1, 1, 1}));
  EXPECT_EQ(test::StringsOf(swapped.columns[0])[0], "short");
}

TEST_F(SessionBatchTest, ColumnsWithoutAHolderAreCopiedAndOthersAreKept) {
  for (const AnyKind kind : {AnyKind::kIndex, AnyKind::kSigned, AnyKind::kBytes, AnyKind::kTwoParts,
                             AnyKind::kHash, AnyKind::kTable, AnyKind::kHeapTable}) {
    SCOPED_TRACE(test::NameOf(kind));
    test::AnyObject object(*engine_, kind, test::NameOf(kind));
    ASSERT_TRUE(engine_.While([&] { return object.Create(test::OptionsOf(kind)); }).ok());
    ASSERT_TRUE(object.Ready().ok());
    for (const bool held : {false, true}) {
      auto batch = std::make_shared<AnyBatch>(kind);
      for (const uint64_t key : keys_) batch->Add({key + 10 * held, 0}, key);
      WriteBatch write = batch->write(test::PutMode(kind));
      if (held) write.holder = batch;
      std::weak_ptr<AnyBatch> kept = batch;
      std::atomic<bool> done{false};
      const auto pending =
          object.session().WriteAsync(object.object(), write, [&](const BatchResult& result) {
            EXPECT_TRUE(result.status.ok()) << result.status;
            EXPECT_EQ(kept.expired(), !held);
            done.store(true);
          });
      batch.reset();
      write.holder.reset();
      ASSERT_TRUE(pending.ok()) << pending.status();
      EXPECT_EQ(kept.expired(), !held);
      engine_.StepUntil([&] { return done.load(); });
      // Let go after the callback, though the handle is there.
      test::HandEngine::Await([&] { return kept.expired(); });
    }
    EXPECT_EQ(engine_->Describe(object.name())->keys, 6u);
  }
}

TEST_F(SessionBatchTest, EachKindTakesItsModes) {
  for (const AnyKind kind :
       {AnyKind::kIndex, AnyKind::kBytes, AnyKind::kHash, AnyKind::kTable, AnyKind::kHeapTable}) {
    const Object object = Create(test::OptionsOf(kind), test::NameOf(kind));
    AnyBatch rows(kind, test::AnyRows{{{1, 0}, 1}});
    for (int mode = 0; mode <= 8; ++mode) {
      SCOPED_TRACE(test::NameOf(kind) + ", mode " + std::to_string(mode));
      WriteBatch batch = rows.write(static_cast<WriteMode>(mode));
      AnyBatch expected(kind, test::AnyRows{{{1, 0}, 1}});
      if (mode == 3) batch.expected = expected.values();
      const absl::Status status = Write(object, batch).status;
      if (mode == 0 || mode == 8) {
        EXPECT_EQ(status.code(), kInvalid);
      } else if (test::Takes(kind, batch.mode)) {
        EXPECT_TRUE(status.ok()) << status;
      } else {
        EXPECT_EQ(status.code(), kNotOfTheKind);
      }
    }
    const absl::Status found = Lookup(object, {.keys = rows.keys()}).status;
    EXPECT_EQ(found.code(), test::HasKeys(kind) ? absl::StatusCode::kOk : kNotOfTheKind);
  }
}

TEST_F(SessionBatchTest, BatchesThatDoNotFitAreRefused) {
  const Object object = Create({});
  const ColumnView column = ColumnOf(keys_);
  const ColumnView two[] = {column, column};
  const auto refusal = [&](const WriteBatch& batch) {
    const BatchResult result = session_->Write(object, batch);
    EXPECT_EQ(result.status.code(), kInvalid);
    EXPECT_EQ(result.refused, result.count);
    return std::string(result.status.message());
  };
  EXPECT_THAT(refusal({.rows = {0, two}}), HasSubstr("at least one row"));
  EXPECT_THAT(refusal({.rows = {kBatchKeysMax + 1, two}}), HasSubstr("1048577"));
  EXPECT_THAT(refusal({.rows = {3, {two, 1}}}), HasSubstr("1 columns, not of 2"));
  EXPECT_THAT(refusal({.mode = WriteMode::kErase, .rows = {3, two}}), HasSubstr("2 columns"));
  const ColumnView missing[] = {column, {}};
  EXPECT_THAT(refusal({.rows = {3, missing}}), HasSubstr("column value has no values"));
  const uint8_t validity = 0b101;
  const ColumnView null[] = {column, {.values = keys_.data(), .validity = &validity}};
  EXPECT_THAT(refusal({.rows = {3, null}}), HasSubstr("row 1: null"));
  EXPECT_THAT(refusal({.rows = {3, two}, .expected = {3, {two, 1}}}),
              HasSubstr("compare-and-set alone"));
  const auto swap = [&](const RowBatch& expected) {
    return refusal({.mode = WriteMode::kCompareAndSet, .rows = {3, two}, .expected = expected});
  };
  EXPECT_THAT(swap({}), HasSubstr("as many expected values"));
  EXPECT_THAT(swap({2, {two, 1}}), HasSubstr("as many expected values"));
  EXPECT_THAT(swap({3, {&missing[1], 1}}), HasSubstr("no values"));
  const std::vector<std::string> unknown{"value", "nothing"};
  const BatchResult result = session_->Lookup(object, {.keys = {3, {two, 1}}, .columns = unknown});
  EXPECT_THAT(std::string(result.status.message()), HasSubstr("no column \"nothing\""));
}

TEST_F(SessionBatchTest, StringsOfAnIndexHaveTheirOwnLimits) {
  const Object object =
      Create({.schema = KeyValueSchema(ColumnType::kUint64, ColumnType::kString)});
  const std::string bytes(kBatchValueBytesMax + 1, 'x');
  const auto refusal = [&](const std::vector<uint32_t>& offsets) {
    const std::vector<uint64_t> keys(offsets.size() - 1, 7);
    const ColumnView rows[] = {ColumnOf(keys), {.values = bytes.data(), .offsets = offsets.data()}};
    const BatchResult result = session_->Write(object, {.rows = {keys.size(), rows}});
    EXPECT_EQ(result.status.code(), kInvalid);
    return std::string(result.status.message());
  };
  EXPECT_THAT(refusal({0, 1, kValueBytesMax + 2}), HasSubstr("row 1: 1048577 bytes"));
  std::vector<uint32_t> offsets;
  for (uint32_t at = 0; at <= kBatchValueBytesMax; at += kValueBytesMax) offsets.push_back(at);
  offsets.push_back(kBatchValueBytesMax + 1);
  EXPECT_THAT(refusal(offsets), HasSubstr("33554433"));
}

}  // namespace
}  // namespace eris
