#include "engine/query/planner/plan_sizes.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/status_macros.h"

namespace eris::engine {
namespace {

using Kind = Expression::Kind;

constexpr double kPartnersLeast = 0.01;

// The column that an expression is, if it is one.
std::optional<uint32_t> ColumnOf(const Expression& expression) {
  if (expression.kind != Kind::kField) return std::nullopt;
  return expression.number;
}

// The share of rows that have a certain value.
double EqualShare(const Expression& value, const NodeSize& input) {
  const std::optional<uint32_t> column = ColumnOf(value);
  if (!column || !input.distinct[*column]) {
    return std::max(kEqualShare, 1 / std::max(1.0, input.object_rows));  // of few rows one
  }
  return 1 / std::max(1.0, *input.distinct[*column]);
}

// The share of `left` = `right`: for two columns, that of the one with more values.
double EqualShare(const Expression& left, const Expression& right, const NodeSize& input) {
  if (ColumnOf(left) && ColumnOf(right)) {
    return std::min(EqualShare(left, input), EqualShare(right, input));
  }
  return ColumnOf(left) ? EqualShare(left, input) : EqualShare(right, input);
}

double AllShare(const std::vector<Expression>& parts, const NodeSize& input) {
  double share = 1;
  for (const Expression& part : parts) share *= ShareOf(part, input);
  return share;
}
double AnyShare(const std::vector<Expression>& parts, const NodeSize& input) {
  double none = 1;
  for (const Expression& part : parts) none *= 1 - ShareOf(part, input);
  return 1 - none;
}

// The values of two columns that are joined. A key holds all values of a column of which nothing is
// known.
double CommonValues(const NodeSize& left, uint32_t left_column, const NodeSize& right,
                    uint32_t right_column) {
  const std::optional<double> one = left.distinct[left_column];
  const std::optional<double> other = right.distinct[right_column];
  if (one && other) return std::max(*one, *other);
  if (one || other) return one ? *one : *other;
  return std::max(left.DistinctOr(left_column), right.DistinctOr(right_column));
}

// The size of two columns' rows together: the first ones are those of `left`.
NodeSize Together(const NodeSize& left, const NodeSize& right) {
  NodeSize both = left;
  both.object_rows = std::max(left.object_rows, right.object_rows);
  both.distinct.insert(both.distinct.end(), right.distinct.begin(), right.distinct.end());
  both.unique.clear();
  return both;
}

class Sizer {
 public:
  Sizer(const QueryPlan& plan, const std::vector<Schema>& schemas, storage::SchemaOf schema_of,
        ObjectRows rows_of)
      : plan_(plan), schemas_(schemas), schema_of_(schema_of), rows_of_(rows_of) {}

  absl::StatusOr<std::vector<NodeSize>> Run() {
    for (const PlanNode& node : plan_.nodes) {
      ERIS_ASSIGN_OR_RETURN(NodeSize size,
                            std::visit([this](const auto& one) { return Of(one); }, node));
      sizes_.push_back(std::move(size));
    }
    return std::move(sizes_);
  }

 private:
  absl::StatusOr<NodeSize> Of(const ReadNode& read) {
    ERIS_ASSIGN_OR_RETURN(const Schema schema, schema_of_(read.object));
    const auto rows = static_cast<double>(rows_of_(read.object));
    NodeSize size{.rows = rows, .object_rows = rows};
    std::vector<std::optional<uint32_t>> places(schema.columns.size());  // in what is read
    const size_t columns = schemas_[sizes_.size()].columns.size();
    for (uint32_t i = 0; i < columns; ++i) places[read.columns.empty() ? i : read.columns[i]] = i;
    size.distinct.resize(columns);
    NodeSize::UniqueKey key{.values = rows};
    for (const uint32_t column : schema.key) {
      if (!places[column]) return size;
      key.columns.push_back(*places[column]);
    }
    if (key.columns.size() == 1) size.distinct[key.columns[0]] = rows;
    if (!key.columns.empty()) size.unique.push_back(std::move(key));
    return size;
  }

  absl::StatusOr<NodeSize> Of(const FilterNode& filter) {
    NodeSize size = sizes_[filter.input];
    size.rows *= ShareOf(filter.condition, size);
    return size;
  }

  absl::StatusOr<NodeSize> Of(const ProjectNode& project) {
    const NodeSize& input = sizes_[project.input];
    NodeSize size{.rows = input.rows, .object_rows = input.object_rows};
    std::vector<std::optional<uint32_t>> places(input.distinct.size());
    for (uint32_t i = 0; i < project.columns.size(); ++i) {
      const std::optional<uint32_t> column = ColumnOf(project.columns[i]);
      size.distinct.push_back(column ? input.distinct[*column] : std::nullopt);
      if (column) places[*column] = i;
    }
    for (NodeSize::UniqueKey key : input.unique) {
      bool kept = true;
      for (uint32_t& column : key.columns) {
        kept &= places[column].has_value();
        column = places[column].value_or(0);
      }
      if (kept) size.unique.push_back(std::move(key));
    }
    return size;
  }

