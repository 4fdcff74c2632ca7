// Objects that tests of the client library talk about, and columns of u64 in messages.
#ifndef ERIS_TESTS_UNIT_CLIENTS_TEST_OBJECTS_H_
#define ERIS_TESTS_UNIT_CLIENTS_TEST_OBJECTS_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "eris/types.h"
#include "eris/v1/column.pb.h"

namespace eris::client {

inline ObjectInfo IndexOf(const KeyTypes& key, ColumnType value = ColumnType::kUint64) {
  return {.name = "o", .kind = ObjectKind::kIndex, .schema = KeyValueSchema(key, value)};
}

inline v1::Column ColumnOfNumbers(const std::vector<uint64_t>& numbers) {
  v1::Column column;
  column.set_type(v1::COLUMN_TYPE_UINT64);
  column.set_data(numbers.data(), numbers.size() * sizeof(uint64_t));
  return column;
}
inline std::vector<uint64_t> NumbersOf(const v1::Column& column) {
  std::vector<uint64_t> numbers(column.data().size() / sizeof(uint64_t));
  std::memcpy(numbers.data(), column.data().data(), column.data().size());
  return numbers;
}

}  // namespace eris::client

#endif  // ERIS_TESTS_UNIT_CLIENTS_TEST_OBJECTS_H_
