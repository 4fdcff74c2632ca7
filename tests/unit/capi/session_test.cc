// Lookups and writes, waited for and not.
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "capi/handles.h"
#include "tests/unit/capi/capi_fixture.h"

namespace eris::test {
namespace {

using CSessionTest = CApiTest;

TEST_F(CSessionTest, ShortFormsWriteAndRead) {
  eris_object* const index = MakeTriples("triples", 1000);
  EXPECT_EQ(eris_object_kind(index), ERIS_KIND_INDEX);
  const uint64_t keys[] = {7, 5000, 9};
  uint64_t values[3] = {};
  uint8_t found[3] = {9, 9, 9};
  ASSERT_C(ERIS_OK, eris_lookup_u64(session, index, keys, 3, values, found, 0, e.out()));
  EXPECT_THAT(found, testing::ElementsAre(1, 0, 1));
  EXPECT_EQ(values[0], 21u);
  EXPECT_EQ(values[2], 27u);
  uint8_t existed[3] = {};
  ASSERT_C(ERIS_OK, eris_erase_u64(session, index, keys, 3, existed, 0, e.out()));
  EXPECT_THAT(existed, testing::ElementsAre(1, 0, 1));
  ASSERT_C(ERIS_OK, eris_upsert_u64(session, index, keys, values, 3, existed, 0, e.out()));
  EXPECT_THAT(existed, testing::ElementsAre(0, 0, 0));
}

TEST_F(CSessionTest, ModesAnswerWhatTheyFound) {
  eris_object* const index = MakeTriples("triples", 10);
  const uint64_t keys[] = {1, 2}, next[] = {50, 60}, expected[] = {3, 7};
  uint8_t applied[2] = {};
  uint64_t answers[2] = {};
  ASSERT_C(ERIS_OK, eris_write_u64(session, index, ERIS_COMPARE_AND_SET, keys, next, expected, 2,
                                   applied, answers, 0, e.out()));
  EXPECT_THAT(applied, testing::ElementsAre(1, 0));
  EXPECT_THAT(answers, testing::ElementsAre(3u, 6u));
  ASSERT_C(ERIS_OK, eris_write_u64(session, index, ERIS_ADD, keys, next, nullptr, 2, nullptr,
                                   answers, 0, e.out()));
  EXPECT_THAT(answers, testing::ElementsAre(100u, 66u));
}

TEST_F(CSessionTest, RowsOfTablesAreColumns) {
  eris_object* const table = MakeNames("names");
  WriteNames(table, ERIS_UPSERT);
  const int64_t ids[] = {3, 4, 2};
  const eris_column key = {ids, nullptr, nullptr};
  const eris_rows keys = {3, &key, 1};
  eris_result* result = nullptr;
  ASSERT_C(ERIS_OK, eris_lookup(session, table, &keys, nullptr, 0, &result, e.out()));
  EXPECT_EQ(eris_result_code(result), ERIS_OK);
  EXPECT_EQ(eris_result_rows(result), 3u);
  EXPECT_EQ(eris_result_existed(result)[0], 0b101);
  ASSERT_EQ(eris_result_column_count(result), 1u);
  eris_column column = {};
  eris_column_schema schema = {};
  ASSERT_C(ERIS_OK, eris_result_column(result, 0, &column, &schema, e.out()));
  EXPECT_STREQ(schema.name, "name");
  EXPECT_EQ(schema.type, ERIS_TYPE_STRING);
  EXPECT_EQ(std::string(static_cast<const char*>(column.values) + column.offsets[0],
                        column.offsets[1] - column.offsets[0]),
            "three");
  EXPECT_EQ(column.validity[0] & 0b111, 0b001);
  EXPECT_C(ERIS_OUT_OF_RANGE, eris_result_column(result, 1, &column, nullptr, e.out()));
  eris_result_free(result);

  const char* const names[] = {"id"};
  eris_lookup_options options = {.struct_size = sizeof options, .columns = names};
  options.column_count = 1;
  ASSERT_C(ERIS_OK, eris_lookup(session, table, &keys, &options, 0, &result, e.out()));
  ASSERT_C(ERIS_OK, eris_result_column(result, 0, &column, &schema, e.out()));
  EXPECT_EQ(static_cast<const int64_t*>(column.values)[0], 3);
  eris_result_free(result);
  ASSERT_C(ERIS_OK, eris_write(session, table, ERIS_ERASE, &keys, nullptr, 0, &result, e.out()));
  EXPECT_EQ(eris_result_existed(result)[0], 0b101);
  EXPECT_EQ(eris_result_column_count(result), 0u);
  eris_result_free(result);
}

TEST_F(CSessionTest, AnErrorOfTheEngineHasAResultToo) {
  eris_object* const table = MakeNames("names", ERIS_KIND_HEAP_TABLE);
  WriteNames(table, ERIS_APPEND);
  eris_result* result = nullptr;
  const eris_rows none = {1, nullptr, 0};
  EXPECT_C(ERIS_FAILED_PRECONDITION,
           eris_lookup(session, table, &none, nullptr, 0, &result, e.out()));
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(eris_result_code(result), ERIS_FAILED_PRECONDITION);
  EXPECT_EQ(e.message(), eris_result_message(result));
  eris_result_free(result);
}

// The answers that callbacks bring.
struct Answers {
  std::mutex mu;
  std::condition_variable changed;
  std::vector<eris_result*> results;

