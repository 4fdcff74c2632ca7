// Scans, snapshots, aggregates, joins, shares.
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "capi/handles.h"
#include "tests/unit/capi/capi_fixture.h"

namespace eris::test {
namespace {

using CScanTest = CApiTest;
using Rows = std::vector<std::vector<uint64_t>>;

TEST_F(CScanTest, IndexesAreReadInOrderAndInPart) {
  eris_object* const index = MakeTriples("triples", 1000);
  eris_scan* scan = nullptr;
  eris_query query = {.struct_size = sizeof query, .range = {5, 8, 0, 0, 0}};
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, &query, &scan, e.out()));
  EXPECT_EQ(ReadAll(scan), (Rows{{5, 15}, {6, 18}, {7, 21}}));
  query.backward = 1;
  query.limit = 2;
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, &query, &scan, e.out()));
  EXPECT_EQ(ReadAll(scan), (Rows{{7, 21}, {6, 18}}));
  const eris_value_range values = {2991, 3000};
  query = {.struct_size = sizeof query, .values = &values};
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, &query, &scan, e.out()));
  EXPECT_EQ(ReadAll(scan), (Rows{{997, 2991}, {998, 2994}, {999, 2997}}));
  query = {.struct_size = sizeof query, .range = {998, 0, 0, 0, 1}, .columns = "key"};
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, &query, &scan, e.out()));
  EXPECT_EQ(ReadAll(scan), (Rows{{998}, {999}}));
}

TEST_F(CScanTest, AScanGoesOnAfterAChunk) {
  constexpr uint64_t kRows = 100'000;
  eris_object* const index = MakeTriples("triples", kRows);
  eris_scan* scan = nullptr;
  eris_chunk* chunk = nullptr;
  eris_query query = {.struct_size = sizeof query};
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, &query, &scan, e.out()));
  ASSERT_C(ERIS_OK, eris_scan_next(scan, 60'000'000, &chunk, e.out()));
  const uint64_t first = eris_chunk_rows(chunk);
  query.resume = eris_chunk_resume(chunk, &query.resume_bytes);
  ASSERT_NE(query.resume, nullptr);
  eris_scan* rest = nullptr;
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, &query, &rest, e.out()));
  eris_chunk_free(chunk);
  eris_scan_free(scan);
  const Rows rows = ReadAll(rest);
  ASSERT_EQ(rows.size(), kRows - first);
  EXPECT_EQ(rows[0][0], first);
}

TEST_F(CScanTest, TablesAreFilteredGroupedAndComputed) {
  eris_object* const table = MakeNames("names");
  WriteNames(table, ERIS_UPSERT);
  eris_scan* scan = nullptr;
  eris_query query = {.struct_size = sizeof query, .filter = "name is not null"};
  query.columns = "id * 2 as twice";
  ASSERT_C(ERIS_OK, eris_scan_open(session, table, &query, &scan, e.out()));
  EXPECT_THAT(ReadAll(scan),
              testing::UnorderedElementsAre(std::vector<uint64_t>{2}, std::vector<uint64_t>{6}));
  query = {.struct_size = sizeof query, .aggregates = "count(*), count(name), max(id)"};
  ASSERT_C(ERIS_OK, eris_scan_open(session, table, &query, &scan, e.out()));
  EXPECT_EQ(ReadAll(scan), (Rows{{3, 2, 3}}));
  ArrowSchema schema;
  ASSERT_C(ERIS_OK, eris_answer_schema(session, table, &query, &schema, e.out()));
  EXPECT_EQ(schema.n_children, 3);
  EXPECT_STREQ(schema.children[2]->format, "l");
  schema.release(&schema);
}

