// As heap_failure_test.cc, of what an object of one kind alone has, and of calls that end
// elsewhere: aggregates, joins, filtered scans, queries of tables, scans into other objects,
// asynchronous calls, snapshots. For each kind of thread, the engine's own ones, too.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "eris/expression.h"
#include "tests/heap/heap_lab.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

using test::ActsAs;
using test::HandEngine;
using test::HeapLab;
using test::HeapUser;

constexpr uint64_t kRows = 300;
constexpr uint64_t kStride = 50'000'000'000'000'001;

class HeapCallsTest : public testing::TestWithParam<HeapUser> {
 protected:
  void SetUp() override {
    for (uint64_t i = 0; i < kRows; ++i) {
      keys_.push_back(i * kStride);
      values_.push_back(i);
    }
    columns_ = {test::ColumnOf(keys_), test::ColumnOf(values_)};
    const std::vector<uint64_t> split = {kRows / 2 * kStride};
    const CreateOptions table{
        .kind = ObjectKind::kTable, .schema = TableSchema(true), .split_points = split};
    const CreateOptions heap{.kind = ObjectKind::kHeapTable, .schema = TableSchema(false)};
    session_ = lab_.engine().NewSession();
    ASSERT_TRUE(lab_.Do([&] {
      index_ = test::Create(lab_.engine(), "index", {.split_points = split});
      inner_ = test::Create(lab_.engine(), "inner", {.split_points = {kRows / 2}});
      table_ = test::Create(lab_.engine(), "table", table);
      copy_ = test::Create(lab_.engine(), "copy", table);
      heap_ = test::Create(lab_.engine(), "heap", heap);
      return session_->Upsert(index_, keys_, values_).ok() &&
             session_->Upsert(inner_, values_, keys_).ok() &&
             session_->Write(table_, {.rows = rows()}).status.ok();
    }));
  }
  ~HeapCallsTest() override {
    const ActsAs test(HeapUser::kTest);
    session_.reset();
  }

  static Schema TableSchema(bool clustered) {
    Schema schema{.columns = {{.name = "key", .type = ColumnType::kUint64},
                              {.name = "value", .type = ColumnType::kUint64}}};
    if (clustered) schema.key = {0};
    return schema;
  }
  RowBatch rows() const { return {kRows, columns_}; }

  void ForEachFailure(const std::string& name, const std::function<absl::Status()>& call,
                      const std::function<void(const absl::Status&)>& check) {
    lab_.ForEachFailure(name, call, check);
  }
  // Where the call says OK, `number` is `wanted`.
  void ForEachFailure(const std::string& name, const std::function<absl::Status()>& call,
                      const uint64_t& number, uint64_t wanted) {
    ForEachFailure(name, call, [&](const absl::Status& status) {
      if (status.ok()) {
        EXPECT_EQ(number, wanted);
      }
    });
  }
  // A scan or a join that `open` opens has so many rows.
  template <class Open>
  void ForEachFailureOfScan(const std::string& name, Open open, uint64_t wanted) {
    uint64_t rows = 0;
    ForEachFailure(
        name, [&] { return ReadAll(open, rows); }, rows, wanted);
  }
  template <class Open>
  static absl::Status ReadAll(Open open, uint64_t& rows) {
    rows = 0;
    auto reader = HeapLab::InEngine(open);
    if (!reader.ok()) return reader.status();
    for (;;) {
      auto chunk =
          HeapLab::InEngine([&] { return (*reader)->Next(absl::Now() + absl::Seconds(60)); });
      if (!chunk.ok()) return chunk.status();
      if (!*chunk) return absl::OkStatus();
      rows += (*chunk)->rows();
    }
  }
  // An asynchronous call, whose answer is a batch's.
  template <class Start>
  static std::function<absl::Status()> Batch(BatchResult& result, Start start) {
    return [&result, start]() -> absl::Status {
      result = {};
      const absl::Status started = HeapLab::Async<BatchResult>(start, result);
      return started.ok() ? result.status : started;
    };
  }
  // One whose answer is a number or the like.
  template <class T, class Start>
  static std::function<absl::Status()> Answer(T& answer, Start start) {
    return [&answer, start]() -> absl::Status {
      absl::StatusOr<T> result;
      const absl::Status started = HeapLab::Async<absl::StatusOr<T>>(start, result);
      if (!started.ok()) return started;
      if (result.ok()) answer = *result;
      return result.status();
    };
  }

