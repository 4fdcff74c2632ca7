// Virtual tables: rows that the plan has itself, as literals or as expressions without fields.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"
#include "eris/batch.h"
#include "eris/expression.h"
#include "eris/schema.h"
#include "server/substrait/literals.h"
#include "server/substrait/plan_translator.h"

namespace eris::server::plans {
namespace {

using ::substrait::ReadRel;
using Rows = std::vector<std::vector<::substrait::Expression>>;

absl::StatusOr<Rows> RowsOf(const ReadRel::VirtualTable& table, const Place& place) {
  const int literals = table.values_size();
  const int computed = table.expressions_size();
  if (literals > 0 && computed > 0) return Malformed(place, "values and expressions");
  if (static_cast<uint32_t>(literals + computed) > kPlanValueRowsMax) {
    return Malformed(place, "a table of ", literals + computed, " rows, must have at most ",
                     kPlanValueRowsMax);
  }
  Rows rows;
  for (const auto& row : table.values()) {
    rows.emplace_back(static_cast<size_t>(row.fields_size()));
    for (int i = 0; i < row.fields_size(); ++i) {
      *rows.back()[static_cast<size_t>(i)].mutable_literal() = row.fields(i);
    }
  }
  for (const auto& row : table.expressions()) {
    rows.emplace_back(row.fields().begin(), row.fields().end());
  }
  return rows;
}

absl::StatusOr<RelationFields> DeclaredColumns(const ::substrait::NamedStruct& schema,
                                               const Place& place) {
  const auto& types = schema.struct_().types();
  if (schema.names_size() != types.size()) {
    return Malformed(place, schema.names_size(), " names for ", types.size(), " types of columns");
  }
  RelationFields columns;
  for (int i = 0; i < types.size(); ++i) {
    const std::optional<ValueType> column = ColumnOfType(types[i]);
    if (!column.has_value()) {
      return Unsupported(place, "struct.types[", i, "]: columns of type \"",
                         NameInOneof(types[i], "kind"), "\" are not supported");
    }
    columns.push_back({static_cast<uint32_t>(i), types[i].has_bool_() ? kTruthType : *column});
  }
  return columns;
}

// The type that values of a column are cast to: numbers of 8 and 16 bits are int32s here.
::substrait::Type CastTypeOf(const ::substrait::Type& column) {
  if (!column.has_i8() && !column.has_i16()) return column;
  ::substrait::Type wider;
  wider.mutable_i32();
  return wider;
}

// The part as a value of exactly a column's type; nullopt if it has to be computed.
std::optional<Value> ValueOf(const Part& part, const ValueType& column) {
  const Expression* literal = &part.expression;
  int casts = 0;
  for (; literal->kind == Expression::Kind::kCast; ++casts) literal = literal->arguments.data();
  if (literal->kind != Expression::Kind::kLiteral) return std::nullopt;
  const Value& value = literal->value;
  if (std::holds_alternative<std::monostate>(value)) return value;
  if (casts > 1) return std::nullopt;  // the first one may have changed it
  if (const auto* number = std::get_if<int64_t>(&value)) {
    const bool narrow = column.column == ColumnType::kInt32;
    const bool fits =
        narrow ? *number == static_cast<int32_t>(*number) : column.column == ColumnType::kInt64;
    return fits ? std::optional(value) : std::nullopt;
  }
  if (const auto* decimal = std::get_if<Decimal>(&value);
      decimal != nullptr && decimal->scale == column.scale) {
    if (column.column == ColumnType::kDecimal) return value;
    const auto low = static_cast<uint64_t>(decimal->unscaled);
    const uint64_t high = decimal->unscaled < 0 ? ~uint64_t{0} : 0;
    if (column.column == ColumnType::kInt128) return WideDecimal{{low, high}, decimal->scale};
    return std::nullopt;
  }
  const auto* wide = std::get_if<WideDecimal>(&value);
  const auto* text = std::get_if<std::string>(&value);
  const auto* bytes = std::get_if<Bytes>(&value);
  const bool same =
      (wide != nullptr && column.column == ColumnType::kInt128 && wide->scale == column.scale) ||
      (text != nullptr && column.column == ColumnType::kString &&
       text->size() <= kTableStringBytesMax) ||
      (bytes != nullptr && column.column == ColumnType::kBytes &&
       bytes->bytes.size() <= kTableStringBytesMax) ||
      (std::holds_alternative<double>(value) && column.column == ColumnType::kFloat64) ||
      (std::holds_alternative<Date>(value) && column.column == ColumnType::kDate) ||
      (std::holds_alternative<Timestamp>(value) && column.column == ColumnType::kTimestamp);
  return same ? std::optional(value) : std::nullopt;
}

// The part with exactly a column's type: a literal has the wider one of its kind of numbers, or the
// narrower one of decimals.
Expression OfColumn(const Part& part, const ValueType& column) {
  const Value* const value = part.literal();
  const bool other =
      value != nullptr &&
      ((column.column == ColumnType::kInt32 && std::holds_alternative<int64_t>(*value)) ||
       (column.column == ColumnType::kInt128 && std::holds_alternative<Decimal>(*value)));
  return other ? expressions::Cast(part.expression, *column.column, column.scale) : part.expression;
}

// The rows as a node; nullopt if some values have to be computed. A row without a column has one.
std::optional<ValuesNode> NodeOf(const RelationFields& columns,
                                 const std::vector<std::vector<Part>>& rows) {
  ValuesNode node;
  for (const RelationField& field : columns) {
    node.columns.push_back({.type = *field.type.column, .scale = field.type.scale});
  }
  for (const std::vector<Part>& row : rows) {
    std::vector<Value>& values = node.rows.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      std::optional<Value> value = ValueOf(row[i], columns[i].type);
      if (!value.has_value()) return std::nullopt;
      node.columns[i].nullable |= std::holds_alternative<std::monostate>(*value);
      values.push_back(*std::move(value));
    }
    if (columns.empty()) values.push_back(int64_t{0});
  }
  if (columns.empty()) node.columns.push_back({.type = ColumnType::kInt32});
  return node;
}

}  // namespace

