#include "storage/query/plans/plan_schemas.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "eris/batch.h"
#include "storage/query/plans/expression_tools.h"
#include "storage/table/plan/plan_compiler.h"

namespace eris::storage {
namespace {

template <class... Functions>
struct Overloads : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloads(Functions...) -> Overloads<Functions...>;

std::string TypeText(const ColumnSchema& column) {
  return absl::StrCat(ColumnTypeName(column.type), " of scale ", uint32_t{column.scale});
}

bool IsTypeOfValues(const ColumnSchema& column) {
  const bool wide = column.type == ColumnType::kInt128;
  if (!IsColumnType(column.type) && !wide) return false;
  const bool scaled = wide || column.type == ColumnType::kDecimal;
  return column.scale <= (scaled ? kWideScaleMax : 0);
}

// Whether a value is one of the column, as ValuesNode says.
bool IsValueOf(const Value& value, const ColumnSchema& column) {
  if (std::holds_alternative<std::monostate>(value)) return column.nullable;
  switch (column.type) {
    case ColumnType::kInt32: {
      const auto* number = std::get_if<int64_t>(&value);
      return number != nullptr && *number == static_cast<int32_t>(*number);
    }
    case ColumnType::kInt64:
      return std::holds_alternative<int64_t>(value);
    case ColumnType::kUint64:
      return std::holds_alternative<uint64_t>(value);
    case ColumnType::kFloat64:
      return std::holds_alternative<double>(value);
    case ColumnType::kDate:
      return std::holds_alternative<Date>(value);
    case ColumnType::kTimestamp:
      return std::holds_alternative<Timestamp>(value);
    case ColumnType::kString: {
      const auto* text = std::get_if<std::string>(&value);
      return text != nullptr && text->size() <= kTableStringBytesMax && base::IsUtf8(*text);
    }
    case ColumnType::kBytes: {
      const auto* bytes = std::get_if<Bytes>(&value);
      return bytes != nullptr && bytes->bytes.size() <= kTableStringBytesMax;
    }
    case ColumnType::kDecimal: {
      const auto* decimal = std::get_if<Decimal>(&value);
      return decimal != nullptr && decimal->scale == column.scale;
    }
    case ColumnType::kInt128: {
      const auto* wide = std::get_if<WideDecimal>(&value);
      return wide != nullptr && wide->scale == column.scale;
    }
  }
  return false;
}

class Typer {
 public:
  Typer(const QueryPlan& plan, SchemaOf schema_of) : plan_(plan), schema_of_(schema_of) {}

  absl::StatusOr<std::vector<Schema>> Run() {
    if (plan_.nodes.empty()) return absl::InvalidArgumentError("a plan has no node");
    if (plan_.nodes.size() > kPlanNodesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a plan has ", plan_.nodes.size(), " nodes, at most ", kPlanNodesMax));
    }
    for (const PlanNode& node : plan_.nodes) {
      absl::StatusOr<Schema> schema = SchemaOfNode(node);
      if (!schema.ok()) {
        return absl::Status(schema.status().code(),
                            absl::StrCat("node ", schemas_.size(), " (", NodeName(node),
                                         "): ", schema.status().message()));
      }
      schemas_.push_back(*std::move(schema));
      const auto& columns = schemas_.back().columns;
      subqueries_.push_back(columns[0]);
    }
    if (plan_.names.empty() || plan_.names.size() == schemas_.back().columns.size()) {
      return std::move(schemas_);
    }
    return absl::InvalidArgumentError(absl::StrCat("a plan names ", plan_.names.size(),
                                                   " columns, its answer has ",
                                                   schemas_.back().columns.size()));
  }

 private:
  absl::StatusOr<Schema> SchemaOfNode(const PlanNode& node) {
    const size_t number = schemas_.size();
    for (const uint32_t input : InputsOf(node)) {
      if (input < number) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("its input is node ", input, ", which must come before it"));
    }
    absl::Status shapes;
    ForExpressions(node, [&](const Expression& one) {
      if (shapes.ok()) shapes = PlanCompiler::CheckShape(one);
    });
    ERIS_RETURN_IF_ERROR(shapes);
    std::vector<uint32_t> named;
    ForExpressions(node, [&](const Expression& one) {
      ForSubqueries(one, [&](uint32_t value) { named.push_back(value); });
    });
    for (const uint32_t subquery : named) {
      if (subquery >= number) {
        return absl::InvalidArgumentError(absl::StrCat(
            "a subquery is node ", subquery, ", which must come before the node that names it"));
      }
      if (const size_t columns = schemas_[subquery].columns.size(); columns != 1) {
        return absl::InvalidArgumentError(absl::StrCat("the subquery of node ", subquery, " has ",
                                                       columns, " columns, must have one"));
      }
    }
    ERIS_ASSIGN_OR_RETURN(Schema schema,
                          std::visit([this](const auto& one) { return Of(one); }, node));
    if (schema.columns.size() <= kTableColumnsMax) return schema;
    return absl::InvalidArgumentError(absl::StrCat("it hands out ", schema.columns.size(),
                                                   " columns, at most ", kTableColumnsMax));
  }