  uint64_t Count(const Object& table) {
    uint64_t rows = 0;
    const absl::Status status =
        lab_.Do([&] { return ReadAll([&] { return session_->OpenScan(table, {}); }, rows); });
    EXPECT_TRUE(status.ok()) << status;
    return rows;
  }
  // What the index has for keys_.
  std::vector<uint64_t> ValuesOfIndex() {
    std::vector<uint64_t> values(kRows);
    std::vector<uint8_t> found(kRows);
    const absl::Status status = lab_.Do([&] {
      return session_->Lookup(index_, keys_, absl::MakeSpan(values), absl::MakeSpan(found));
    });
    EXPECT_TRUE(status.ok()) << status;
    return values;
  }

  HeapLab lab_{GetParam()};
  std::unique_ptr<Session> session_;
  std::vector<uint64_t> keys_{};
  std::vector<uint64_t> values_{};
  std::vector<ColumnView> columns_{};
  Object index_, inner_, table_, copy_, heap_;
};

TEST_P(HeapCallsTest, Aggregates) {
  const ActsAs test(HeapUser::kTest);
  RangeAggregate sum;
  const auto check = [&](const absl::Status& status) {
    if (!status.ok()) return;
    EXPECT_EQ(sum.count, kRows);
    EXPECT_EQ(sum.sum_low, kRows * (kRows - 1) / 2);
  };
  ForEachFailure(
      "aggregate",
      [&]() -> absl::Status {
        const auto result = HeapLab::InEngine([&] { return session_->Aggregate(index_, {}); });
        if (result.ok()) sum = *result;
        return result.status();
      },
      check);
  ForEachFailure(
      "aggregate, asynchronous",
      Answer(sum, [&](auto done) { return session_->AggregateAsync(index_, {}, std::move(done)); }),
      check);
}

TEST_P(HeapCallsTest, ScansJoinsAndQueries) {
  const ActsAs test(HeapUser::kTest);
  using namespace expressions;  // NOLINT(google-build-using-namespace): its operators
  Query filtered, limited, groups, few;
  filtered.values = ValueRange{.lo = 10, .last = 19};
  filtered.direction = ScanDirection::kBackward;
  limited.columns = {{Column("key"), "key"}};
  limited.limit = 7;
  groups.group_by = {"value"};
  groups.aggregates = {{.function = AggregateFunction::kCount, .name = "n"}};
  few.filter = Column("value") < Literal(uint64_t{10});
  const auto scan = [&](const std::string& name, const Object& object, const Query& query,
                        uint64_t rows) {
    ForEachFailureOfScan(
        name, [&] { return session_->OpenScan(object, query); }, rows);
  };
  scan("filtered scan", index_, filtered, 10);
  scan("limited scan", index_, limited, 7);
  scan("groups", table_, groups, kRows);
  scan("filtered rows", table_, few, 10);
  ForEachFailureOfScan(
      "join", [&] { return session_->OpenJoin(index_, inner_, {}); }, kRows);
}

TEST_P(HeapCallsTest, QueriesOverSeveralObjects) {
  const ActsAs test(HeapUser::kTest);
  QueryPlan plan;
  plan.nodes = {ReadNode{.object = "table"}, ReadNode{.object = "index"},
                JoinNode{.left = 0, .right = 1, .keys = {{.left = 0, .right = 0}}},
                AggregateNode{.input = 2, .keys = {1}, .measures = {Measure{}}},
                SortNode{.input = 3, .keys = {{.column = 0, .descending = true}}}};
  ForEachFailureOfScan(
      "query", [&] { return session_->OpenQuery(plan); }, kRows);
  const auto nothing = [](const absl::Status&) {};
  ForEachFailure(
      "explain",
      [&] { return HeapLab::InEngine([&] { return session_->ExplainQuery(plan); }).status(); },
      nothing);
  ForEachFailureOfScan(
      "analyze", [&] { return session_->OpenAnalysis(plan); }, 1);
}

