// Reads: the columns of objects by name, the filter over the declared columns, and the mask that
// picks some of them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "eris/errors.h"
#include "eris/schema.h"
#include "server/substrait/literals.h"
#include "server/substrait/plan_translator.h"

namespace eris::server::plans {
namespace {

using ::substrait::ReadRel;

absl::StatusOr<std::string> ObjectName(const ReadRel& read, const Place& place) {
  if (!read.has_named_table()) {
    const absl::string_view name = NameInOneof(read, "read_type");
    if (name.empty()) return Malformed(place, "the read has no table");
    return Unsupported(place, "reading \"", name, "\" is not supported");
  }
  const auto& names = read.named_table().names();
  if (names.size() == 1) return names[0];
  if (names.empty()) return Malformed(place, "the table has no name");
  return Unsupported(place, "a table's name of ", names.size(), " parts is not supported");
}

absl::StatusOr<Schema> SchemaOf(const Catalogue& catalogue, const std::string& name,
                                const Place& place) {
  absl::StatusOr<Schema> schema = catalogue(name);
  if (schema.ok()) return schema;
  return WithText(schema.status(), absl::StrCat(place.Text(), ": ", schema.status().message()));
}

// The columns that the plan declares, as columns of the object: found by their names.
absl::StatusOr<RelationFields> DeclaredFields(const ReadRel& read, const std::string& object,
                                              const Schema& schema, const Place& place) {
  const auto& names = read.base_schema().names();
  const auto& types = read.base_schema().struct_().types();
  if (names.size() != types.size()) {
    return Malformed(place, names.size(), " names for ", types.size(), " types of columns");
  }
  std::map<absl::string_view, uint32_t> numbers;
  for (uint32_t i = 0; i < schema.columns.size(); ++i) numbers.emplace(schema.columns[i].name, i);
  RelationFields fields;
  for (int i = 0; i < names.size(); ++i) {
    const auto found = numbers.find(names[i]);
    if (found == numbers.end()) {
      return Malformed(place, "names[", i, "]: object \"", object, "\" has no column \"", names[i],
                       "\"");
    }
    const ColumnSchema& column = schema.columns[found->second];
    const ValueType type = TypeOfColumn(column.type, column.scale);
    const std::optional<ValueKind> declared = KindOfType(types[i]);
    if (!declared.has_value()) {
      return Unsupported(place, "struct.types[", i, "]: columns of type \"",
                         NameInOneof(types[i], "kind"), "\" are not supported");
    }
    if (*declared != type.kind && !(IsNumber(*declared) && IsNumber(type.kind))) {
      return Malformed(place, "struct.types[", i, "]: column \"", column.name, "\" is ",
                       ColumnTypeName(column.type), ", not ", NameInOneof(types[i], "kind"));
    }
    fields.push_back({found->second, type});
  }
  return fields;
}

// The declared fields that the read hands out.
absl::StatusOr<RelationFields> SelectedFields(const ReadRel& read, const RelationFields& declared,
                                              const Place& place) {
  if (!read.has_projection()) return declared;
  RelationFields fields;
  const auto& items = read.projection().select().struct_items();
  for (int i = 0; i < items.size(); ++i) {
    const Place at(place, "select.struct_items", i);
    if (items[i].has_child()) return Unsupported(at, "parts of a column are not supported");
    if (items[i].field() < 0 || static_cast<size_t>(items[i].field()) >= declared.size()) {
      return Malformed(at, "field ", items[i].field(), " of ", declared.size());
    }
    fields.push_back(declared[static_cast<size_t>(items[i].field())]);
  }
  return fields;
}

}  // namespace

absl::StatusOr<Relation> PlanTranslator::TakeRead(const ReadRel& read, const Place& place) {
  if (!read.has_virtual_table()) return TakeObject(read, place);
  ERIS_ASSIGN_OR_RETURN(Relation out, TakeVirtualTable(read, place));
  if (read.has_filter()) {
    ERIS_ASSIGN_OR_RETURN(Expression filter,
                          TakeCondition(true, read.filter(), out.fields, Place(place, "filter")));
    ERIS_ASSIGN_OR_RETURN(out.node, AppendFilter(out.node, std::move(filter), place));
  }
  ERIS_ASSIGN_OR_RETURN(out.fields, SelectedFields(read, out.fields, Place(place, "projection")));
  return Emit(read.common(), std::move(out), place);
}

absl::StatusOr<Relation> PlanTranslator::TakeObject(const ReadRel& read, const Place& place) {
  ERIS_ASSIGN_OR_RETURN(const std::string object, ObjectName(read, place));
  ERIS_ASSIGN_OR_RETURN(const Schema schema, SchemaOf(catalogue_, object, place));
  ERIS_ASSIGN_OR_RETURN(const RelationFields declared,
                        DeclaredFields(read, object, schema, Place(place, "base_schema")));
  Relation out;
  ERIS_ASSIGN_OR_RETURN(out.fields, SelectedFields(read, declared, Place(place, "projection")));
  Expression filter = ConstantCondition(true).expression;
  if (read.has_filter()) {
    ERIS_ASSIGN_OR_RETURN(filter,
                          TakeCondition(true, read.filter(), declared, Place(place, "filter")));
  }

  // Reads what is handed out or filtered by, each column once.
  ReadNode node{.object = object};
  const auto number_of = [&node](uint32_t column) {
    const auto found = std::find(node.columns.begin(), node.columns.end(), column);
    const auto number = static_cast<uint32_t>(found - node.columns.begin());
    if (found == node.columns.end()) node.columns.push_back(column);
    return number;
  };
  for (RelationField& field : out.fields) field.column = number_of(field.column);
  ForEachField(filter, [&](uint32_t& number) { number = number_of(number); });
  // No column means all of them, which costs more than any one.
  if (node.columns.empty()) node.columns.push_back(0);
  const size_t width = node.columns.size();
  ERIS_ASSIGN_OR_RETURN(out.node, Append(std::move(node), width, place));
  ERIS_ASSIGN_OR_RETURN(out.node, AppendFilter(out.node, std::move(filter), place));
  return Emit(read.common(), std::move(out), place);
}

}  // namespace eris::server::plans