absl::StatusOr<Relation> PlanTranslator::TakeVirtualTable(const ReadRel& read, const Place& place) {
  const Place inside(place, "virtual_table");
  ERIS_ASSIGN_OR_RETURN(const Rows rows, RowsOf(read.virtual_table(), inside));
  const Place schema(place, "base_schema");
  ERIS_ASSIGN_OR_RETURN(const RelationFields columns, DeclaredColumns(read.base_schema(), schema));
  std::vector<std::vector<Part>> parts;
  for (size_t row = 0; row < rows.size(); ++row) {
    const Place at(inside, "rows", static_cast<int>(row));
    if (rows[row].size() != columns.size()) {
      return Malformed(at, rows[row].size(), " values for ", columns.size(), " columns");
    }
    parts.emplace_back();
    for (size_t i = 0; i < columns.size(); ++i) {
      ERIS_ASSIGN_OR_RETURN(Part part, TakeWhole(true, rows[row][i], {}, at));
      if (!(part.type == columns[i].type)) {
        const auto& type = read.base_schema().struct_().types(static_cast<int>(i));
        ERIS_ASSIGN_OR_RETURN(part, CastPart(std::move(part), CastTypeOf(type), false, at));
      }
      ERIS_ASSIGN_OR_RETURN(part, AsValue(std::move(part), at));
      parts.back().push_back(std::move(part));
    }
  }
  return AppendValues(columns, parts, inside);
}

absl::StatusOr<Relation> PlanTranslator::AppendValues(const RelationFields& columns,
                                                      const std::vector<std::vector<Part>>& rows,
                                                      const Place& place) {
  const size_t width = columns.size();
  if (std::optional<ValuesNode> node = NodeOf(columns, rows)) {
    const size_t node_width = node->columns.size();
    ERIS_ASSIGN_OR_RETURN(const uint32_t number, Append(*std::move(node), node_width, place));
    return Relation{.node = number, .fields = columns};
  }
  // One row after the other, each over a row without a column.
  ERIS_ASSIGN_OR_RETURN(const uint32_t one, Append(*NodeOf({}, {{}}), 1, place));
  std::vector<Relation> relations;
  for (const std::vector<Part>& row : rows) {
    ProjectNode project{.input = one};
    Relation& relation = relations.emplace_back();
    for (size_t i = 0; i < width; ++i) {
      project.columns.push_back(OfColumn(row[i], columns[i].type));
      relation.fields.push_back({static_cast<uint32_t>(i), row[i].type});
    }
    ERIS_ASSIGN_OR_RETURN(relation.node, Append(std::move(project), width, place));
  }
  if (relations.size() == 1) return relations[0];
  return AppendUnion(relations, place);
}

}  // namespace eris::server::plans
