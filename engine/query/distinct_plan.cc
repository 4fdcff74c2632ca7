#include "engine/query/distinct_plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "engine/query/groups/whole_groups.h"
#include "engine/query/plan_copy.h"

namespace eris::engine {
namespace {

using expressions::Case;
using expressions::Equal;
using expressions::Field;
using expressions::IsNull;
using expressions::Literal;
using expressions::operator!;
using expressions::operator+;
using expressions::operator/;

// Whether it matters that each value is taken once.
bool CountsOnce(const Measure& measure) {
  return measure.distinct && measure.function != AggregateFunction::kMin &&
         measure.function != AggregateFunction::kMax;
}

// Keys of groups as keys of joins. A null and a NaN are groups but join nothing, so such a key is
// replaced by a value that does, and a further key tells which keys were replaced, and by what.
class GroupKeys {
 public:
  explicit GroupKeys(std::vector<ColumnSchema> keys) : keys_(std::move(keys)) {
    for (uint32_t key = 0; key < keys_.size(); ++key) Add(key);
    if (shape_.has_value()) columns_.push_back(*std::move(shape_));
  }

  // Over a grouping's columns, of which the first ones are the keys: no more than there are keys,
  // and one.
  const std::vector<Expression>& columns() const { return columns_; }

 private:
  void Add(uint32_t key) {
    const ColumnSchema& schema = keys_[key];
    const bool real = schema.type == ColumnType::kFloat64;
    if (!real && !schema.nullable) {
      columns_.push_back(Field(key));
      return;
    }
    // A NaN is not equal to itself.
    Expression joins = real ? Equal(Field(key), Field(key)) : !IsNull(Field(key));
    columns_.push_back(Case({joins, Field(key), Any(schema.type)}));
    Expression shape = Case(
        {std::move(joins), Literal(0), IsNull(Field(key)), Literal(weight_), Literal(2 * weight_)});
    shape_ = shape_.has_value() ? *std::move(shape_) + std::move(shape) : std::move(shape);
    weight_ *= 3;
  }
  static Expression Any(ColumnType type) {
    switch (type) {
      case ColumnType::kString:
        return Literal(Value(std::string()));
      case ColumnType::kBytes:
        return Literal(Value(Bytes{}));
      case ColumnType::kDate:
        return Literal(Value(Date{}));
      case ColumnType::kTimestamp:
        return Literal(Value(Timestamp{}));
      default:
        return Literal(0);
    }
  }

