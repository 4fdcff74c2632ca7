// Input that is refused before anything is sent: calls for other kinds of objects, columns that are
// not an object's, handles of none or of a dropped one, ranges, and what cannot be created.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "eris/engine.h"
#include "eris/errors.h"
#include "eris/key_encoding.h"
#include "tests/support/any_object.h"

namespace eris {
namespace {

using test::AnyBatch;
using test::AnyKind;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

class RefusalsTest : public testing::Test {
 protected:
  RefusalsTest() {
    for (const AnyKind kind : test::kAllKinds) {
      objects_[kind] = test::Create(*engine_, NameOf(kind), test::OptionsOf(kind));
    }
    other_ = test::Create(*engine_, "other");
  }
  ~RefusalsTest() override {
    for (const ObjectInfo& info : engine_->List()) EXPECT_EQ(info.keys, 0u) << info.name;
  }
  static void Expect(const absl::Status& status, absl::StatusCode code,
                     std::initializer_list<const char*> words = {}) {
    EXPECT_EQ(status.code(), code) << status;
    for (const char* word : words) EXPECT_THAT(std::string(status.message()), HasSubstr(word));
  }
  // The waiting and the asynchronous call say the same.
  absl::Status Write(const Object& object, const WriteBatch& batch) {
    const absl::Status waiting = session_->Write(object, batch).status;
    const auto never = [](BatchResult) { ADD_FAILURE() << "called back"; };
    EXPECT_EQ(session_->WriteAsync(object, batch, never).status(), waiting);
    return waiting;
  }
  absl::Status Lookup(const Object& object, const LookupBatch& batch) {
    const absl::Status waiting = session_->Lookup(object, batch).status;
    const auto never = [](BatchResult) { ADD_FAILURE() << "called back"; };
    EXPECT_EQ(session_->LookupAsync(object, batch, never).status(), waiting);
    return waiting;
  }
  absl::Status Aggregate(const Object& object, const AggregateOptions& options) {
    const absl::Status waiting = session_->Aggregate(object, options).status();
    const auto never = [](const absl::StatusOr<RangeAggregate>&) { ADD_FAILURE(); };
    EXPECT_EQ(session_->AggregateAsync(object, options, never).status(), waiting);
    return waiting;
  }
  absl::Status ScanInto(const Object& table, const Object& target) {
    const absl::Status waiting = session_->ScanInto(table, {}, target).status();
    const auto never = [](const absl::StatusOr<uint64_t>&) { ADD_FAILURE(); };
    EXPECT_EQ(session_->ScanIntoAsync(table, {}, target, never).status(), waiting);
    return waiting;
  }
  // All calls, each with a batch of this kind.
  void ExpectEachCall(const Object& object, AnyKind kind, absl::StatusCode code) {
    AnyBatch batch(kind, test::AnyRows{{{1, 0}, 1}});
    Expect(Lookup(object, {.keys = batch.keys()}), code);
    Expect(Write(object, batch.write(test::PutMode(kind))), code);
    Expect(session_->OpenScan(object, {}).status(), code);
    Expect(Aggregate(object, {}), code);
    Expect(session_->OpenJoin(object, other_, {}).status(), code);
    Expect(session_->OpenJoin(other_, object, {}).status(), code);
    Expect(ScanInto(object, other_), code);
    Expect(ScanInto(objects_[AnyKind::kHeapTable], object), code);
  }

