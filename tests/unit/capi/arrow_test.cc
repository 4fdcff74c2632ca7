// Columns in and out by the Arrow C data interface.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/capi/capi_fixture.h"

namespace eris::test {
namespace {

// A struct array of Arrow that a program owns, built by hand: an id and a name.
struct Names {
  std::vector<int64_t> ids;
  std::string bytes;
  std::vector<uint32_t> offsets = {0};
  std::vector<uint8_t> validity;
  ArrowSchema columns[2] = {};
  ArrowSchema* column_list[2] = {&columns[1], &columns[0]};  // in another order than the table's
  ArrowArray arrays[2] = {};
  ArrowArray* array_list[2] = {&arrays[1], &arrays[0]};
  const void* id_buffers[2] = {};
  const void* name_buffers[3] = {};
  const void* top_buffers[1] = {};
  ArrowSchema schema = {};
  ArrowArray array = {};

  explicit Names(int64_t rows) {
    validity.resize(static_cast<size_t>(rows / 8 + 1));
    int64_t nulls = 0;
    for (int64_t i = 0; i < rows; ++i) {
      ids.push_back(i);
      if (i % 3 == 0) {
        ++nulls;
      } else {
        bytes += "name" + std::to_string(i);
        validity[static_cast<size_t>(i / 8)] |= static_cast<uint8_t>(1 << (i % 8));
      }
      offsets.push_back(static_cast<uint32_t>(bytes.size()));
    }
    id_buffers[1] = ids.data();
    name_buffers[0] = validity.data();
    name_buffers[1] = offsets.data();
    name_buffers[2] = bytes.data();
    const auto keep_schema = [](ArrowSchema*) {};
    const auto keep = [](ArrowArray*) {};
    columns[0] = {.format = "l", .name = "id", .release = keep_schema};
    columns[1] = {
        .format = "u", .name = "name", .flags = ARROW_FLAG_NULLABLE, .release = keep_schema};
    schema = {.format = "+s", .n_children = 2, .children = column_list, .release = keep_schema};
    arrays[0] = {.length = rows, .n_buffers = 2, .buffers = id_buffers, .release = keep};
    arrays[1] = {.length = rows,
                 .null_count = nulls,
                 .n_buffers = 3,
                 .buffers = name_buffers,
                 .release = keep};
    array = {.length = rows,
             .n_buffers = 1,
             .n_children = 2,
             .buffers = top_buffers,
             .children = array_list,
             .release = keep};
  }
  // Rows [first, first + count) of it.
  void Slice(int64_t first, int64_t count) {
    array.offset = first;
    array.length = count;
  }
};

class CArrowTest : public CApiTest {
 protected:
  eris_code Append(const eris_object* table, const Names& rows) {
    return eris_write_arrow(session, table, ERIS_APPEND, &rows.schema, &rows.array, 0, nullptr,
                            e.out());
  }
  uint64_t Count(const eris_object* table, const char* filter) {
    eris_scan* scan = nullptr;
    const eris_query query = {
        .struct_size = sizeof query, .filter = filter, .aggregates = "count(*)"};
    EXPECT_C(ERIS_OK, eris_scan_open(session, table, &query, &scan, e.out()));
    const auto rows = ReadAll(scan);
    return rows.empty() ? ~uint64_t{0} : rows[0][0];
  }
};

TEST_F(CArrowTest, ArraysAreAppended) {
  eris_object* const table = MakeNames("names", ERIS_KIND_HEAP_TABLE);
  const Names names(1000);
  ASSERT_C(ERIS_OK, Append(table, names));
  EXPECT_EQ(Count(table, nullptr), 1000u);
  EXPECT_EQ(Count(table, "name is null"), 334u);
  EXPECT_EQ(Count(table, "name = 'name500'"), 1u);
}

TEST_F(CArrowTest, SlicesKeepTheirNulls) {
  eris_object* const table = MakeNames("names", ERIS_KIND_HEAP_TABLE);
  Names names(100);
  names.Slice(13, 40);  // 13: the nulls' bits have to move
  ASSERT_C(ERIS_OK, Append(table, names));
  EXPECT_EQ(Count(table, nullptr), 40u);
  EXPECT_EQ(Count(table, "id between 13 and 52"), 40u);
  EXPECT_EQ(Count(table, "name is null and id % 3 = 0"), 13u);
  EXPECT_EQ(Count(table, "name is null"), 13u);
  EXPECT_EQ(Count(table, "name = 'name13' and id = 13"), 1u);
  names.arrays[0].offset = 1;  // and a child that is a slice of its own
  names.arrays[0].length = 99;
  names.Slice(0, 8);
  ASSERT_C(ERIS_OK, Append(table, names));
  EXPECT_EQ(Count(table, "id = 8"), 1u);
}

TEST_F(CArrowTest, ArraysOfOtherFormsAreRefused) {
  eris_object* const table = MakeNames("names", ERIS_KIND_HEAP_TABLE);
  const auto refused = [&](auto change) {
    Names names(10);
    change(names);
    EXPECT_C(ERIS_INVALID_ARGUMENT, Append(table, names));
    return e.message();
  };
  EXPECT_THAT(refused([](Names& n) { n.schema.release = nullptr; }),
              testing::HasSubstr("released"));
  EXPECT_THAT(refused([](Names& n) { n.array.release = nullptr; }), testing::HasSubstr("released"));
  EXPECT_THAT(refused([](Names& n) { n.schema.format = "l"; }), testing::HasSubstr("\"l\""));
  EXPECT_THAT(refused([](Names& n) { n.columns[0].format = "i"; }), testing::HasSubstr("\"i\""));
  EXPECT_THAT(refused([](Names& n) { n.columns[1].format = "U"; }), testing::HasSubstr("\"U\""));
  EXPECT_THAT(refused([](Names& n) { n.columns[0].format = nullptr; }), testing::HasSubstr("id"));
  EXPECT_THAT(refused([](Names& n) { n.columns[0].name = "di"; }), testing::HasSubstr("id"));
  EXPECT_THAT(refused([](Names& n) { n.columns[0].name = nullptr; }), testing::HasSubstr("name"));
  EXPECT_THAT(refused([](Names& n) { n.columns[1].dictionary = &n.columns[0]; }),
              testing::HasSubstr("dictionary"));
  EXPECT_THAT(refused([](Names& n) { n.array.n_children = 1; }), testing::HasSubstr("children"));
  EXPECT_THAT(refused([](Names& n) { n.array.length = 11; }), testing::HasSubstr("rows"));
  EXPECT_THAT(refused([](Names& n) { n.array.length = -1; }), testing::HasSubstr("length"));
  EXPECT_THAT(refused([](Names& n) { n.array.offset = 5; }), testing::HasSubstr("rows"));
  EXPECT_THAT(refused([](Names& n) { n.array.offset = INT64_MAX; }), testing::HasSubstr("offset"));
  EXPECT_THAT(refused([](Names& n) { n.arrays[0].n_buffers = 1; }), testing::HasSubstr("buffers"));
  EXPECT_THAT(refused([](Names& n) { n.arrays[0].buffers = nullptr; }),
              testing::HasSubstr("buffers"));
  EXPECT_THAT(refused([](Names& n) { n.id_buffers[1] = nullptr; }), testing::HasSubstr("values"));
  EXPECT_THAT(refused([](Names& n) { n.array_list[0] = nullptr; }), testing::HasSubstr("name"));
  EXPECT_THAT(refused([](Names& n) {
                n.top_buffers[0] = n.validity.data();
                n.array.null_count = 4;
              }),
              testing::HasSubstr("null as a whole"));
  EXPECT_EQ(Count(table, nullptr), 0u);
}

TEST_F(CArrowTest, AnArrowSchemaMakesATable) {
  const Names names(1);
  eris_create_options options = {.struct_size = sizeof options, .kind = ERIS_KIND_TABLE};
  options.arrow_schema = &names.schema;
  const uint32_t key[] = {1};
  options.key = key;
  options.key_count = 1;
  eris_object* const table = Make("names", &options);
  ArrowSchema schema;
  ASSERT_C(ERIS_OK, eris_object_arrow_schema(table, &schema, e.out()));
  ASSERT_EQ(schema.n_children, 2);
  EXPECT_STREQ(schema.children[0]->name, "name");
  EXPECT_EQ(schema.children[0]->flags, ARROW_FLAG_NULLABLE);
  EXPECT_STREQ(schema.children[1]->format, "l");
  schema.release(&schema);
  options.key_type = ERIS_TYPE_INT64;
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_create(engine, "both", &options, e.out()));
}

TEST_F(CArrowTest, AnswersAreExportedAndOutliveTheirResult) {
  eris_object* const index = MakeTriples("triples", 100);
  const uint64_t ids[] = {5, 500};
  const eris_column column = {ids, nullptr, nullptr};
  const eris_rows keys = {2, &column, 1};
  eris_result* result = nullptr;
  ASSERT_C(ERIS_OK, eris_lookup(session, index, &keys, nullptr, 0, &result, e.out()));
  ArrowSchema schema;
  ArrowArray array;
  ASSERT_C(ERIS_OK, eris_result_export_arrow(result, &schema, &array, e.out()));
  eris_result_free(result);
  ASSERT_EQ(array.n_children, 1);
  EXPECT_EQ(array.length, 2);
  EXPECT_EQ(array.children[0]->null_count, 1);  // 500 was not found
  EXPECT_EQ(static_cast<const uint64_t*>(array.children[0]->buffers[1])[0], 15u);
  EXPECT_EQ(schema.children[0]->flags, ARROW_FLAG_NULLABLE);
  schema.release(&schema);
  array.release(&array);
}

TEST_F(CArrowTest, KeysOfALookupMayBeAnArray) {
  eris_object* const table = MakeNames("names");
  WriteNames(table, ERIS_UPSERT);
  Names names(4);
  names.schema.n_children = names.array.n_children = 1;
  names.schema.children = &names.column_list[1];
  names.array.children = &names.array_list[1];
  eris_result* result = nullptr;
  ASSERT_C(ERIS_OK, eris_lookup_arrow(session, table, &names.schema, &names.array, nullptr, 0,
                                      &result, e.out()));
  EXPECT_EQ(eris_result_existed(result)[0], 0b1110);
  eris_result_free(result);
}

TEST_F(CArrowTest, ScansAreStreams) {
  eris_object* const index = MakeTriples("triples", 100'000);
  eris_scan* scan = nullptr;
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, nullptr, &scan, e.out()));
  ArrowArrayStream stream;
  ASSERT_C(ERIS_OK, eris_scan_export_stream(scan, &stream, e.out()));
  EXPECT_C(ERIS_FAILED_PRECONDITION, eris_engine_close(engine, e.out()));
  EXPECT_THAT(e.message(), testing::HasSubstr("1 Arrow structure"));
  std::vector<ArrowArray> arrays;
  int64_t rows = 0;
  for (;;) {
    ArrowArray array;
    ASSERT_EQ(stream.get_next(&stream, &array), 0);
    if (array.release == nullptr) break;
    rows += array.length;
    arrays.push_back(array);  // kept, as a reader that collects does
  }
  EXPECT_EQ(rows, 100'000);
  stream.release(&stream);
  EXPECT_EQ(static_cast<const uint64_t*>(arrays[0].children[1]->buffers[1])[9], 27u);
  for (ArrowArray& array : arrays) array.release(&array);
}

TEST_F(CArrowTest, AChunkThatIsExportedHoldsTheEngine) {
  eris_object* const index = MakeTriples("triples", 10);
  eris_scan* scan = nullptr;
  eris_chunk* chunk = nullptr;
  ASSERT_C(ERIS_OK, eris_scan_open(session, index, nullptr, &scan, e.out()));
  ASSERT_C(ERIS_OK, eris_scan_next(scan, 0, &chunk, e.out()));
  ArrowSchema schema;
  ArrowArray array;
  ASSERT_C(ERIS_OK, eris_chunk_export_arrow(chunk, &schema, &array, e.out()));
  eris_chunk_free(chunk);
  eris_scan_free(scan);
  schema.release(&schema);
  EXPECT_C(ERIS_FAILED_PRECONDITION, eris_engine_close(engine, e.out()));
  EXPECT_THAT(e.message(), testing::HasSubstr("1 Arrow structure"));
  const auto column = [&array](int i) {
    return static_cast<const uint64_t*>(array.children[i]->buffers[1]);
  };
  ASSERT_GE(array.length, 1);  // a chunk may end where its partition does
  EXPECT_EQ(column(1)[array.length - 1], 3 * column(0)[array.length - 1]);
  array.release(&array);
}

}  // namespace
}  // namespace eris::test
