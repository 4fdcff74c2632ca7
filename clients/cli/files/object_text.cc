#include "clients/cli/files/object_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/files/key_bounds.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "eris/key_encoding.h"

namespace eris::cli {

namespace {

// Where a partition begins, as a value of the first key column. The object has a key.
std::string StartText(const ObjectInfo& object, size_t partition) {
  const ColumnSchema& column = object.schema.columns[object.schema.key[0]];
  const uint64_t start = object.partition_starts[partition];
  return WordText(column, std::max(WordOfCut(object.kind, column, start), LowestKey(column.type)));
}

std::string BytesPerRow(const ObjectInfo& object) {
  if (object.keys == 0) return "-";
  return absl::StrFormat(
      "%.1f", static_cast<double>(object.memory_bytes) / static_cast<double>(object.keys));
}

}  // namespace

Json ToJson(const ObjectInfo& object) {
  Json partitions = Json::Array();
  for (size_t i = 0; i < object.partition_owners.size(); ++i) {
    Json partition = Json::Object();
    if (object.schema.has_key()) {
      partition["lo"] = StartText(object, i);
      if (i + 1 < object.partition_starts.size()) partition["hi"] = StartText(object, i + 1);
    }
    partition["aeu"] = object.partition_owners[i].value;
    partitions.push_back(std::move(partition));
  }
  Json beside = Json::Array();
  for (const std::string& name : object.beside) beside.push_back(name);
  return {{"name", object.name},
          {"id", object.id.value},
          {"kind", KindName(object.kind)},
          {"schema", SchemaText(object.schema)},
          {"key", KeyNamesText(object.schema)},
          {"rows", std::to_string(object.keys)},
          {"memory_bytes", std::to_string(object.memory_bytes)},
          {"beside", std::move(beside)},
          {"partitions", std::move(partitions)}};
}

std::string ToText(const std::vector<ObjectInfo>& objects) {
  TextTable table({{"OBJECT", false},
                   {"KIND", false},
                   {"KEY", false},
                   {"KEY TYPE", false},
                   {"VALUES", false},
                   {"ROWS"},
                   {"MEMORY"},
                   {"BYTES/ROW"},
                   {"PARTITIONS"}});
  for (const ObjectInfo& object : objects) {
    const std::string names = KeyNamesText(object.schema);
    table.Add({object.name, KindName(object.kind), names.empty() ? "-" : names,
               KeyTypesText(object.schema), ValuesText(object.schema), absl::StrCat(object.keys),
               FormatBytes(object.memory_bytes), BytesPerRow(object),
               absl::StrCat(object.partition_starts.size())});
  }
  return table.ToString();
}

std::string DescribeText(const ObjectInfo& object) {
  const Schema& schema = object.schema;
  std::string text =
      absl::StrCat(object.name, ": ", KindName(object.kind), ", ", object.keys, " rows, ",
                   FormatBytes(object.memory_bytes), ", ", BytesPerRow(object), " bytes a row\n");
  if (!object.beside.empty()) {
    absl::StrAppend(&text, "beside: ", absl::StrJoin(object.beside, ", "), "\n");
  }
  TextTable columns({{"COLUMN", false}, {"TYPE", false}, {"KEY"}});
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const auto in_key = std::find(schema.key.begin(), schema.key.end(), i);
    const bool is_key = in_key != schema.key.end();
    columns.Add({schema.columns[i].name, ColumnTypeText(schema.columns[i]),
                 is_key ? absl::StrCat(in_key - schema.key.begin() + 1) : ""});
  }
  absl::StrAppend(&text, "\n", columns.ToString(), "\n");
  TextTable partitions({{"PARTITION FROM", false}, {"TO", false}, {"AEU"}});
  for (size_t i = 0; i < object.partition_owners.size(); ++i) {
    const bool is_last = i + 1 == object.partition_owners.size();
    partitions.Add({schema.has_key() ? StartText(object, i) : "-",
                    schema.has_key() && !is_last ? StartText(object, i + 1) : "-",
                    absl::StrCat(object.partition_owners[i].value)});
  }
  absl::StrAppend(&text, partitions.ToString());
  return text;
}

}  // namespace eris::cli
