// An object of any kind and a map that has to agree with it, batch by batch. For tests that know
// all writes of their keys.
#ifndef ERIS_TESTS_SUPPORT_ANY_MODEL_H_
#define ERIS_TESTS_SUPPORT_ANY_MODEL_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/any_object.h"
#include "tests/support/write_model.h"

namespace eris::test {

class AnyModel {
 public:
  AnyModel(Engine& engine, AnyKind kind, std::string name)
      : object_(engine, kind, std::move(name)) {}

  AnyObject& object() { return object_; }
  const std::map<AnyKey, uint64_t>& rows() const { return rows_; }
  AnyRows all() const { return {rows_.begin(), rows_.end()}; }

  // One batch, of which every answer is checked. nullopt: a lookup. `expected`: of kCompareAndSet.
  void Run(std::optional<WriteMode> mode, const AnyRows& rows,
           const std::vector<uint64_t>& expected = {},
           AnyObject::Way way = AnyObject::Way::kWaiting) {
    const AnyAnswer answer =
        mode ? object_.Write(*mode, rows, expected, way) : object_.Lookup(KeysOf(rows), way);
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    const auto operation = mode ? OperationOf(*mode) : storage::Operation::kLookup;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto& [key, value] = rows[i];
      SCOPED_TRACE(absl::StrCat("row ", i, ", key ", key.first, "/", key.second));
      const bool there = rows_.contains(key);
      const ModelAnswer want =
          RunOnModel(rows_, operation, key, value, expected.empty() ? 0 : expected[i]);
      ASSERT_EQ(answer.executed[i], 1);
      ASSERT_EQ(answer.existed[i], there);
      ASSERT_EQ(answer.values[i], want.value.value_or(0));
      if (!storage::IsConditional(operation)) continue;
      const bool applies =
          operation == storage::Operation::kInsertIfAbsent
              ? !there
              : operation == storage::Operation::kAdd || want.state == storage::KeyState::kPresent;
      ASSERT_EQ(answer.applied[i], applies);
    }
  }
  static std::vector<AnyKey> KeysOf(const AnyRows& rows) {
    std::vector<AnyKey> keys;
    for (const auto& row : rows) keys.push_back(row.first);
    return keys;
  }

 private:
  AnyObject object_;
  std::map<AnyKey, uint64_t> rows_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_ANY_MODEL_H_