TEST_P(HeapCallsTest, WhatIsAskedBeforeAScan) {
  const ActsAs test(HeapUser::kTest);
  const auto nothing = [](const absl::Status&) {};
  ForEachFailure(
      "open", [&] { return HeapLab::InEngine([&] { return session_->Open("table"); }).status(); },
      nothing);
  ForEachFailure(
      "answer schema",
      [&] {
        return HeapLab::InEngine([&] { return session_->AnswerSchema(table_, {}); }).status();
      },
      nothing);
  const auto snapshot = lab_.Do([&] { return lab_.engine().TakeSnapshot(); });
  ASSERT_TRUE(snapshot.ok());
  Query query;
  query.snapshot = *snapshot;
  uint64_t shares = 0;
  for (const Object& object : {table_, heap_, index_}) {
    ForEachFailure(
        "shares of " + object.name(),
        [&]() -> absl::Status {
          const auto found = HeapLab::InEngine([&] { return session_->Shares(object, query); });
          if (found.ok()) shares = found->size();
          return found.status();
        },
        [&](const absl::Status& status) {
          if (status.ok()) {
            EXPECT_GE(shares, object.id() == heap_.id() ? 0u : 2u);
          }
        });
  }
}

// A sum that was refused has not been added; one that was not, once.
TEST_P(HeapCallsTest, SumsAreAddedOnceOrNotAtAll) {
  const ActsAs test(HeapUser::kTest);
  std::vector<uint64_t> before = values_;
  const std::vector<uint64_t> ones(kRows, 1);
  std::vector<uint8_t> executed(kRows);
  ForEachFailure(
      "add",
      [&] {
        return HeapLab::InEngine([&] {
          return session_->Write(index_, WriteMode::kAdd, keys_, ones, {},
                                 {.executed = absl::MakeSpan(executed)});
        });
      },
      [&](const absl::Status& status) {
        const std::vector<uint64_t> values = ValuesOfIndex();
        for (uint64_t i = 0; i < kRows; ++i) {
          const uint64_t added = values[i] - before[i];
          ASSERT_LE(added, 1u) << i;
          ASSERT_TRUE(added == 1 || !status.ok()) << i;
        }
        before = values;
      });
}

TEST_P(HeapCallsTest, ScansWithCallbacks) {
  const ActsAs test(HeapUser::kTest);
  uint64_t rows = 0;
  ForEachFailure(
      "scan, asynchronous",
      [&]() -> absl::Status {
        rows = 0;
        auto scan = HeapLab::InEngine([&] { return session_->OpenScan(index_, {}); });
        if (!scan.ok()) return scan.status();
        for (;;) {
          Scan::NextResult chunk(nullptr);
          const absl::Status started = HeapLab::Async<Scan::NextResult>(
              [&](auto done) -> absl::StatusOr<bool> {
                (*scan)->NextAsync(std::move(done));
                return true;
              },
              chunk);
          if (!started.ok()) return started;
          if (!chunk.ok()) return chunk.status();
          if (!*chunk) return absl::OkStatus();
          rows += (*chunk)->rows();
        }
      },
      rows, kRows);
}

TEST_P(HeapCallsTest, ScansIntoOtherObjects) {
  const ActsAs test(HeapUser::kTest);
  uint64_t written = 0;
  for (const Object& target : {copy_, index_, heap_}) {
    uint64_t calls = 0;
    const auto check = [&](const absl::Status& status) {
      ++calls;
      if (status.ok()) {
        EXPECT_EQ(written, kRows);
      }
      if (target.id() == copy_.id() && status.ok()) {
        EXPECT_EQ(Count(target), kRows);
      }
      if (target.id() == heap_.id()) {
        EXPECT_LE(Count(target), calls * kRows);
      }
    };
    ForEachFailure(
        "scan into " + target.name(),
        [&]() -> absl::Status {
          const auto rows = HeapLab::InEngine([&] {
            return session_->ScanInto(table_, {}, target, absl::Now() + absl::Seconds(60));
          });
          if (rows.ok()) written = *rows;
          return rows.status();
        },
        check);
  }
  ForEachFailure("scan into, asynchronous",
                 Answer(written,
                        [&](auto done) {
                          return session_->ScanIntoAsync(table_, {}, copy_, std::move(done));
                        }),
                 written, kRows);
}

