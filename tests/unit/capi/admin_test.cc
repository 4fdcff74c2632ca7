// Statistics, memory, the balancer, moves.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/capi/capi_fixture.h"

namespace eris::test {
namespace {

using CAdminTest = CApiTest;

TEST_F(CAdminTest, StatisticsCountWhatWasDone) {
  MakeTriples("triples", 1000);
  eris_stats* stats = nullptr;
  ASSERT_C(ERIS_OK, eris_stats_read(engine, &stats, e.out()));
  eris_engine_stats total = {.struct_size = sizeof total};
  ASSERT_C(ERIS_OK, eris_stats_engine(stats, &total, e.out()));
  ASSERT_EQ(total.aeu_count, 4u);
  EXPECT_EQ(total.numa_node_count, 2u);
  uint64_t rows = 0;
  for (size_t i = 0; i < total.aeu_count; ++i) {
    eris_aeu_stats aeu = {.struct_size = sizeof aeu};
    ASSERT_C(ERIS_OK, eris_stats_aeu(stats, i, &aeu, e.out()));
    EXPECT_EQ(aeu.id, i);
    rows += aeu.rows;
  }
  EXPECT_EQ(rows, 1000u);
  eris_numa_node_stats numa_node = {.struct_size = sizeof numa_node};
  ASSERT_C(ERIS_OK, eris_stats_numa_node(stats, 1, &numa_node, e.out()));
  EXPECT_GT(numa_node.used_bytes, 0u);
  eris_aeu_stats none = {.struct_size = sizeof none};
  EXPECT_C(ERIS_OUT_OF_RANGE, eris_stats_aeu(stats, 4, &none, e.out()));
  none.struct_size = 0;
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_stats_aeu(stats, 0, &none, e.out()));
  eris_stats_free(stats);
}

TEST_F(CAdminTest, MemoryIsAccountedFor) {
  MakeTriples("triples", 1000);
  eris_memory* memory = nullptr;
  ASSERT_C(ERIS_OK, eris_memory_read(engine, &memory, e.out()));
  eris_memory_totals totals = {.struct_size = sizeof totals};
  ASSERT_C(ERIS_OK, eris_memory_total(memory, &totals, e.out()));
  EXPECT_EQ(totals.limit_bytes, uint64_t{1} << 30);
  EXPECT_STRNE(totals.process_source, "");
  ASSERT_EQ(totals.numa_node_count, 2u);
  ASSERT_EQ(totals.object_count, 2u);
  eris_numa_node_memory numa_node = {.struct_size = sizeof numa_node};
  ASSERT_C(ERIS_OK, eris_memory_numa_node(memory, 0, &numa_node, e.out()));
  EXPECT_GE(numa_node.reserved_bytes, numa_node.in_use_bytes);
  eris_object_memory object = {.struct_size = sizeof object};
  ASSERT_C(ERIS_OK, eris_memory_object(memory, 0, &object, e.out()));
  EXPECT_STREQ(object.object, "triples");
  EXPECT_GT(object.used_bytes, 0u);
  eris_memory_free(memory);
}

TEST_F(CAdminTest, PlacesAreAskedForOrRefused) {
  MakeTriples("triples", 1000);
  eris_placement places[1] = {{.struct_size = sizeof places[0]}};
  size_t count = 0;
  const eris_code code = eris_memory_verify(engine, 100, 0, places, 1, &count, e.out());
  if (code == ERIS_OK) {
    EXPECT_EQ(count, 2u);  // only one of them was asked for
    EXPECT_EQ(places[0].struct_size, sizeof places[0]);
    EXPECT_EQ(places[0].bound, 0);  // of a machine that is not there
  } else {
    EXPECT_THAT(code, testing::AnyOf(ERIS_UNIMPLEMENTED, ERIS_FAILED_PRECONDITION)) << e.message();
  }
}

TEST_F(CAdminTest, RangesAreMovedPlannedAndTold) {
  MakeTriples("triples", 1000);
  const eris_range range = {0, 100, 0, 0, 0};
  ASSERT_C(ERIS_OK, eris_move_range(engine, "triples", &range, 3, ERIS_TRANSFER_COPY, 60'000'000,
                                    nullptr, e.out()));
  const eris_range leap = {100, 200, 0, 0, 0};
  ASSERT_C(ERIS_OK, eris_move_range(engine, "triples", &leap, 2, ERIS_TRANSFER_LEAP, 60'000'000,
                                    nullptr, e.out()));
  eris_transfers* history = nullptr;
  ASSERT_C(ERIS_OK, eris_transfer_history(engine, &history, e.out()));
  ASSERT_EQ(eris_transfers_count(history), 2u);
  eris_transfer transfer = {.struct_size = sizeof transfer};
  ASSERT_C(ERIS_OK, eris_transfers_get(history, 1, &transfer, e.out()));
  EXPECT_STREQ(transfer.object, "triples");
  EXPECT_EQ(transfer.to, 3u);
  EXPECT_EQ(transfer.kind, ERIS_TRANSFER_COPY);
  EXPECT_EQ(transfer.rows, 100u);
  EXPECT_EQ(transfer.outcome, 1);
  EXPECT_GT(transfer.started_unix_us, 0);
  EXPECT_STREQ(transfer.reason, "");
  eris_transfers_free(history);
  eris_balancer_status status = {.struct_size = sizeof status};
  ASSERT_C(ERIS_OK, eris_balancer_read(engine, &status, e.out()));
  EXPECT_EQ(status.copies, 1u);
  EXPECT_EQ(status.leaps, 1u);
  EXPECT_EQ(status.enabled, 0);
  const eris_range split = {0, 1000, 0, 0, 0};
  ASSERT_C(ERIS_OK, eris_presplit(engine, "triples", &split, 4, 0, nullptr, e.out()));
  eris_transfers* plan = nullptr;
  ASSERT_C(ERIS_OK, eris_plan_balance(engine, "triples", &plan, e.out()));
  EXPECT_GE(eris_transfers_imbalance_before(plan), eris_transfers_imbalance_after(plan));
  eris_transfers_free(plan);
  ASSERT_C(ERIS_OK, eris_rebalance(engine, "triples", 0, nullptr, nullptr, e.out()));
  eris_hot_ranges* hot = nullptr;
  ASSERT_C(ERIS_OK, eris_find_hot_ranges(engine, "triples", 0, &hot, e.out()));
  eris_hot_ranges_free(hot);
}

TEST_F(CAdminTest, MovesAreStoppedAndPaused) {
  MakeTriples("triples", 1000);
  const eris_range range = {0, 100, 0, 0, 0};
  eris_move_stop* stop = nullptr;
  ASSERT_C(ERIS_OK, eris_move_stop_new(&stop, e.out()));
  eris_move_stop_now(stop);
  EXPECT_C(ERIS_CANCELLED, eris_move_range(engine, "triples", &range, 3, 0, 0, stop, e.out()));
  eris_move_stop_free(stop);
  ASSERT_C(ERIS_OK, eris_balancer_pause(engine, e.out()));
  EXPECT_C(ERIS_FAILED_PRECONDITION,
           eris_move_range(engine, "triples", &range, 3, 0, 0, nullptr, e.out()));
  ASSERT_C(ERIS_OK, eris_balancer_resume(engine, e.out()));
  eris_balancer_options options = {.struct_size = sizeof options, .period_ms = 1};
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_balancer_set(engine, &options, e.out()));
  options.period_ms = 500;
  options.reserved = 1;
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_balancer_set(engine, &options, e.out()));
  EXPECT_THAT(e.message(), testing::HasSubstr("`reserved` is 1"));
  options.reserved = 0;
  EXPECT_C(ERIS_OK, eris_balancer_set(engine, &options, e.out()));
  EXPECT_C(ERIS_OK, eris_set_task_scheduling(engine, 2, e.out()));
}

}  // namespace
}  // namespace eris::test
