// An engine behind the C interface, for its tests: a line for each call, and its code.
#ifndef ERIS_TESTS_UNIT_CAPI_CAPI_FIXTURE_H_
#define ERIS_TESTS_UNIT_CAPI_CAPI_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "eris/eris.h"

namespace eris::test {

// The error of one call, freed with it.
class CError {
 public:
  ~CError() { eris_error_free(error_); }
  eris_error** out() {
    eris_error_free(error_);
    error_ = nullptr;
    return &error_;
  }
  eris_code code() const { return eris_error_code(error_); }
  std::string message() const { return eris_error_message(error_); }

 private:
  eris_error* error_ = nullptr;
};

// EXPECT_C(ERIS_OK, eris_drop(engine, "a", e.out())): the code, with the message when it is
// another.
#define EXPECT_C(expected, call) EXPECT_EQ(call, expected) << e.message()
#define ASSERT_C(expected, call) ASSERT_EQ(call, expected) << e.message()

inline eris_engine_options SmallEngine() {
  eris_engine_options options = {};
  options.struct_size = sizeof options;
  options.topology = "numa:2 core:2 pu:1";
  options.aeu_count = 4;
  options.memory_limit_bytes = uint64_t{1} << 30;
  return options;
}

class CApiTest : public testing::Test {
 protected:
  void SetUp() override {
    const eris_balancer_options still = {.struct_size = sizeof still, .disabled = 1};
    eris_engine_options options = SmallEngine();
    options.balancer = &still;
    ASSERT_C(ERIS_OK, eris_engine_open(&options, &engine, e.out()));
    ASSERT_C(ERIS_OK, eris_session_new(engine, &session, e.out()));
  }
  void TearDown() override {
    for (eris_object* object : objects_) eris_object_free(object);
    eris_session_free(session);
    EXPECT_C(ERIS_OK, eris_engine_close(engine, e.out()));  // nothing else is left
  }

  // Creates an object and opens it.
  eris_object* Make(const char* name, const eris_create_options* options = nullptr) {
    EXPECT_C(ERIS_OK, eris_create(engine, name, options, e.out()));
    eris_object* object = nullptr;
    EXPECT_C(ERIS_OK, eris_object_open(session, name, &object, e.out()));
    objects_.push_back(object);
    return object;
  }
  // An index 0 -> 0, 1 -> 3, 2 -> 6, ...
  eris_object* MakeTriples(const char* name, uint64_t rows) {
    eris_create_options options = {.struct_size = sizeof options};
    options.expected.hi = rows;
    eris_object* const object = Make(name, &options);
    std::vector<uint64_t> keys(rows), values(rows);
    for (uint64_t i = 0; i < rows; ++i) {
      keys[i] = i;
      values[i] = 3 * i;
    }
    EXPECT_C(ERIS_OK, eris_upsert_u64(session, object, keys.data(), values.data(), rows, nullptr, 0,
                                      e.out()));
    return object;
  }
  // A table of an id and a name that may be null.
  eris_object* MakeNames(const char* name, int32_t kind = ERIS_KIND_TABLE) {
    const eris_column_schema columns[] = {{"id", ERIS_TYPE_INT64, 0, 0},
                                          {"name", ERIS_TYPE_STRING, 0, 1}};
    const uint32_t key[] = {0};
    eris_create_options options = {.struct_size = sizeof options, .kind = kind};
    options.columns = columns;
    options.column_count = 2;
    options.key = key;
    options.key_count = kind == ERIS_KIND_TABLE ? 1 : 0;
    return Make(name, &options);
  }
  // Rows 1 "one", 2 null, 3 "three".
  void WriteNames(const eris_object* table, int32_t mode) {
    const int64_t ids[] = {1, 2, 3};
    const uint32_t offsets[] = {0, 3, 3, 8};
    const uint8_t validity[] = {0b101};
    const eris_column columns[] = {{ids, nullptr, nullptr}, {"onethree", validity, offsets}};
    const eris_rows rows = {3, columns, 2};
    ASSERT_C(ERIS_OK, eris_write(session, table, mode, &rows, nullptr, 0, nullptr, e.out()));
  }
  // All rows of a scan's columns of u64, and frees the scan.
  std::vector<std::vector<uint64_t>> ReadAll(eris_scan* scan) {
    std::vector<std::vector<uint64_t>> rows;
    for (;;) {
      eris_chunk* chunk = nullptr;
      EXPECT_C(ERIS_OK, eris_scan_next(scan, 0, &chunk, e.out()));
      if (chunk == nullptr) break;
      rows.resize(rows.size() + eris_chunk_rows(chunk));
      for (size_t i = 0; i < eris_chunk_column_count(chunk); ++i) {
        eris_column column = {};
        EXPECT_C(ERIS_OK, eris_chunk_column(chunk, i, &column, nullptr, e.out()));
        const size_t first = rows.size() - eris_chunk_rows(chunk);
        for (size_t row = first; row < rows.size(); ++row) {
          rows[row].push_back(static_cast<const uint64_t*>(column.values)[row - first]);
        }
      }
      eris_chunk_free(chunk);
    }
    eris_scan_free(scan);
    return rows;
  }

  CError e;
  eris_engine* engine = nullptr;
  eris_session* session = nullptr;

 private:
  std::vector<eris_object*> objects_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_UNIT_CAPI_CAPI_FIXTURE_H_
