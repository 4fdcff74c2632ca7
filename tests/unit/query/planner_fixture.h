// Objects for tests of rewrites of plans, and plans as text.
#ifndef ERIS_TESTS_UNIT_QUERY_PLANNER_FIXTURE_H_
#define ERIS_TESTS_UNIT_QUERY_PLANNER_FIXTURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/query/planner/plan_sizes.h"
#include "eris/query_plan.h"
#include "eris/schema.h"
#include "storage/query/plans/plan_schemas.h"
#include "tests/support/query_plan_text.h"

namespace eris::test {

struct PlannedObject {
  Schema schema{};
  uint64_t rows = 0;
};

// "a", "b" and so on: columns 0 to 2 are int64, 3 is a double, 4 a string. "wide" has 200 columns.
inline const std::map<std::string, PlannedObject>& PlannedObjects() {
  static const auto* const objects = [] {
    auto* made = new std::map<std::string, PlannedObject>;
    constexpr uint64_t kRows[] = {1000, 100, 10, 5};
    for (int i = 0; i < 4; ++i) {
      Schema schema;
      for (const char* name : {"x", "y", "z"}) {
        schema.columns.push_back({.name = name, .type = ColumnType::kInt64});
      }
      schema.columns.push_back({.name = "real", .type = ColumnType::kFloat64, .nullable = true});
      schema.columns.push_back({.name = "text", .type = ColumnType::kString});
      (*made)[std::string(1, static_cast<char>('a' + i))] = {schema, kRows[i]};
      // The same with the first column as its key.
      schema.key = {0};
      (*made)[absl::StrCat("key_", std::string(1, static_cast<char>('a' + i)))] = {schema,
                                                                                   kRows[i]};
    }
    Schema wide;
    for (int i = 0; i < 200; ++i) wide.columns.push_back({.name = absl::StrCat("c", i)});
    (*made)["wide"] = {wide, 7};
    return made;
  }();
  return *objects;
}

inline absl::StatusOr<Schema> PlannedSchema(absl::string_view name) {
  const auto found = PlannedObjects().find(std::string(name));
  if (found == PlannedObjects().end()) return absl::NotFoundError("no object");
  return found->second.schema;
}
inline uint64_t PlannedRows(absl::string_view name) {
  return PlannedObjects().at(std::string(name)).rows;
}

inline std::vector<Schema> SchemasOfPlan(const QueryPlan& plan) {
  return storage::PlanSchemas(plan, PlannedSchema).value();
}
inline std::vector<engine::NodeSize> SizesOfPlan(const QueryPlan& plan) {
  return engine::PlanSizes(plan, SchemasOfPlan(plan), PlannedSchema, PlannedRows).value();
}
inline QueryPlan PlanOf(std::vector<PlanNode> nodes) { return {.nodes = std::move(nodes)}; }

}  // namespace eris::test

#endif  // ERIS_TESTS_UNIT_QUERY_PLANNER_FIXTURE_H_