  static void Take(void* user, eris_result* result) {
    auto* const its = static_cast<Answers*>(user);
    const std::lock_guard lock(its->mu);
    its->results.push_back(result);
    its->changed.notify_all();
  }
  void Await(size_t count) {
    std::unique_lock lock(mu);
    changed.wait(lock, [&] { return results.size() == count; });
  }
  ~Answers() {
    for (eris_result* result : results) eris_result_free(result);
  }
};

TEST_F(CSessionTest, CallbacksRunOnceForEachCall) {
  eris_object* const index = MakeTriples("triples", 1000);
  Answers answers;
  constexpr size_t kCalls = 50;
  for (uint64_t i = 0; i < kCalls; ++i) {
    const uint64_t key = i, value = 7 * i;
    const eris_column columns[] = {{&key, nullptr, nullptr}, {&value, nullptr, nullptr}};
    const eris_rows rows = {1, columns, 2};  // copied: gone when the answer comes
    ASSERT_C(ERIS_OK, eris_write_async(session, index, ERIS_UPSERT, &rows, nullptr, &Answers::Take,
                                       &answers, nullptr, e.out()));
  }
  answers.Await(kCalls);
  for (const eris_result* result : answers.results) EXPECT_EQ(eris_result_code(result), ERIS_OK);
}

TEST_F(CSessionTest, CallsArePolledAndAwaited) {
  eris_object* const index = MakeTriples("triples", 1000);
  const uint64_t key = 9;
  const eris_column column = {&key, nullptr, nullptr};
  const eris_rows keys = {1, &column, 1};
  eris_call* call = nullptr;
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_lookup_async(session, index, &keys, nullptr, nullptr, nullptr, nullptr, e.out()));
  ASSERT_C(ERIS_OK,
           eris_lookup_async(session, index, &keys, nullptr, nullptr, nullptr, &call, e.out()));
  EXPECT_C(ERIS_FAILED_PRECONDITION, eris_engine_close(engine, e.out()));
  EXPECT_THAT(e.message(), testing::HasSubstr("1 call"));
  eris_result* result = nullptr;
  ASSERT_C(ERIS_OK, eris_call_wait(call, 60'000'000, &result, e.out()));
  ASSERT_NE(result, nullptr);
  eris_column got = {};
  ASSERT_C(ERIS_OK, eris_result_column(result, 0, &got, nullptr, e.out()));
  EXPECT_EQ(static_cast<const uint64_t*>(got.values)[0], 27u);
  eris_result_free(result);
  EXPECT_C(ERIS_FAILED_PRECONDITION, eris_call_poll(call, &result, e.out()));
  eris_call_cancel(call);  // too late: nothing happens
  eris_call_free(call);