TEST_F(CScanTest, SnapshotsDoNotSeeLaterWrites) {
  eris_object* const index = MakeTriples("triples", 3);
  eris_snapshot* snapshot = nullptr;
  ASSERT_C(ERIS_OK, eris_snapshot_take(engine, &snapshot, e.out()));
  const uint64_t key = 7;
  ASSERT_C(ERIS_OK, eris_upsert_u64(session, index, &key, &key, 1, nullptr, 0, e.out()));
  eris_query query = {.struct_size = sizeof query, .snapshot = snapshot};
  eris_scan* scan = nullptr;
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, &query, &scan, e.out()));
  EXPECT_EQ(ReadAll(scan).size(), 3u);
  eris_aggregate_options options = {.struct_size = sizeof options, .count_only = 1};
  options.snapshot = snapshot;
  eris_aggregate_result result = {.struct_size = sizeof result};
  ASSERT_C(ERIS_OK, eris_aggregate(session, index, &options, 0, &result, e.out()));
  EXPECT_EQ(result.count, 3u);
  ASSERT_C(ERIS_OK, eris_aggregate(session, index, nullptr, 0, &result, e.out()));
  EXPECT_EQ(result.count, 4u);
  EXPECT_EQ(result.sum_low, 0u + 3 + 6 + 7);
  EXPECT_EQ(result.max, 7u);
  EXPECT_EQ(result.last_key, 7u);
  EXPECT_EQ(eris_snapshot_aborted(snapshot), 0);
  eris_snapshot_free(snapshot);
}

struct Chunks {
  std::mutex mu;
  std::condition_variable changed;
  uint64_t calls = 0;
  uint64_t rows = 0;
  bool ended = false;
  eris_code code = ERIS_OK;

  static void Take(void* user, eris_chunk* chunk, eris_error* error) {
    auto* const its = static_cast<Chunks*>(user);
    const std::lock_guard lock(its->mu);
    ++its->calls;
    its->rows += eris_chunk_rows(chunk);
    its->ended = chunk == nullptr;
    its->code = eris_error_code(error);
    eris_error_free(error);
    eris_chunk_free(chunk);
    its->changed.notify_all();
  }
  void Await(uint64_t count) {
    std::unique_lock lock(mu);
    changed.wait(lock, [&] { return calls == count; });
  }
};

TEST_F(CScanTest, ChunksComeByCallback) {
  eris_object* const index = MakeTriples("triples", 100'000);
  eris_scan* scan = nullptr;
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, nullptr, &scan, e.out()));
  Chunks chunks;
  uint64_t calls = 0;
  while (!chunks.ended) {
    ASSERT_C(ERIS_OK, eris_scan_next_async(scan, &Chunks::Take, &chunks, e.out()));
    chunks.Await(++calls);
  }
  EXPECT_EQ(chunks.rows, 100'000u);
  EXPECT_EQ(chunks.code, ERIS_OK);
  eris_scan_free(scan);
}

TEST_F(CScanTest, ACancelledScanSaysSo) {
  eris_object* const index = MakeTriples("triples", 100'000);
  eris_scan* scan = nullptr;
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, nullptr, &scan, e.out()));
  eris_scan_cancel(scan);
  eris_chunk* chunk = nullptr;
  EXPECT_C(ERIS_CANCELLED, eris_scan_next(scan, 0, &chunk, e.out()));
  EXPECT_EQ(chunk, nullptr);
  Chunks chunks;
  ASSERT_C(ERIS_OK, eris_scan_next_async(scan, &Chunks::Take, &chunks, e.out()));
  chunks.Await(1);
  EXPECT_EQ(chunks.code, ERIS_CANCELLED);
  eris_scan_free(scan);
}

TEST_F(CScanTest, AScanThatHasLostAChunkGivesNoMore) {
  eris_object* const index = MakeTriples("triples", 100);
  eris_scan* scan = nullptr;
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, nullptr, &scan, e.out()));
  scan->calls->lost = true;  // as without memory for a chunk's resume position
  eris_chunk* chunk = nullptr;
  for (int i = 0; i < 2; ++i) {
    EXPECT_C(ERIS_RESOURCE_EXHAUSTED, eris_scan_next(scan, 0, &chunk, e.out()));
    EXPECT_EQ(chunk, nullptr);
  }
  Chunks chunks;
  EXPECT_C(ERIS_RESOURCE_EXHAUSTED, eris_scan_next_async(scan, &Chunks::Take, &chunks, e.out()));
  ArrowArrayStream stream;
  EXPECT_C(ERIS_RESOURCE_EXHAUSTED, eris_scan_export_stream(scan, &stream, e.out()));  // frees it
  EXPECT_EQ(stream.release, nullptr);
  EXPECT_EQ(chunks.calls, 0u);
}

