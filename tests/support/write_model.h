// What lookups and writes do to a std::map: the model that storage and engine are held against.
#ifndef ERIS_TESTS_SUPPORT_WRITE_MODEL_H_
#define ERIS_TESTS_SUPPORT_WRITE_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <type_traits>

#include "eris/batch.h"
#include "storage/batch.h"

namespace eris::test {

// REQUIRES: a mode of objects with a key.
inline storage::Operation OperationOf(WriteMode mode) {
  using storage::Operation;
  constexpr Operation kOperations[] = {Operation::kInsertIfAbsent, Operation::kReplaceIfPresent,
                                       Operation::kCompareAndSet,  Operation::kAdd,
                                       Operation::kUpsert,         Operation::kErase};
  return kOperations[static_cast<int>(mode) - 1];
}

template <class Value>
struct ModelAnswerOf {
  storage::KeyState state = storage::KeyState::kAbsent;
  std::optional<Value> value;  // of operations that answer with one
};
using ModelAnswer = ModelAnswerOf<uint64_t>;

// REQUIRES: of kAdd that values are numbers.
template <class Key, class Value>
ModelAnswerOf<Value> RunOnModel(std::map<Key, Value>& rows, storage::Operation operation,
                                const std::type_identity_t<Key>& key,
                                const std::type_identity_t<Value>& value = {},
                                const std::type_identity_t<Value>& expected = {}) {
  using storage::KeyState;
  using storage::Operation;
  const auto row = rows.find(key);
  ModelAnswerOf<Value> answer;
  if (row != rows.end()) {
    answer.state = KeyState::kPresent;
    answer.value = row->second;
  }
  switch (operation) {
    case Operation::kLookup:
      break;
    case Operation::kUpsert:
      rows[key] = value;
      answer.value.reset();
      break;
    case Operation::kErase:
      rows.erase(key);
      answer.value.reset();
      break;
    case Operation::kInsertIfAbsent:
      rows.emplace(key, value);
      break;
    case Operation::kReplaceIfPresent:
      if (row != rows.end()) row->second = value;
      break;
    case Operation::kCompareAndSet:
      if (row == rows.end()) break;
      if (row->second == expected) {
        row->second = value;
      } else {
        answer.state = KeyState::kUnequal;
      }
      break;
    case Operation::kAdd:
      answer.value = rows[key] += value;
      break;
    case Operation::kPutRows:
    case Operation::kLookupRows:
      break;  // of tables
  }
  return answer;
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_WRITE_MODEL_H_