  const std::vector<ColumnSchema>& ColumnsOf(uint32_t node) const { return schemas_[node].columns; }

  // The columns that a query over rows of `columns` hands out, with no name of its own.
  absl::StatusOr<Schema> Compile(const std::vector<ColumnSchema>& columns, const Query& query) {
    ERIS_ASSIGN_OR_RETURN(const auto made,
                          TablePlan::Create(NamedByField(columns), query, subqueries_));
    return made->result();
  }
  absl::Status CheckCondition(const std::vector<ColumnSchema>& columns,
                              const Expression& condition) {
    // A count needs no column of its own.
    const Query query{.filter = condition, .aggregates = {{}}};
    return Compile(columns, query).status();
  }

  static absl::Status CheckColumn(absl::string_view what, uint32_t column, size_t columns) {
    if (column < columns) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is column ", column, ", there are ", columns));
  }

  absl::StatusOr<Schema> Of(const ReadNode& read) {
    ERIS_ASSIGN_OR_RETURN(Schema schema, schema_of_(read.object));
    schema.key.clear();
    if (read.columns.empty()) return schema;
    Schema picked;
    for (const uint32_t column : read.columns) {
      ERIS_RETURN_IF_ERROR(CheckColumn(absl::StrCat("what is read of object \"", read.object, "\""),
                                       column, schema.columns.size()));
      picked.columns.push_back(schema.columns[column]);
    }
    return picked;
  }

  absl::StatusOr<Schema> Of(const FilterNode& filter) {
    ERIS_RETURN_IF_ERROR(CheckCondition(ColumnsOf(filter.input), filter.condition));
    return schemas_[filter.input];
  }

  absl::StatusOr<Schema> Of(const ProjectNode& project) {
    if (project.columns.empty()) return absl::InvalidArgumentError("it hands out no column");
    const auto& input = ColumnsOf(project.input);
    Query query;
    for (const Expression& column : project.columns) query.columns.push_back({column, ""});
    ERIS_ASSIGN_OR_RETURN(Schema schema, Compile(input, query));
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      const Expression& column = project.columns[i];
      const bool plain = column.kind == Expression::Kind::kField;
      schema.columns[i].name = plain ? input[column.number].name : "expression";
    }
    return schema;
  }

  absl::StatusOr<Schema> Of(const JoinNode& join) {
    const auto& left = ColumnsOf(join.left);
    const auto& right = ColumnsOf(join.right);
    std::vector<ColumnSchema> both = left;
    both.insert(both.end(), right.begin(), right.end());
    if (join.type < JoinType::kInner || join.type > JoinType::kAnti) {
      return absl::InvalidArgumentError(
          absl::StrCat("it is of the unknown type ", static_cast<int>(join.type)));
    }
    for (const JoinNode::Key& key : join.keys) {
      ERIS_RETURN_IF_ERROR(CheckColumn("a key of its left side", key.left, left.size()));
      ERIS_RETURN_IF_ERROR(CheckColumn("a key of its right side", key.right, right.size()));
      ERIS_RETURN_IF_ERROR(CheckCondition(
          both,
          expressions::Equal(expressions::Field(key.left),
                             expressions::Field(static_cast<uint32_t>(left.size()) + key.right))));
    }
    if (join.condition) ERIS_RETURN_IF_ERROR(CheckCondition(both, *join.condition));
    if (join.type == JoinType::kSemi || join.type == JoinType::kAnti) return schemas_[join.left];
    if (join.type == JoinType::kLeft) {
      for (size_t i = left.size(); i < both.size(); ++i) both[i].nullable = true;
    }
    return Schema{.columns = std::move(both)};
  }

  absl::StatusOr<Schema> Of(const AggregateNode& aggregate) {
    const auto& input = ColumnsOf(aggregate.input);
    if (aggregate.keys.size() > kPlanGroupKeysMax) {
      return absl::InvalidArgumentError(absl::StrCat("it groups by ", aggregate.keys.size(),
                                                     " columns, at most ", kPlanGroupKeysMax));
    }
    if (aggregate.keys.empty() && aggregate.measures.empty()) {
      return absl::InvalidArgumentError("it has neither keys nor measures");
    }
    Query query;
    for (const uint32_t key : aggregate.keys) {
      ERIS_RETURN_IF_ERROR(CheckColumn("a key", key, input.size()));
    }
    for (const Measure& measure : aggregate.measures) {
      if (measure.distinct && !measure.argument) {
        return absl::InvalidArgumentError("a distinct measure has no argument");
      }
      query.aggregates.push_back(
          {.function = measure.function, .argument = measure.argument, .name = {}});
    }
    // With a key, measures of no row are not handed out.
    if (!aggregate.keys.empty()) query.group_by.push_back(FieldName(aggregate.keys[0]));
    ERIS_ASSIGN_OR_RETURN(const Schema made, Compile(input, query));
    Schema schema;
    for (const uint32_t key : aggregate.keys) schema.columns.push_back(input[key]);
    schema.columns.insert(schema.columns.end(),
                          made.columns.begin() + static_cast<int64_t>(query.group_by.size()),
                          made.columns.end());
    return schema;
  }