  ASSERT_C(ERIS_OK,
           eris_lookup_async(session, index, &keys, nullptr, nullptr, nullptr, &call, e.out()));
  do {
    ASSERT_C(ERIS_OK, eris_call_poll(call, &result, e.out()));
  } while (result == nullptr);
  eris_result_free(result);
  eris_call_free(call);
}

TEST_F(CSessionTest, AnEngineIsNotClosedFromItsCallback) {
  eris_object* const index = MakeTriples("triples", 10);
  struct Context {
    eris_engine* engine;
    std::atomic<int> code{-1};
  } context{engine};
  const auto close = [](void* user, eris_result* result) {
    eris_result_free(result);
    auto* const its = static_cast<Context*>(user);
    const eris_code code = eris_engine_close(its->engine, nullptr);
    its->code.store(code, std::memory_order_release);  // pairs with the test's load
  };
  const uint64_t key = 9;
  const eris_column column = {&key, nullptr, nullptr};
  const eris_rows keys = {1, &column, 1};
  ASSERT_C(ERIS_OK,
           eris_lookup_async(session, index, &keys, nullptr, close, &context, nullptr, e.out()));
  while (context.code.load(std::memory_order_acquire) < 0) std::this_thread::yield();
  EXPECT_EQ(context.code.load(std::memory_order_relaxed), ERIS_FAILED_PRECONDITION);
}

TEST_F(CSessionTest, DeferredCallbacksRunOnTheirThread) {
  eris_object* const index = MakeTriples("triples", 10);
  EXPECT_C(ERIS_FAILED_PRECONDITION, eris_run_callbacks(engine, e.out()));
  ASSERT_C(ERIS_OK, eris_defer_callbacks(engine, e.out()));
  EXPECT_C(ERIS_FAILED_PRECONDITION, eris_defer_callbacks(engine, e.out()));
  Answers answers;
  const uint64_t key = 9;
  const eris_column column = {&key, nullptr, nullptr};
  const eris_rows keys = {1, &column, 1};
  ASSERT_C(ERIS_OK, eris_lookup_async(session, index, &keys, nullptr, &Answers::Take, &answers,
                                      nullptr, e.out()));
  ASSERT_C(ERIS_OK, eris_run_callbacks(engine, e.out()));
  answers.Await(1);
}

TEST_F(CSessionTest, ASecondCallIsRefused) {
  eris_object* const index = MakeTriples("triples", 10);
  const uint64_t key = 9;
  uint64_t value = 0;
  uint8_t found = 0;
  const auto lookup = [&] {
    return eris_lookup_u64(session, index, &key, 1, &value, &found, 0, e.out());
  };
  session->busy.store(true, std::memory_order_relaxed);  // as while another thread's call runs
  EXPECT_C(ERIS_FAILED_PRECONDITION, lookup());
  EXPECT_EQ(value, 0u);
  EXPECT_C(ERIS_FAILED_PRECONDITION, lookup());  // a refused call leaves the session taken
  session->busy.store(false, std::memory_order_relaxed);
  EXPECT_C(ERIS_OK, lookup());
  EXPECT_EQ(value, 27u);
}

// Two threads use one session at the same time: each call is either answered or refused.
TEST_F(CSessionTest, OneCallAtATime) {
  eris_object* const index = MakeTriples("triples", 1000);
  std::atomic<uint64_t> refused{0};
  const auto call = [&] {
    std::vector<uint64_t> keys(1000), values(1000);
    std::vector<uint8_t> found(1000);
    for (uint64_t i = 0; i < 1000; ++i) keys[i] = i;
    for (int round = 0; round < 200; ++round) {
      const eris_code code = eris_lookup_u64(session, index, keys.data(), keys.size(),
                                             values.data(), found.data(), 0, nullptr);
      if (code == ERIS_OK) {
        EXPECT_EQ(values[999], 2997u);
      } else {
        EXPECT_EQ(code, ERIS_FAILED_PRECONDITION);
        refused.fetch_add(1, std::memory_order_relaxed);  // only a count
      }
    }
  };
  std::thread other(call);
  call();
  other.join();
  std::printf("%lu calls refused\n", refused.load(std::memory_order_relaxed));
}

TEST_F(CSessionTest, DroppedObjectsAreNotFound) {
  eris_object* const index = MakeTriples("triples", 10);
  ASSERT_C(ERIS_OK, eris_drop(engine, "triples", e.out()));
  const uint64_t key = 1;
  uint64_t value = 0;
  uint8_t found = 0;
  EXPECT_C(ERIS_NOT_FOUND, eris_lookup_u64(session, index, &key, 1, &value, &found, 0, e.out()));
}

}  // namespace
}  // namespace eris::test
