// Arguments that are NULL, numbers that are none of their enumeration, texts that are none: each is
// answered with ERIS_INVALID_ARGUMENT. Every function of the interface is called with nothing.
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/unit/capi/capi_fixture.h"

namespace eris::test {
namespace {

// Calls with every argument NULL or 0.
template <class Result, class... Arguments>
Result CallWithNothing(Result (*function)(Arguments...)) {
  return function(Arguments{}...);
}

// A handle's functions that free it or read it: nothing happens, and 0, NULL or "" is answered.
template <class Result, class... Arguments>
void ExpectNothing(Result (*function)(Arguments...)) {
  if constexpr (std::is_void_v<Result>) {
    CallWithNothing(function);
  } else if constexpr (std::is_same_v<Result, const char*>) {
    EXPECT_STREQ(CallWithNothing(function), "");
  } else {
    EXPECT_EQ(CallWithNothing(function), Result{});
  }
}

#define EXPECT_NEEDS(function) \
  EXPECT_EQ(CallWithNothing(function), ERIS_INVALID_ARGUMENT) << #function

TEST(CBadArgumentsTest, FunctionsOfEnginesNeedTheirArguments) {
  EXPECT_NEEDS(eris_engine_open);
  EXPECT_EQ(CallWithNothing(eris_engine_close), ERIS_OK);
  EXPECT_NEEDS(eris_explain_topology);
  EXPECT_NEEDS(eris_engine_notes);
  EXPECT_NEEDS(eris_create);
  EXPECT_NEEDS(eris_drop);
  EXPECT_NEEDS(eris_drop_if_written);
  EXPECT_NEEDS(eris_list);
  EXPECT_NEEDS(eris_describe);
  EXPECT_NEEDS(eris_catalogue_get);
  EXPECT_NEEDS(eris_defer_callbacks);
  EXPECT_NEEDS(eris_run_callbacks);
}

TEST(CBadArgumentsTest, FunctionsOfSessionsNeedTheirArguments) {
  EXPECT_NEEDS(eris_session_new);
  EXPECT_NEEDS(eris_session_new_on);
  EXPECT_NEEDS(eris_object_open);
  EXPECT_NEEDS(eris_object_arrow_schema);
  EXPECT_NEEDS(eris_lookup);
  EXPECT_NEEDS(eris_lookup_arrow);
  EXPECT_NEEDS(eris_lookup_u64);
  EXPECT_NEEDS(eris_lookup_async);
  EXPECT_NEEDS(eris_write);
  EXPECT_NEEDS(eris_write_arrow);
  EXPECT_NEEDS(eris_write_u64);
  EXPECT_NEEDS(eris_write_async);
  EXPECT_NEEDS(eris_upsert_u64);
  EXPECT_NEEDS(eris_erase_u64);
  EXPECT_NEEDS(eris_result_code);
  EXPECT_NEEDS(eris_result_column);
  EXPECT_NEEDS(eris_result_export_arrow);
  EXPECT_NEEDS(eris_call_poll);
  EXPECT_NEEDS(eris_call_wait);
}

TEST(CBadArgumentsTest, FunctionsOfScansAndPlansNeedTheirArguments) {
  EXPECT_NEEDS(eris_snapshot_take);
  EXPECT_NEEDS(eris_scan_open);
  EXPECT_NEEDS(eris_answer_schema);
  EXPECT_NEEDS(eris_scan_schema);
  EXPECT_NEEDS(eris_scan_next);
  EXPECT_NEEDS(eris_scan_next_async);
  EXPECT_NEEDS(eris_scan_export_stream);
  EXPECT_NEEDS(eris_chunk_column);
  EXPECT_NEEDS(eris_chunk_export_arrow);
  EXPECT_NEEDS(eris_aggregate);
  EXPECT_NEEDS(eris_aggregate_async);
  EXPECT_NEEDS(eris_scan_into_async);
  EXPECT_NEEDS(eris_join_open);
  EXPECT_NEEDS(eris_scan_into);
  EXPECT_NEEDS(eris_shares_of);
  EXPECT_NEEDS(eris_shares_get);
  EXPECT_NEEDS(eris_plan_new);
  EXPECT_NEEDS(eris_plan_read);
  EXPECT_NEEDS(eris_plan_filter);
  EXPECT_NEEDS(eris_plan_project);
  EXPECT_NEEDS(eris_plan_join);
  EXPECT_NEEDS(eris_plan_aggregate);
  EXPECT_NEEDS(eris_plan_sort);
  EXPECT_NEEDS(eris_plan_limit);
  EXPECT_NEEDS(eris_plan_union);
  EXPECT_NEEDS(eris_plan_values);
  EXPECT_NEEDS(eris_plan_names);
  EXPECT_NEEDS(eris_query_open);
  EXPECT_NEEDS(eris_query_explain);
  EXPECT_NEEDS(eris_query_analyze);
}

TEST(CBadArgumentsTest, FunctionsOfOperatorsNeedTheirArguments) {
  EXPECT_NEEDS(eris_stats_read);
  EXPECT_NEEDS(eris_stats_engine);
  EXPECT_NEEDS(eris_stats_aeu);
  EXPECT_NEEDS(eris_stats_numa_node);
  EXPECT_NEEDS(eris_memory_read);
  EXPECT_NEEDS(eris_memory_total);
  EXPECT_NEEDS(eris_memory_numa_node);
  EXPECT_NEEDS(eris_memory_object);
  EXPECT_NEEDS(eris_memory_verify);
  EXPECT_NEEDS(eris_balancer_read);
  EXPECT_NEEDS(eris_balancer_set);
  EXPECT_NEEDS(eris_balancer_pause);
  EXPECT_NEEDS(eris_balancer_resume);
  EXPECT_NEEDS(eris_set_task_scheduling);
  EXPECT_NEEDS(eris_transfer_history);
  EXPECT_NEEDS(eris_plan_balance);
  EXPECT_NEEDS(eris_transfers_get);
  EXPECT_NEEDS(eris_move_stop_new);
  EXPECT_NEEDS(eris_rebalance);
  EXPECT_NEEDS(eris_presplit);
  EXPECT_NEEDS(eris_move_range);
  EXPECT_NEEDS(eris_find_hot_ranges);
  EXPECT_NEEDS(eris_hot_ranges_get);
}

TEST(CBadArgumentsTest, OthersAcceptNothing) {
  ExpectNothing(eris_error_code);
  ExpectNothing(eris_error_message);
  ExpectNothing(eris_error_free);
  ExpectNothing(eris_text_free);
  ExpectNothing(eris_catalogue_count);
  ExpectNothing(eris_catalogue_free);
  ExpectNothing(eris_session_numa_node);
  ExpectNothing(eris_session_free);
  ExpectNothing(eris_object_id);
  ExpectNothing(eris_object_kind);
  ExpectNothing(eris_object_free);
  ExpectNothing(eris_result_message);
  ExpectNothing(eris_result_rows);
  ExpectNothing(eris_result_refused);
  ExpectNothing(eris_result_existed);
  ExpectNothing(eris_result_applied);
  ExpectNothing(eris_result_executed);
  ExpectNothing(eris_result_column_count);
  ExpectNothing(eris_result_free);
  ExpectNothing(eris_call_cancel);
  ExpectNothing(eris_call_free);
  ExpectNothing(eris_snapshot_aborted);
  ExpectNothing(eris_snapshot_epoch);
  ExpectNothing(eris_snapshot_free);
  ExpectNothing(eris_scan_cancel);
  ExpectNothing(eris_scan_free);
  ExpectNothing(eris_chunk_rows);
  ExpectNothing(eris_chunk_column_count);
  ExpectNothing(eris_chunk_resume);
  ExpectNothing(eris_chunk_free);
  ExpectNothing(eris_shares_count);
  ExpectNothing(eris_shares_free);
  ExpectNothing(eris_plan_free);
  ExpectNothing(eris_stats_free);
  ExpectNothing(eris_memory_free);
  ExpectNothing(eris_transfers_count);
  ExpectNothing(eris_transfers_imbalance_before);
  ExpectNothing(eris_transfers_imbalance_after);
  ExpectNothing(eris_transfers_reason);
  ExpectNothing(eris_transfers_free);
  ExpectNothing(eris_move_stop_now);
  ExpectNothing(eris_move_stop_free);
  ExpectNothing(eris_hot_ranges_count);
  ExpectNothing(eris_hot_ranges_load);
  ExpectNothing(eris_hot_ranges_free);
}

class CBadArgumentsOfAnEngineTest : public CApiTest {};

TEST_F(CBadArgumentsOfAnEngineTest, NumbersOfNoEnumeration) {
  for (const int32_t number : {-1, 5, 77, std::numeric_limits<int32_t>::max()}) {
    eris_create_options options = {.struct_size = sizeof options, .kind = number};
    EXPECT_C(ERIS_INVALID_ARGUMENT, eris_create(engine, "a", &options, e.out()));
    EXPECT_THAT(e.message(), testing::HasSubstr("`kind` is " + std::to_string(number)));
  }
  eris_create_options types = {.struct_size = sizeof types, .key_type = 11};
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_create(engine, "a", &types, e.out()));
  eris_object* const index = MakeTriples("triples", 10);
  const uint64_t one[] = {1};
  for (const int32_t mode : {0, -1, 8}) {
    EXPECT_C(ERIS_INVALID_ARGUMENT, eris_write_u64(session, index, mode, one, one, nullptr, 1,
                                                   nullptr, nullptr, 0, e.out()));
  }
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_set_task_scheduling(engine, 4, e.out()));
  const eris_range range = {};
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_move_range(engine, "triples", &range, 1, 9, 0, nullptr, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_move_range(engine, "triples", &range, 1000, 0, 0, nullptr, e.out()));
}