TEST_F(CScanTest, RowsAreJoinedAndWrittenOn) {
  eris_object* const outer = MakeTriples("outer", 10);
  eris_object* const inner = MakeTriples("inner", 100);
  eris_scan* scan = nullptr;
  const eris_range range = {2, 4, 0, 0, 0};
  ASSERT_C(ERIS_OK, eris_join_open(session, outer, inner, &range, nullptr, &scan, e.out()));
  EXPECT_THAT(ReadAll(scan), testing::UnorderedElementsAre(std::vector<uint64_t>{2, 6, 18},
                                                           std::vector<uint64_t>{3, 9, 27}));
  eris_object* const table = MakeNames("names");
  WriteNames(table, ERIS_UPSERT);
  eris_object* const copy = MakeNames("copy");
  const eris_query query = {.struct_size = sizeof query, .filter = "id > 1"};
  uint64_t rows = 0;
  ASSERT_C(ERIS_OK, eris_scan_into(session, table, &query, copy, 0, &rows, e.out()));
  EXPECT_EQ(rows, 2u);
}

struct Reads {
  std::mutex mu;
  std::condition_variable changed;
  std::vector<uint64_t> rows;  // what each callback brought
  eris_code code = ERIS_OK;

  void Add(uint64_t count, const eris_error* error) {
    const std::lock_guard lock(mu);
    rows.push_back(count);
    code = eris_error_code(error);
    changed.notify_all();
  }
  static void TakeRows(void* user, uint64_t rows, const eris_error* error) {
    static_cast<Reads*>(user)->Add(rows, error);
  }
  static void TakeSum(void* user, const eris_aggregate_result* result, const eris_error* error) {
    static_cast<Reads*>(user)->Add(result == nullptr ? 0 : result->sum_low, error);
  }
  void Await(size_t count) {
    std::unique_lock lock(mu);
    changed.wait(lock, [&] { return rows.size() == count; });
  }
};

TEST_F(CScanTest, AggregatesAndCopiesComeByCallback) {
  eris_object* const index = MakeTriples("triples", 10);
  eris_object* const table = MakeNames("names");
  WriteNames(table, ERIS_UPSERT);
  eris_object* const copy = MakeNames("copy");
  Reads reads;
  eris_call* call = nullptr;
  ASSERT_C(ERIS_OK,
           eris_aggregate_async(session, index, nullptr, &Reads::TakeSum, &reads, &call, e.out()));
  reads.Await(1);
  EXPECT_EQ(reads.rows[0], 3 * 45u);
  eris_result* result = nullptr;
  EXPECT_C(ERIS_FAILED_PRECONDITION, eris_call_wait(call, 0, &result, e.out()));
  eris_call_free(call);
  ASSERT_C(ERIS_OK, eris_scan_into_async(session, table, nullptr, copy, &Reads::TakeRows, &reads,
                                         nullptr, e.out()));
  reads.Await(2);
  EXPECT_EQ(reads.rows[1], 3u);
  EXPECT_EQ(reads.code, ERIS_OK);
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_scan_into_async(session, table, nullptr, copy, nullptr, &reads, nullptr, e.out()));
}

TEST_F(CScanTest, SharesAreTheRowsTogether) {
  eris_object* const index = MakeTriples("triples", 1000);
  eris_shares* shares = nullptr;
  eris_query query = {.struct_size = sizeof query};
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_shares_of(session, index, &query, 0, &shares, e.out()));
  eris_snapshot* snapshot = nullptr;
  ASSERT_C(ERIS_OK, eris_snapshot_take(engine, &snapshot, e.out()));
  query.snapshot = snapshot;
  ASSERT_C(ERIS_OK, eris_shares_of(session, index, &query, 0, &shares, e.out()));
  uint64_t rows = 0;
  for (size_t i = 0; i < eris_shares_count(shares); ++i) {
    eris_share share = {.struct_size = sizeof share};
    ASSERT_C(ERIS_OK, eris_shares_get(shares, i, &share, e.out()));
    query.range = share.range;
    eris_scan* scan = nullptr;
    ASSERT_C(ERIS_OK, eris_scan_open(session, index, &query, &scan, e.out()));
    rows += ReadAll(scan).size();
  }
  EXPECT_EQ(rows, 1000u);
  eris_shares_free(shares);
  eris_snapshot_free(snapshot);
}

}  // namespace
}  // namespace eris::test