  absl::StatusOr<Schema> Of(const SortNode& sort) {
    if (sort.keys.empty()) return absl::InvalidArgumentError("it has no keys");
    for (const SortKey& key : sort.keys) {
      ERIS_RETURN_IF_ERROR(CheckColumn("a key", key.column, ColumnsOf(sort.input).size()));
    }
    return schemas_[sort.input];
  }

  absl::StatusOr<Schema> Of(const LimitNode& limit) { return schemas_[limit.input]; }

  absl::StatusOr<Schema> Of(const UnionNode& all) {
    if (all.inputs.empty()) return absl::InvalidArgumentError("it has no input");
    Schema schema = schemas_[all.inputs[0]];
    for (const uint32_t input : all.inputs) {
      const auto& columns = ColumnsOf(input);
      if (columns.size() != schema.columns.size()) {
        return absl::InvalidArgumentError(absl::StrCat("its input node ", input, " has ",
                                                       columns.size(), " columns, the first input ",
                                                       schema.columns.size()));
      }
      for (size_t i = 0; i < columns.size(); ++i) {
        ColumnSchema& first = schema.columns[i];
        if (columns[i].type != first.type || columns[i].scale != first.scale) {
          return absl::InvalidArgumentError(
              absl::StrCat("column ", i, " of its input node ", input, " is ", TypeText(columns[i]),
                           ", of the first input ", TypeText(first), ": cast one of them"));
        }
        first.nullable |= columns[i].nullable;
      }
    }
    return schema;
  }

  absl::StatusOr<Schema> Of(const ValuesNode& values) {
    if (values.columns.empty()) return absl::InvalidArgumentError("it hands out no column");
    if (values.rows.size() > kPlanValueRowsMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has ", values.rows.size(), " rows, at most ", kPlanValueRowsMax));
    }
    for (const ColumnSchema& column : values.columns) {
      if (IsTypeOfValues(column)) continue;
      return absl::InvalidArgumentError(absl::StrCat("no column of it can be ", TypeText(column)));
    }
    for (size_t row = 0; row < values.rows.size(); ++row) {
      if (values.rows[row].size() != values.columns.size()) {
        return absl::InvalidArgumentError(absl::StrCat("row ", row, " has ",
                                                       values.rows[row].size(), " values for ",
                                                       values.columns.size(), " columns"));
      }
      for (size_t i = 0; i < values.columns.size(); ++i) {
        if (IsValueOf(values.rows[row][i], values.columns[i])) continue;
        return absl::InvalidArgumentError(absl::StrCat("row ", row, " has no value of column ", i,
                                                       ", which is ", TypeText(values.columns[i])));
      }
    }
    Schema schema{.columns = values.columns};
    for (ColumnSchema& column : schema.columns) {
      if (column.name.empty()) column.name = "value";
    }
    return schema;
  }

  const QueryPlan& plan_;
  const SchemaOf schema_of_;
  std::vector<Schema> schemas_;
  std::vector<ColumnSchema> subqueries_;
};

}  // namespace

absl::StatusOr<std::vector<Schema>> PlanSchemas(const QueryPlan& plan, SchemaOf schema_of) {
  return Typer(plan, schema_of).Run();
}

std::vector<std::string> AnswerNames(const QueryPlan& plan, const Schema& answer) {
  std::vector<std::string> names = plan.names;
  if (names.empty()) {
    for (const ColumnSchema& column : answer.columns) names.push_back(column.name);
  }
  std::set<std::string> taken;
  for (std::string& name : names) {
    const std::string base = name.substr(0, kColumnNameBytesMax - 8);
    for (int number = 2; !taken.insert(name).second; ++number) {
      name = absl::StrCat(base, "_", number);
    }
  }
  return names;
}

std::vector<uint32_t> InputsOf(const PlanNode& node) {
  return std::visit(Overloads{[](const ReadNode&) { return std::vector<uint32_t>(); },
                              [](const ValuesNode&) { return std::vector<uint32_t>(); },
                              [](const JoinNode& join) {
                                return std::vector<uint32_t>{join.left, join.right};
                              },
                              [](const UnionNode& all) { return all.inputs; },
                              [](const auto& one) { return std::vector<uint32_t>{one.input}; }},
                    node);
}

absl::string_view NodeName(const PlanNode& node) {
  static constexpr absl::string_view kNames[] = {"read", "filter", "project", "join",  "aggregate",
                                                 "sort", "limit",  "union",   "values"};
  static_assert(std::size(kNames) == std::variant_size_v<PlanNode>);
  return kNames[node.index()];
}

}  // namespace eris::storage