TEST_F(CBadArgumentsOfAnEngineTest, EnginesOfNoSuchOptions) {
  eris_engine* other = nullptr;
  eris_engine_options options = SmallEngine();
  options.struct_size = 3;
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_engine_open(&options, &other, e.out()));
  options = SmallEngine();
  options.topology = "no topology";
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_engine_open(&options, &other, e.out()));
  options = SmallEngine();
  options.placement = 17;
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_engine_open(&options, &other, e.out()));
  options = SmallEngine();
  options.aeu_cpu_count = 4;
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_engine_open(&options, &other, e.out()));
  options = SmallEngine();
  options.superblock_bytes = 12345;
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_engine_open(&options, &other, e.out()));
  EXPECT_EQ(other, nullptr);
}

TEST_F(CBadArgumentsOfAnEngineTest, ColumnsThatAreNone) {
  eris_object* const table = MakeNames("names");
  const int64_t ids[] = {1, 2, 3};
  const uint32_t down[] = {0, 5, 3, 8};
  eris_column columns[] = {{ids, nullptr, nullptr}, {"onethree", nullptr, down}};
  eris_rows rows = {3, columns, 2};
  const auto write = [&] {
    return eris_write(session, table, ERIS_UPSERT, &rows, nullptr, 0, nullptr, e.out());
  };
  EXPECT_C(ERIS_INVALID_ARGUMENT, write());
  EXPECT_THAT(e.message(), testing::HasSubstr("descend"));
  columns[1].offsets = nullptr;
  EXPECT_C(ERIS_INVALID_ARGUMENT, write());
  columns[1] = {"onethree", nullptr, reinterpret_cast<const uint32_t*>(1)};
  EXPECT_C(ERIS_INVALID_ARGUMENT, write());
  EXPECT_THAT(e.message(), testing::HasSubstr("aligned"));
  columns[0].values = reinterpret_cast<const char*>(ids) + 1;
  EXPECT_C(ERIS_INVALID_ARGUMENT, write());
  columns[0].values = nullptr;
  EXPECT_C(ERIS_INVALID_ARGUMENT, write());
  rows.columns = nullptr;
  EXPECT_C(ERIS_INVALID_ARGUMENT, write());
  rows = {3, columns, 1};
  EXPECT_C(ERIS_INVALID_ARGUMENT, write());
  rows = {~uint64_t{0}, columns, 2};
  EXPECT_C(ERIS_INVALID_ARGUMENT, write());
  rows = {0, columns, 2};
  EXPECT_C(ERIS_INVALID_ARGUMENT, write());
}

