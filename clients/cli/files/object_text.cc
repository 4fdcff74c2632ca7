#include "clients/cli/files/object_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/files/key_bounds.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "eris/key_encoding.h"

namespace eris::cli {

Json ToJson(const ObjectInfo& object) {
  Json partitions = Json::Array();
  for (size_t i = 0; i < object.partition_owners.size(); ++i) {
    Json partition = Json::Object();
    if (object.schema.has_key()) {
      const ColumnSchema& column = object.schema.columns[object.schema.key[0]];
      const auto bound = [&](uint64_t start) {
        return WordText(column,
                        std::max(WordOfCut(object.kind, column, start), LowestKey(column.type)));
      };
      partition["lo"] = bound(object.partition_starts[i]);
      if (i + 1 < object.partition_starts.size()) {
        partition["hi"] = bound(object.partition_starts[i + 1]);
      }
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
    const std::string per_row =
        object.keys == 0 ? "-"
                         : absl::StrFormat("%.1f", static_cast<double>(object.memory_bytes) /
                                                       static_cast<double>(object.keys));
    table.Add({object.name, KindName(object.kind), names.empty() ? "-" : names,
               KeyTypesText(object.schema), ValuesText(object.schema), absl::StrCat(object.keys),
               FormatBytes(object.memory_bytes), per_row,
               absl::StrCat(object.partition_starts.size())});
  }
  return table.ToString();
}

}  // namespace eris::cli