  const std::vector<ColumnSchema> keys_;
  std::vector<Expression> columns_;
  std::optional<Expression> shape_;
  int64_t weight_ = 1;  // at most 3^kPlanGroupKeysMax
};

class DistinctPlan {
 public:
  absl::StatusOr<QueryPlan> Run(const QueryPlan& plan, const std::vector<Schema>& schemas) {
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
      PlanNode node = copy_.Renumbered(plan.nodes[i]);
      auto* const aggregate = std::get_if<AggregateNode>(&node);
      if (aggregate == nullptr) {
        copy_.Add(std::move(node));
      } else if (std::any_of(aggregate->measures.begin(), aggregate->measures.end(), CountsOnce)) {
        ERIS_RETURN_IF_ERROR(Replace(*aggregate, schemas[i]));
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
  // Where a measure is: in which of several aggregates, as which of its measures.
  struct Place {
    size_t aggregate = 0;
    uint32_t measure = 0;
  };

  // Makes an aggregate for each argument whose values are taken once. The first one has the other
  // measures, too, but for those that a grouping cannot make of another one's: they get one more.
  absl::Status Replace(const AggregateNode& node, const Schema& schema) {
    if (node.keys.size() >= kPlanGroupKeysMax) {
      return absl::InvalidArgumentError(absl::StrCat("an aggregate of distinct values groups by ",
                                                     node.keys.size(), " columns, at most ",
                                                     kPlanGroupKeysMax - 1));
    }
    std::vector<const Expression*> arguments;
    std::vector<AggregateNode> aggregates;
    std::vector<size_t> of_measure;  // the aggregate
    for (const Measure& measure : node.measures) {
      of_measure.push_back(0);
      if (!CountsOnce(measure)) continue;
      // A literal NaN is not equal to itself: then there is an aggregate more.
      const auto same = [&](const Expression* one) { return *one == *measure.argument; };
      const auto found = std::find_if(arguments.begin(), arguments.end(), same);
      of_measure.back() = static_cast<size_t>(found - arguments.begin());
      if (found != arguments.end()) continue;
      arguments.push_back(&*measure.argument);
      aggregates.push_back({.input = node.input, .keys = node.keys});
    }
    const auto whole = [](const Measure& one) {
      return !CountsOnce(one) && !HasParts(one.function);
    };
    for (size_t i = 0; i < node.measures.size(); ++i) {
      if (whole(node.measures[i])) of_measure[i] = arguments.size();
    }
    if (std::any_of(node.measures.begin(), node.measures.end(), whole)) {
      aggregates.push_back({.input = node.input, .keys = node.keys});
    }
    std::vector<Place> places;
    for (size_t i = 0; i < node.measures.size(); ++i) {
      const Measure& measure = node.measures[i];
      const size_t aggregate = of_measure[i];
      auto& measures = aggregates[aggregate].measures;
      places.push_back({aggregate, static_cast<uint32_t>(measures.size())});
      measures.push_back(measure);
    }
    std::vector<uint32_t> nodes;
    for (size_t i = 0; i < aggregates.size(); ++i) {
      const bool splits = i < arguments.size();
      nodes.push_back(splits ? Split(aggregates[i]) : copy_.Add(aggregates[i]));
    }
    if (nodes.size() > 1) Join(aggregates, nodes, places, schema);
    return absl::OkStatus();
  }

  // Joins the aggregates, which have the same keys, and hands out the keys and the measures at
  // `places`.
  void Join(const std::vector<AggregateNode>& aggregates, const std::vector<uint32_t>& nodes,
            const std::vector<Place>& places, const Schema& schema) {
    const auto keys = static_cast<uint32_t>(aggregates[0].keys.size());
    const GroupKeys join_keys({schema.columns.begin(), schema.columns.begin() + keys});
    const auto& key_columns = join_keys.columns();
    const auto width = [&](size_t i) {
      return static_cast<uint32_t>(aggregates[i].measures.size());
    };
    // The columns of the first aggregate, the join's keys, then the measures of the others.
    ProjectNode all = FieldsOf(nodes[0], 0, keys + width(0));
    all.columns.insert(all.columns.end(), key_columns.begin(), key_columns.end());
    std::vector<uint32_t> begins = {keys};  // by aggregate, the column of its first measure
    const uint32_t first_key = keys + width(0);
    for (size_t i = 1; i < aggregates.size(); ++i) {
      const auto left_width = static_cast<uint32_t>(all.columns.size());
      ProjectNode other = FieldsOf(nodes[i], keys, width(i));
      other.columns.insert(other.columns.end(), key_columns.begin(), key_columns.end());
      JoinNode join;
      for (uint32_t key = 0; key < key_columns.size(); ++key) {
        join.keys.push_back({first_key + key, width(i) + key});
      }
      join.left = copy_.Add(std::move(all));
      join.right = copy_.Add(std::move(other));
      all = FieldsOf(copy_.Add(std::move(join)), 0, left_width + width(i));
      begins.push_back(left_width);
    }
    ProjectNode result = FieldsOf(copy_.Add(std::move(all)), 0, keys);
    for (const Place& place : places) {
      result.columns.push_back(Field(begins[place.aggregate] + place.measure));
    }
    copy_.Add(std::move(result));
  }
  static ProjectNode FieldsOf(uint32_t input, uint32_t first, uint32_t count) {
    ProjectNode project{.input = input};
    for (uint32_t i = 0; i < count; ++i) project.columns.push_back(Field(first + i));
    return project;
  }

  // Adds the two groupings of an aggregate whose distinct measures have one argument.
  uint32_t Split(const AggregateNode& node) {
    const auto keys = static_cast<uint32_t>(node.keys.size());
    ProjectNode arguments{.input = node.input};
    for (const uint32_t key : node.keys) arguments.columns.push_back(Field(key));
    AggregateNode first, second;
    for (uint32_t i = 0; i <= keys; ++i) first.keys.push_back(i);
    for (uint32_t i = 0; i < keys; ++i) second.keys.push_back(i);
    const auto distinct = std::find_if(node.measures.begin(), node.measures.end(), CountsOnce);
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
    return copy_.Add(std::move(result));
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
        ERIS_DCHECK(HasParts(function));
        add(function, function);
        break;
    }
  }
  static Expression Result(const Parts& parts, bool distinct) {
    const Expression value = Field(parts.columns[0]);
    if (distinct) return value;
    if (parts.function == AggregateFunction::kAverage) {
      return value / Field(parts.columns[1]);
    }
    if (parts.function != AggregateFunction::kCount) return value;
    // The sum of the counts of no row is null.
    return Case(
        {IsNull(value), Literal(uint64_t{0}), expressions::Cast(value, ColumnType::kUint64)});
  }

  PlanCopy copy_;
};

}  // namespace

absl::StatusOr<QueryPlan> WithoutDistinct(const QueryPlan& plan,
                                          const std::vector<Schema>& schemas) {
  return DistinctPlan().Run(plan, schemas);
}

}  // namespace eris::engine
