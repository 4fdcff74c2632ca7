#include "engine/query/distinct_plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/query/plan_copy.h"

namespace eris::engine {
namespace {

using expressions::Field;

// Whether it matters that each value is taken once.
bool CountsOnce(const Measure& measure) {
  return measure.distinct && measure.function != AggregateFunction::kMin &&
         measure.function != AggregateFunction::kMax;
}

class DistinctPlan {
 public:
  absl::StatusOr<QueryPlan> Run(const QueryPlan& plan) {
    for (const PlanNode& original : plan.nodes) {
      PlanNode node = copy_.Renumbered(original);
      auto* const aggregate = std::get_if<AggregateNode>(&node);
      if (aggregate == nullptr) {
        copy_.Add(std::move(node));
      } else if (std::any_of(aggregate->measures.begin(), aggregate->measures.end(), CountsOnce)) {
        ERIS_RETURN_IF_ERROR(Split(*aggregate));
      } else {
        for (Measure& measure : aggregate->measures) measure.distinct = false;
        copy_.Add(std::move(node));
      }
      copy_.EndNode();
    }
    return copy_.Take(plan);
  }

 private:
  // A measure of the second grouping, over those of the first.
  struct Parts {
    AggregateFunction function;
    std::vector<uint32_t> columns{};  // of the second grouping
  };

  absl::Status Split(const AggregateNode& node) {
    const auto keys = static_cast<uint32_t>(node.keys.size());
    ProjectNode arguments{.input = node.input};
    for (const uint32_t key : node.keys) arguments.columns.push_back(Field(key));
    AggregateNode first, second;
    for (uint32_t i = 0; i <= keys; ++i) first.keys.push_back(i);
    if (first.keys.size() > kPlanGroupKeysMax) {
      return absl::InvalidArgumentError(absl::StrCat("an aggregate of distinct values groups by ",
                                                     keys, " columns, at most ",
                                                     kPlanGroupKeysMax - 1));
    }
    for (uint32_t i = 0; i < keys; ++i) second.keys.push_back(i);
    const Measure* distinct = nullptr;
    for (const Measure& measure : node.measures) {
      if (!CountsOnce(measure)) continue;
      if (distinct != nullptr && !(*measure.argument == *distinct->argument)) {
        return absl::UnimplementedError(
            "distinct measures of different arguments in one aggregate: ask for each in an "
            "aggregate of its own");
      }
      distinct = &measure;
    }
    arguments.columns.push_back(*distinct->argument);
    std::vector<Parts> parts;
    for (const Measure& measure : node.measures) {
      parts.push_back({.function = measure.function});
      if (CountsOnce(measure)) {
        AddSecond(second, measure.function, keys, parts.back());
        continue;
      }
      std::optional<Expression> argument;
      if (measure.argument) {
        argument = Field(static_cast<uint32_t>(arguments.columns.size()));
        arguments.columns.push_back(*measure.argument);
      }
      AddBoth(measure.function, argument, first, second, parts.back());
    }
    first.input = copy_.Add(std::move(arguments));
    second.input = copy_.Add(std::move(first));
    ProjectNode result{.input = copy_.Add(std::move(second))};
    for (uint32_t i = 0; i < keys; ++i) result.columns.push_back(Field(i));
    for (size_t i = 0; i < parts.size(); ++i) {
      result.columns.push_back(Result(parts[i], CountsOnce(node.measures[i])));
    }
    copy_.Add(std::move(result));
    return absl::OkStatus();
  }

  static void AddSecond(AggregateNode& second, AggregateFunction function, uint32_t column,
                        Parts& parts) {
    parts.columns.push_back(static_cast<uint32_t>(second.keys.size() + second.measures.size()));
    second.measures.push_back({.function = function, .argument = Field(column)});
  }
  // A measure that is not distinct: in the first grouping, and what that gives in the second.
  static void AddBoth(AggregateFunction function, const std::optional<Expression>& argument,
                      AggregateNode& first, AggregateNode& second, Parts& parts) {
    const auto add = [&](AggregateFunction one, AggregateFunction two) {
      const auto column = static_cast<uint32_t>(first.keys.size() + first.measures.size());
      first.measures.push_back({.function = one, .argument = argument});
      AddSecond(second, two, column, parts);
    };
    using Function = AggregateFunction;
    switch (function) {
      case Function::kCount:
        add(Function::kCount, Function::kSum);
        break;
      case Function::kAverage:
        add(Function::kSum, Function::kSum);
        add(Function::kCount, Function::kSum);
        break;
      default:
        add(function, function);
        break;
    }
  }
  static Expression Result(const Parts& parts, bool distinct) {
    const Expression value = Field(parts.columns[0]);
    if (distinct) return value;
    if (parts.function == AggregateFunction::kAverage) {
      return expressions::operator/(value, Field(parts.columns[1]));
    }
    if (parts.function != AggregateFunction::kCount) return value;
    // The sum of the counts of no row is null.
    return expressions::Case({expressions::IsNull(value), expressions::Literal(uint64_t{0}),
                              expressions::Cast(value, ColumnType::kUint64)});
  }

  PlanCopy copy_;
};

}  // namespace

absl::StatusOr<QueryPlan> WithoutDistinct(const QueryPlan& plan) {
  return DistinctPlan().Run(plan);
}

}  // namespace eris::engine