  std::unique_ptr<Engine> engine_ = test::OpenEngine();
  std::unique_ptr<Session> session_ = engine_->NewSession();
  std::map<AnyKind, Object> objects_;
  Object other_;
};

TEST_F(RefusalsTest, EachCallWantsAnObject) {
  EXPECT_FALSE(Object());
  ExpectEachCall(Object(), AnyKind::kIndex, kInvalid);
  const auto another = test::OpenEngine(test::SmallOptions(1));
  ExpectEachCall(test::Create(*another, "o"), AnyKind::kIndex, kInvalid);
  EXPECT_EQ(session_->Open("nowhere").status().code(), absl::StatusCode::kNotFound);
}

// Also where the next object of the name has another type: its keys would be other ones.
TEST_F(RefusalsTest, AHandleOfADroppedObjectReachesNoOther) {
  for (const AnyKind kind : {AnyKind::kIndex, AnyKind::kSigned, AnyKind::kBytes}) {
    const Object old = objects_[kind];
    ASSERT_TRUE(engine_->Drop(old.name()).ok());
    EXPECT_EQ(session_->Open(old.name()).status().code(), absl::StatusCode::kNotFound);
    ExpectEachCall(old, kind, absl::StatusCode::kNotFound);
    const Schema dates = KeyValueSchema({ColumnType::kDate, ColumnType::kInt64});
    const Object next = test::Create(*engine_, old.name(), {.schema = dates});
    ExpectEachCall(old, kind, absl::StatusCode::kNotFound);
    EXPECT_EQ(old.schema(), test::SchemaOf(kind));
    EXPECT_EQ(next.schema(), dates);
    EXPECT_NE(next.id(), old.id());
    EXPECT_EQ(test::Open(*session_, old.name()).id(), next.id());
  }
}

TEST_F(RefusalsTest, ModesAndCallsForOtherKinds) {
  AnyBatch table_row(AnyKind::kTable, test::AnyRows{{{1, 0}, 1}});
  for (const auto& [kind, object] : objects_) {
    SCOPED_TRACE(NameOf(kind));
    AnyBatch row(kind, test::AnyRows{{{1, 0}, 1}});
    for (int mode = 1; mode <= 7; ++mode) {
      WriteBatch batch = row.write(static_cast<WriteMode>(mode));
      if (Takes(kind, batch.mode)) continue;
      if (batch.mode == WriteMode::kCompareAndSet) batch.expected = row.values();
      Expect(Write(object, batch), kRefused, {NameOf(kind).c_str()});
    }
    Expect(Write(object, row.write(static_cast<WriteMode>(0))), kInvalid, {"0"});
    Expect(Write(object, row.write(static_cast<WriteMode>(8))), kInvalid, {"8"});
    if (!IsIndex(kind)) Expect(Aggregate(object, {}), kRefused);
    if (!IsIndex(kind)) Expect(Aggregate(object, {.count_only = true}), kRefused);
    if (!IsTable(kind)) Expect(ScanInto(object, objects_[AnyKind::kTable]), kRefused);
    // The outer side needs key order, values of u64, and keys of one part; the inner one keys of
    // u64.
    const bool outer = kind == AnyKind::kIndex || kind == AnyKind::kSigned;
    const bool inner = kind == AnyKind::kIndex || kind == AnyKind::kHash;
    EXPECT_EQ(session_->OpenJoin(object, other_, {}).status().code(),
              outer ? absl::StatusCode::kOk : kRefused);
    EXPECT_EQ(session_->OpenJoin(other_, object, {}).status().code(),
              inner ? absl::StatusCode::kOk : kRefused);
  }
  AnyBatch string(AnyKind::kBytes, test::AnyRows{{{1, 0}, 1}});
  Expect(Write(objects_[AnyKind::kBytes], string.write(WriteMode::kAdd)), kRefused,
         {"object \"Bytes\" is an index whose values are of type string",
          "counters need values of uint64"});
  const absl::Status no_key = Lookup(objects_[AnyKind::kHeapTable], {.keys = table_row.keys()});
  Expect(no_key, kRefused);
  EXPECT_EQ(ErrorDetailsOf(no_key).reason, "OBJECT_HAS_NO_KEY");
  Expect(Aggregate(objects_[AnyKind::kBytes], {}), kRefused, {"Bytes"});
  const Object& hash = objects_[AnyKind::kHash];
  for (const absl::Status& status :
       {session_->OpenScan(hash, {}).status(), session_->OpenJoin(hash, other_, {}).status(),
        Aggregate(hash, {})}) {
    Expect(status, kRefused, {"\"Hash\" is a hash, which has no key order"});
  }
  const std::string two =
      "keys of object \"TwoParts\" have two parts: it cannot be a side of a join";
  EXPECT_EQ(session_->OpenJoin(objects_[AnyKind::kTwoParts], other_, {}).status().message(), two);
  EXPECT_EQ(session_->OpenJoin(other_, objects_[AnyKind::kTwoParts], {}).status().message(), two);
}

TEST_F(RefusalsTest, ColumnsThatAreNotTheObjects) {
  for (const auto& one : objects_) {
    const AnyKind kind = one.first;
    const Object& object = one.second;
    SCOPED_TRACE(NameOf(kind));
    AnyBatch row(kind, test::AnyRows{{{1, 0}, 1}}), keys(kind, test::AnyRows{{{1, 0}, 1}});
    const WriteBatch good = row.write(test::PutMode(kind));
    std::vector<ColumnView> columns(good.rows.columns.begin(), good.rows.columns.end());
    const auto with = [&](uint64_t rows) {
      WriteBatch batch = good;
      batch.rows = {rows, columns};
      return Write(object, batch);
    };
    Expect(with(0), kInvalid);
    Expect(Write(object, {.mode = good.mode}), kInvalid);
    const uint64_t most = IsTable(kind) ? kTableBatchRowsMax : kBatchKeysMax;
    Expect(with(most + 1), kInvalid, {"1048577", "1048576"});
    columns.push_back(columns[0]);
    Expect(with(1), kInvalid);
    columns.resize(columns.size() - 2);
    Expect(with(1), kInvalid);
    if (kind != AnyKind::kHeapTable) {
      WriteBatch batch = good;
      batch.expected = row.values();
      Expect(Write(object, batch), kInvalid);
      Expect(Write(object, {.mode = WriteMode::kErase, .rows = row.rows()}), kInvalid);
      Expect(Lookup(object, {.keys = row.rows()}), kInvalid);
      Expect(Lookup(object, {}), kInvalid);
      const std::vector<std::string> unknown{"nothing"};
      Expect(Lookup(object, {.keys = keys.keys(), .columns = unknown}), kInvalid, {"nothing"});
    }
    if (!Takes(kind, WriteMode::kCompareAndSet)) continue;
    Expect(Write(object, {.mode = WriteMode::kCompareAndSet, .rows = good.rows}), kInvalid);
    AnyBatch two(kind, test::AnyRows{{{1, 0}, 1}, {{2, 0}, 1}});
    WriteBatch swap{.mode = WriteMode::kCompareAndSet, .rows = good.rows};
    swap.expected = two.values();
    Expect(Write(object, swap), kInvalid);
  }
}

// The short forms: lengths, widths and types, by name and value.
TEST_F(RefusalsTest, SpansThatDoNotFitTheirKeys) {
  const std::vector<uint64_t> one{1}, two{1, 2}, three{1, 2, 3}, none;
  std::vector<uint64_t> values(3);
  std::vector<uint8_t> flags(3, 9);
  // Each call; all say the same.
  const auto all = [&](AnyKind kind, const KeyColumns& keys) {
    const Object& object = objects_[kind];
    const auto never = [](BatchResult) { ADD_FAILURE() << "called back"; };
    const auto n = keys.size();
    const absl::Span<const uint64_t> given(three.data(), n);
    const std::vector<absl::Status> statuses{
        session_->Lookup(object, keys, absl::MakeSpan(values).first(n),
                         absl::MakeSpan(flags).first(n)),
        session_->Upsert(object, keys, given),
        session_->Erase(object, keys),
        session_->Write(object, WriteMode::kAdd, keys, given),
        session_->LookupAsync(object, keys, never).status(),
        session_->UpsertAsync(object, keys, given, never).status(),
        session_->EraseAsync(object, keys, never).status(),
        session_->WriteAsync(object, WriteMode::kAdd, keys, given, {}, never).status()};
    for (const absl::Status& status : statuses) EXPECT_EQ(status, statuses[0]);
    return statuses[0];
  };
  const absl::Status narrow = all(AnyKind::kTwoParts, three);
  Expect(narrow, kInvalid, {"keys of object \"TwoParts\" have two parts"});
  Expect(all(AnyKind::kIndex, {three, three}), kInvalid,
         {"keys of object \"Index\" have one part"});
  Expect(all(AnyKind::kTwoParts, {three, two}), kInvalid, {"3 keys", "2 second parts"});
  Expect(all(AnyKind::kTwoParts, {none, three}), kInvalid, {"0 keys", "3 second parts"});
  Expect(all(AnyKind::kSigned, three), kInvalid, {"\"Signed\" are not u64"});
  Expect(all(AnyKind::kTable, three), kRefused, {"\"Table\" is a table"});
  Expect(all(AnyKind::kIndex, none), kInvalid);
  Expect(all(AnyKind::kTwoParts, {none, none}), kInvalid);

  const Object& index = objects_[AnyKind::kIndex];
  Expect(session_->Upsert(index, two, one), kInvalid, {"2 keys", "1 values"});
  Expect(session_->Lookup(index, two, absl::MakeSpan(values), absl::MakeSpan(flags)), kInvalid);
  Expect(session_->Write(index, WriteMode::kCompareAndSet, two, two, one), kInvalid,
         {"2 keys", "1 expected values"});
  Expect(session_->Write(index, WriteMode::kAdd, two, two, two), kInvalid,
         {"expected values belong to compare-and-set alone"});
  Expect(session_->Write(index, WriteMode::kAdd, two, two, {}, {.applied = absl::MakeSpan(flags)}),
         kInvalid, {"2 keys", "3 applied bytes"});
  // What was in the columns does not look like an answer.
  std::vector<uint8_t> executed(2, 9), applied(2, 9);
  Expect(
      session_->Write(Object(), WriteMode::kAdd, two, two, {},
                      {.applied = absl::MakeSpan(applied), .executed = absl::MakeSpan(executed)}),
      kInvalid);
  EXPECT_EQ(executed, std::vector<uint8_t>(2, 0));
  EXPECT_EQ(applied, std::vector<uint8_t>(2, 0));
  for (const absl::Status& status :
       {session_->Lookup(objects_[AnyKind::kBytes], two, absl::MakeSpan(values).first(2),
                         absl::MakeSpan(flags).first(2)),
        session_->Upsert(objects_[AnyKind::kBytes], two, two)}) {
    Expect(status, kRefused, {"\"Bytes\" are byte strings"});
  }
}

TEST_F(RefusalsTest, StringsBeyondTheirLimits) {
  const Object& strings = objects_[AnyKind::kBytes];
  const auto put = [&](const std::vector<uint64_t>& keys, const std::vector<std::string>& values) {
    const test::StringsColumn column(values);
    const ColumnView columns[] = {test::ColumnOf(keys), column.view()};
    return Write(strings, {.rows = {keys.size(), columns}});
  };
  Expect(put({7, 8}, {"short", std::string(kValueBytesMax + 1, 'x')}), kInvalid,
         {"1048577", "1048576"});
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 33; ++i) keys.push_back(i);
  Expect(put(keys, std::vector<std::string>(33, std::string(kValueBytesMax, 'x'))), kInvalid,
         {"33554432"});
  const Object& table = objects_[AnyKind::kHeapTable];
  const test::StringsColumn text(
      std::vector<std::string>{std::string(kTableStringBytesMax + 1, 'x')});
  const uint64_t one = 1;
  const ColumnView columns[] = {{.values = &one}, {.values = &one}, text.view()};
  Expect(Write(table, {.mode = WriteMode::kAppend, .rows = {1, columns}}), kInvalid, {"65535"});
}

TEST_F(RefusalsTest, RangesAndQueriesThatDoNotFit) {
  const Object& index = objects_[AnyKind::kIndex];
  const Object& two = objects_[AnyKind::kTwoParts];
  const auto both = [&](const Object& object, const KeyRange& range) {
    const absl::Status scan = session_->OpenScan(object, {.range = range}).status();
    EXPECT_EQ(Aggregate(object, {.range = range}), scan);
    EXPECT_EQ(scan.code(), kInvalid) << scan;
    return std::string(scan.message());
  };
  EXPECT_EQ(both(index, {.lo = 1, .hi = 5, .lo_second = 2}),
            "keys of object \"Index\" have one part, the range has second parts: lo_second 2, "
            "hi_second 0");
  EXPECT_EQ(both(index, {.lo = 1, .hi = 5, .hi_second = 3}),
            "keys of object \"Index\" have one part, the range has second parts: lo_second 0, "
            "hi_second 3");
  EXPECT_EQ(both(two, {.lo = 5, .hi = 5, .lo_second = 3, .hi_second = 2}),
            "inverted range: lo and hi are both 5, hi_second 2 is below lo_second 3");
  EXPECT_EQ(both(two, {.lo = 5, .hi = 4, .hi_second = 9}), "inverted range: hi 4 is below lo 5");
  EXPECT_EQ(both(two, {.lo = 5, .hi_second = 9}), "range without hi: hi_second is 9, must be 0");

  const auto scan = [&](AnyKind kind, const Query& query) {
    return session_->OpenScan(objects_[kind], query).status();
  };
  Expect(scan(AnyKind::kIndex, {.values = ValueRange{5, 4}}), kInvalid);
  Expect(Aggregate(index, {.values = ValueRange{5, 4}}), kInvalid);
  Expect(scan(AnyKind::kIndex, {.direction = static_cast<ScanDirection>(2)}), kInvalid);
  Expect(scan(AnyKind::kBytes, {.values = ValueRange{}}), kRefused);
  Expect(session_->OpenJoin(other_, other_, {.range = {.lo = 1, .hi = 2, .hi_second = 1}}).status(),
         kInvalid);
  // What is of tables alone, and of indexes alone.
  using namespace expressions;  // NOLINT(google-build-using-namespace): its operators
  Query filtered, grouped, counted, computed, valued;
  filtered.filter = Column("value") > Literal(1);
  grouped.group_by = {"value"};
  counted.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"}};
  computed.columns = {{Column("key") + Column("value"), "sum"}};
  valued.columns = {{Column("value"), "value"}};
  for (const Query& query : {filtered, grouped, counted, computed, valued}) {
    Expect(scan(AnyKind::kIndex, query), kInvalid);
  }
  for (const Query& query : {Query{.range = {1, 5}}, Query{.direction = ScanDirection::kBackward},
                             Query{.values = ValueRange{}}}) {
    Expect(scan(AnyKind::kTable, query), kInvalid);
  }
  Query unknown, resumed;
  unknown.filter = Column("nothing") > Literal(1);
  resumed.resume = "not a token";
  for (const AnyKind kind : {AnyKind::kIndex, AnyKind::kTwoParts, AnyKind::kTable}) {
    Expect(scan(kind, unknown), kInvalid);
    Expect(scan(kind, resumed), kInvalid);
  }
}

// An embedder's expressions are as deep as it makes them: none is gone through before it has been
// found to be no deeper than the limit.
TEST_F(RefusalsTest, ExpressionsOfAnyDepth) {
  using namespace expressions;  // NOLINT(google-build-using-namespace): its operators
  const auto deep = [](Expression::Kind kind, uint32_t levels) {
    Expression whole = Column("key");
    for (uint32_t i = 1; i < levels; ++i) {
      Expression outer{.kind = kind, .column = "key"};
      outer.arguments.push_back(std::move(whole));
      whole = std::move(outer);
    }
    return whole;
  };
  // Its own destructor would go as deep.
  const auto take_apart = [](Expression& expression) {
    std::vector<Expression> inner = std::move(expression.arguments);
    while (!inner.empty()) inner = std::vector<Expression>(std::move(inner[0].arguments));
  };
  for (const uint32_t levels : {2u, kExpressionDepthMax, kExpressionDepthMax + 1, 1u << 17}) {
    for (const auto kind : {Expression::Kind::kColumn, Expression::Kind::kNot}) {
      for (const AnyKind object : {AnyKind::kIndex, AnyKind::kTable}) {
        SCOPED_TRACE(testing::Message() << levels << " levels, " << NameOf(object));
        Query columns;
        columns.columns.emplace_back().expression = deep(kind, levels);
        columns.columns[0].name = "key";
        Query filtered;
        filtered.filter = deep(kind, levels);
        for (Query* query : {&columns, &filtered}) {
          Expect(session_->OpenScan(objects_[object], *query).status(), kInvalid);
        }
        take_apart(columns.columns[0].expression);
        take_apart(*filtered.filter);
      }
    }
  }
  Query nested;
  nested.columns.emplace_back().expression = deep(Expression::Kind::kColumn, 3);
  nested.columns.emplace_back().expression = Column("value");
  Expect(session_->OpenScan(objects_[AnyKind::kIndex], nested).status(), kInvalid,
         {"column \"key\"", "1 argument"});
}

TEST_F(RefusalsTest, WhatCannotBeCreated) {
  const auto refused = [&](const CreateOptions& options) {
    const absl::Status status = engine_->Create("new", options).status();
    EXPECT_EQ(status.code(), kInvalid) << status;
    return std::string(status.message());
  };
  constexpr KeyTypes kTwo = {ColumnType::kUint64, ColumnType::kUint64};
  for (const std::string& name :
       {std::string(), std::string(256, 'a'), std::string("a\nb"), std::string("\xff")}) {
    Expect(engine_->Create(name, {}).status(), kInvalid);
  }
  refused({.expected = {5, 4}});
  refused({.split_points = {3, 3}});
  refused({.split_points = {0, 3}});
  EXPECT_THAT(refused({.kind = static_cast<ObjectKind>(9)}), HasSubstr("kind of object 9"));
  EXPECT_THAT(refused({.kind = ObjectKind::kHash, .schema = KeyValueSchema(kTwo)}),
              AllOf(HasSubstr("hash"), HasSubstr("one part")));
  EXPECT_THAT(refused({.kind = ObjectKind::kHash,
                       .schema = KeyValueSchema(ColumnType::kUint64, ColumnType::kString)}),
              AllOf(HasSubstr("hash"), HasSubstr("string")));
  EXPECT_THAT(refused({.schema = KeyValueSchema(kTwo, ColumnType::kString)}),
              AllOf(HasSubstr("keys of two parts"), HasSubstr("string")));
  refused({.schema = KeyValueSchema(static_cast<ColumnType>(255))});
  refused({.schema = KeyValueSchema(ColumnType::kString)});
  refused({.schema = KeyValueSchema({ColumnType::kInt64, static_cast<ColumnType>(0)})});
  refused({.schema = KeyValueSchema(ColumnType::kUint64, ColumnType::kFloat64)});
  refused({.schema = {}});
  refused({.kind = ObjectKind::kTable, .schema = {}});
  EXPECT_EQ(
      refused({.schema = KeyValueSchema(kTwo), .expected = {.lo = 0, .hi = 9, .hi_second = 4}}),
      "the expected range is one of first parts: its second parts are 0 and 4, must be 0");
  const Schema heap = test::SchemaOf(AnyKind::kHeapTable);
  refused({.kind = ObjectKind::kHeapTable, .schema = heap, .expected = {0, 10}});
  refused({.kind = ObjectKind::kTable, .schema = heap});  // without a key
  EXPECT_EQ(engine_->Describe("new").status().code(), absl::StatusCode::kNotFound);
  Expect(engine_->Create("Table", {}).status(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(engine_->List().size(), std::size(test::kAllKinds) + 1);
}

TEST(RefusalsOfBytesInFlightTest, SecondPartsCount) {
  Options options = test::SmallOptions();
  options.session_in_flight_bytes_max = 45'000;
  const auto engine = test::OpenEngine(options);
  const auto session = engine->NewSession();
  const Object two = test::Create(*engine, "two", test::OptionsOf(AnyKind::kTwoParts));
  const Object one = test::Create(*engine, "one");
  const std::vector<uint64_t> keys(1000, 5);
  std::vector<uint64_t> values(1000);
  std::vector<uint8_t> found(1000);
  EXPECT_EQ(
      session->Lookup(two, {keys, keys}, absl::MakeSpan(values), absl::MakeSpan(found)).code(),
      absl::StatusCode::kResourceExhausted);
  // What is refused holds nothing.
  EXPECT_TRUE(session->Lookup(one, keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
}

}  // namespace
}  // namespace eris