  absl::StatusOr<NodeSize> Of(const JoinNode& join) {
    const NodeSize& left = sizes_[join.left];
    const NodeSize& right = sizes_[join.right];
    NodeSize both = Together(left, right);
    const double residual = join.condition ? ShareOf(*join.condition, both) : 1;
    if (join.type == JoinType::kSemi || join.type == JoinType::kAnti) {
      NodeSize size = left;
      const double partners = PartnerShare(join.keys, left, right) * residual;
      size.rows *= join.type == JoinType::kSemi ? partners : std::max(kEqualShare, 1 - partners);
      return size;
    }
    both.rows = left.rows * right.rows * residual;
    double values = 1;
    for (const JoinNode::Key& key : join.keys) {
      const double common = CommonValues(left, key.left, right, key.right);
      values *= common;
      const auto right_column = static_cast<uint32_t>(left.distinct.size()) + key.right;
      for (const uint32_t column : {key.left, right_column}) {
        if (!both.distinct[column]) both.distinct[column] = common;
      }
    }
    // No row has more partners than there are rows with its key.
    values = std::min(values, std::max(left.object_rows, right.object_rows));
    both.rows /= std::max(1.0, values);
    if (join.type == JoinType::kLeft) both.rows = std::max(both.rows, left.rows);
    return both;
  }

  absl::StatusOr<NodeSize> Of(const AggregateNode& aggregate) {
    const NodeSize& input = sizes_[aggregate.input];
    NodeSize size{.rows = 1};
    NodeSize::UniqueKey unique;
    for (const uint32_t key : aggregate.keys) {
      size.rows *= std::max(1.0, input.DistinctOr(key));
      size.distinct.push_back(input.distinct[key]);
      unique.columns.push_back(static_cast<uint32_t>(unique.columns.size()));
    }
    size.rows = std::min(size.rows, std::max(1.0, input.rows));
    if (aggregate.keys.empty()) size.rows = 1;
    size.object_rows = size.rows;
    size.distinct.resize(aggregate.keys.size() + aggregate.measures.size());
    unique.values = size.rows;
    if (unique.columns.size() == 1 && !size.distinct[0]) size.distinct[0] = size.rows;
    size.unique.push_back(std::move(unique));
    return size;
  }

  absl::StatusOr<NodeSize> Of(const SortNode& sort) { return sizes_[sort.input]; }

  absl::StatusOr<NodeSize> Of(const LimitNode& limit) {
    NodeSize size = sizes_[limit.input];
    size.rows = std::min(size.rows, static_cast<double>(limit.count));
    return size;
  }

  absl::StatusOr<NodeSize> Of(const UnionNode& all) {
    NodeSize size;
    size.distinct.resize(schemas_[sizes_.size()].columns.size());
    for (const uint32_t input : all.inputs) {
      size.rows += sizes_[input].rows;
      size.object_rows += sizes_[input].object_rows;
    }
    return size;
  }

  absl::StatusOr<NodeSize> Of(const ValuesNode& values) {
    const auto rows = static_cast<double>(values.rows.size());
    NodeSize size{.rows = rows, .object_rows = rows};
    size.distinct.resize(values.columns.size());
    return size;
  }

  const QueryPlan& plan_;
  const std::vector<Schema>& schemas_;
  const storage::SchemaOf schema_of_;
  const ObjectRows rows_of_;
  std::vector<NodeSize> sizes_;
};

}  // namespace

double ShareOf(const Expression& condition, const NodeSize& input) {
  const std::vector<Expression>& arguments = condition.arguments;
  switch (condition.kind) {
    case Kind::kEqual:
      return EqualShare(arguments[0], arguments[1], input);
    case Kind::kNotEqual:
      return 1 - EqualShare(arguments[0], arguments[1], input);
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kGreater:
    case Kind::kGreaterEqual:
    case Kind::kBetween:
      return kRangeShare;
    case Kind::kIn: {
      const auto values = static_cast<double>(arguments.size() - 1);
      return std::min(1.0, values * EqualShare(arguments[0], input));
    }
    case Kind::kIsNull:
      return kNullShare;
    case Kind::kLike:
      return kLikeShare;
    case Kind::kAnd:
      return AllShare(arguments, input);
    case Kind::kOr:
      return AnyShare(arguments, input);
    case Kind::kNot:
      return 1 - ShareOf(arguments[0], input);
    default:
      return kOtherShare;
  }
}

double PartnerShare(const std::vector<JoinNode::Key>& keys, const NodeSize& left,
                    const NodeSize& right) {
  if (keys.empty()) return right.rows >= 0.5 ? 1 : kPartnersLeast;
  double left_values = 1;
  for (const JoinNode::Key& key : keys) left_values *= std::max(1.0, left.DistinctOr(key.left));
  left_values = std::min(left_values, std::max(1.0, left.object_rows));
  // Values of which nothing is known are all of the left side's, before any filter.
  bool known = true;
  double right_values = 1;
  for (const JoinNode::Key& key : keys) {
    known &= right.distinct[key.right].has_value();
    right_values *= std::max(1.0, right.distinct[key.right].value_or(left.DistinctOr(key.left)));
  }
  if (!known) right_values *= std::min(1.0, right.rows / std::max(1.0, right.object_rows));
  right_values = std::min(right_values, right.rows);
  return std::clamp(right_values / left_values, kPartnersLeast, 1.0);
}

absl::StatusOr<std::vector<NodeSize>> PlanSizes(const QueryPlan& plan,
                                                const std::vector<Schema>& schemas,
                                                storage::SchemaOf schema_of, ObjectRows rows_of) {
  return Sizer(plan, schemas, schema_of, rows_of).Run();
}

}  // namespace eris::engine