TEST_F(CBadArgumentsOfAnEngineTest, ShortFormsWithoutTheirArrays) {
  eris_object* const index = MakeTriples("triples", 10);
  uint64_t values[] = {1};
  uint8_t found[] = {0};
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_lookup_u64(session, index, nullptr, 1, values, found, 0, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_lookup_u64(session, index, values, 1, nullptr, found, 0, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_lookup_u64(session, index, values, 0, values, found, 0, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_lookup_u64(session, index, values, 1, values, found, -1, e.out()));
  EXPECT_THAT(e.message(), testing::HasSubstr("`timeout_us` is -1"));
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_lookup_u64(session, index, values, ~size_t{0} >> 8, values, found, 0, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_upsert_u64(session, index, values, nullptr, 1, nullptr, 0, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_write_u64(session, index, ERIS_COMPARE_AND_SET, values,
                                                 values, nullptr, 1, nullptr, nullptr, 0, e.out()));
}

TEST_F(CBadArgumentsOfAnEngineTest, TextsThatAreNone) {
  eris_object* const table = MakeNames("names");
  eris_scan* scan = nullptr;
  eris_query query = {.struct_size = sizeof query, .filter = "id <"};
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_scan_open(session, table, &query, &scan, e.out()));
  EXPECT_THAT(e.message(), testing::StartsWith("filter: "));
  query = {.struct_size = sizeof query, .aggregates = "total(id)"};
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_scan_open(session, table, &query, &scan, e.out()));
  query = {.struct_size = sizeof query, .columns = "nothing"};
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_scan_open(session, table, &query, &scan, e.out()));
  query = {.struct_size = sizeof query, .resume = nullptr, .resume_bytes = 5};
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_scan_open(session, table, &query, &scan, e.out()));
  query = {.struct_size = sizeof query, .resume = "12345", .resume_bytes = 5};
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_scan_open(session, table, &query, &scan, e.out()));
  query = {.struct_size = sizeof query, .range = {5, 4, 0, 0, 1}};
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_scan_open(session, table, &query, &scan, e.out()));
  EXPECT_EQ(scan, nullptr);
}

TEST_F(CBadArgumentsOfAnEngineTest, NoSuchNameAndNoSuchNumber) {
  eris_object* object = nullptr;
  EXPECT_C(ERIS_NOT_FOUND, eris_object_open(session, "nothing", &object, e.out()));
  EXPECT_C(ERIS_NOT_FOUND, eris_drop(engine, "nothing", e.out()));
  eris_catalogue* catalogue = nullptr;
  EXPECT_C(ERIS_NOT_FOUND, eris_describe(engine, "nothing", &catalogue, e.out()));
  ASSERT_C(ERIS_OK, eris_list(engine, &catalogue, e.out()));
  eris_object_info info = {.struct_size = sizeof info};
  EXPECT_C(ERIS_OUT_OF_RANGE, eris_catalogue_get(catalogue, 0, &info, e.out()));
  eris_catalogue_free(catalogue);
  eris_session* other = nullptr;
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_session_new_on(engine, 99, &other, e.out()));
  Make("one");
  EXPECT_C(ERIS_ALREADY_EXISTS, eris_create(engine, "one", nullptr, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_create(engine, "", nullptr, e.out()));
}

}  // namespace
}  // namespace eris::test