TEST_P(HeapCallsTest, AsynchronousBatches) {
  const ActsAs test(HeapUser::kTest);
  // Every key that was not refused has its value after the write.
  std::vector<uint64_t> others = values_;
  for (uint64_t& value : others) value += kRows;
  BatchResult result;
  const auto check_values = [&](const absl::Status& status) {
    const std::vector<uint64_t> values = ValuesOfIndex();
    for (uint64_t i = 0; i < kRows; ++i) {
      ASSERT_TRUE(values[i] == others[i] || (!status.ok() && values[i] == values_[i])) << i;
    }
    ASSERT_TRUE(lab_.Do([&] { return session_->Upsert(index_, keys_, values_); }).ok());
  };
  ForEachFailure("upsert",
                 Batch(result,
                       [&](auto done) {
                         return session_->UpsertAsync(index_, keys_, others, std::move(done));
                       }),
                 check_values);
  ForEachFailure("compare and set",
                 Batch(result,
                       [&](auto done) {
                         return session_->WriteAsync(index_, WriteMode::kCompareAndSet, keys_,
                                                     others, values_, std::move(done));
                       }),
                 check_values);
  ForEachFailure(
      "lookup",
      Batch(result,
            [&](auto done) { return session_->LookupAsync(index_, keys_, std::move(done)); }),
      [&](const absl::Status& status) {
        if (status.ok()) {
          EXPECT_EQ(test::NumbersOf(result.columns[0]), values_);
        }
      });
  ForEachFailure("upsert rows",
                 Batch(result,
                       [&](auto done) {
                         return session_->WriteAsync(copy_, WriteBatch{.rows = rows()},
                                                     std::move(done));
                       }),
                 [&](const absl::Status& status) {
                   if (status.ok()) {
                     EXPECT_EQ(Count(copy_), kRows);
                   }
                 });
  const WriteBatch append{.mode = WriteMode::kAppend, .rows = rows()};
  uint64_t appends = 0, perhaps = 0;
  ForEachFailure(
      "append rows",
      Batch(result,
            [&](auto done) { return session_->WriteAsync(heap_, append, std::move(done)); }),
      [&](const absl::Status& status) {
        appends += status.ok();
        perhaps += !status.ok();
        const uint64_t rows = Count(heap_);
        EXPECT_GE(rows, appends * kRows);
        EXPECT_LE(rows, (appends + perhaps) * kRows);
      });
}

TEST_P(HeapCallsTest, SnapshotsAndSessions) {
  const ActsAs test(HeapUser::kTest);
  ForEachFailure(
      "snapshot",
      [&] { return HeapLab::InEngine([&] { return lab_.engine().TakeSnapshot(); }).status(); },
      [](const absl::Status&) {});
  // A new session's first calls make all that it remembers. NewSession itself may throw.
  ForEachFailure(
      "session",
      [&]() -> absl::Status {
        std::unique_ptr<Session> session;
        try {
          session = HeapLab::InEngine([&] { return lab_.engine().NewSession(); });
        } catch (const std::bad_alloc&) {
          return absl::ResourceExhaustedError("no session");
        }
        return HeapLab::InEngine([&] { return session->Upsert(index_, keys_, values_); });
      },
      [](const absl::Status&) {});
}

INSTANTIATE_TEST_SUITE_P(All, HeapCallsTest,
                         testing::Values(HeapUser::kCaller, HeapUser::kAeu, HeapUser::kEngine),
                         [](const testing::TestParamInfo<HeapUser>& user) {
                           return std::string(test::NameOf(user.param));
                         });

}  // namespace
}  // namespace eris
