// eris create, drop, list: the catalogue.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/table_verbs.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "clients/table_client.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

struct CreateFlags {
  std::string object;
  std::string kind = "index";
  std::string expect;
  std::string split;
  std::string key_type = "u64";
  std::string value_type = "u64";
  std::string schema;  // not empty: a table
  std::string key;
};

// `schema`: of a table, where it is known.
Json ToJson(const ObjectInfo& info, const Schema* schema = nullptr) {
  if (IsTable(info)) {
    Json json{{"name", info.name}, {"id", info.id.value}, {"kind", KindName(info.kind)}};
    if (schema != nullptr) {
      json["schema"] = SchemaText(*schema);
      json["key"] = TableKeyText(*schema);
    }
    json["rows"] = std::to_string(info.keys);
    json["memory_bytes"] = std::to_string(info.memory_bytes);
    Json aeus = Json::Array();
    for (const AeuId aeu : info.partition_owners) aeus.push_back(aeu.value);
    json["partitions"] = std::move(aeus);
    return json;
  }
  const ColumnType type = info.key_type.first;  // of bounds
  Json partitions = Json::Array();
  for (size_t i = 0; i < info.partition_starts.size(); ++i) {
    const uint64_t lo = std::max(info.partition_starts[i], LowestKey(type));
    Json partition{{"lo", KeyText(type, lo)}};
    if (i + 1 < info.partition_starts.size()) {
      partition["hi"] = KeyText(type, info.partition_starts[i + 1]);
    }
    partition["aeu"] = info.partition_owners[i].value;
    partitions.push_back(std::move(partition));
  }
  return {{"name", info.name},
          {"id", info.id.value},
          {"key_type", KeyTypesName(info.key_type)},
          {"kind", KindName(info.kind)},
          {"value_type", ValueTypeName(info.value_type)},
          {"keys", std::to_string(info.keys)},
          {"memory_bytes", std::to_string(info.memory_bytes)},
          {"partitions", std::move(partitions)}};
}

int RunCreateTable(const Cli& cli, const CreateFlags& flags) {
  const absl::StatusOr<Schema> schema = ParseSchema(flags.schema, flags.key);
  if (!schema.ok()) return Report(schema.status());
  const absl::StatusOr<client::TableBounds> bounds =
      ParseTableBounds(*schema, flags.expect, flags.split);
  if (!bounds.ok()) return Report(bounds.status());
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::StatusOr<ObjectInfo> info =
      client::TableClient(**client).Create(flags.object, *schema, *bounds);
  if (!info.ok()) return Report(info.status());
  Output output;
  if (cli.json()) {
    output.WriteJson(ToJson(*info, &*schema));
  } else {
    output.Write(absl::StrCat("created ", info->name, ": ", schema->columns.size(), " columns, ",
                              schema->clustered() ? "key " : "no key", TableKeyText(*schema),
                              "\n"));
  }
  return output.Finish(kExitOk);
}

int RunCreate(const Cli& cli, const CreateFlags& flags) {
  if (!flags.schema.empty()) return RunCreateTable(cli, flags);
  if (!flags.key.empty()) {
    return Report(absl::InvalidArgumentError("--key is for tables: give --schema"));
  }
  CreateOptions options;
  const absl::StatusOr<KeyTypes> types = ParseKeyTypes(flags.key_type);
  if (!types.ok()) return Report(types.status());
  options.key_type = *types;
  const ColumnType type = types->first;  // of bounds
  const absl::StatusOr<ObjectKind> kind = ParseKind(flags.kind);
  if (!kind.ok()) return Report(kind.status());
  options.kind = *kind;
  if (!flags.expect.empty()) {
    const absl::StatusOr<KeyRange> range = ParseRange(flags.expect, type);
    if (!range.ok()) return Report(range.status());
    options.expected = *range;
  }
  if (flags.value_type == "bytes") options.value_type = ColumnType::kString;
  if (!flags.split.empty()) {
    absl::StatusOr<std::vector<uint64_t>> points = ParseKeyList(flags.split, type);
    if (!points.ok()) return Report(points.status());
    options.split_points = *std::move(points);
  }
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::StatusOr<ObjectInfo> info = (*client)->Create(flags.object, options);
  if (!info.ok()) return Report(info.status());
  Output output;
  if (cli.json()) {
    output.WriteJson(ToJson(*info));
  } else {
    output.Write(
        absl::StrCat("created ", info->name, ": ", info->partition_starts.size(), " partitions\n"));
  }
  return output.Finish(kExitOk);
}

int RunDrop(const Cli& cli, const std::string& object) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::Status status = (*client)->Drop(object);
  if (!status.ok()) return Report(status);
  Output output;
  if (cli.json()) {
    output.WriteJson({{"dropped", object}});
  } else {
    output.Write(absl::StrCat("dropped ", object, "\n"));
  }
  return output.Finish(kExitOk);
}

int RunList(const Cli& cli, const std::string& object) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  std::vector<ObjectInfo> objects;
  if (object.empty()) {
    absl::StatusOr<std::vector<ObjectInfo>> all = (*client)->List();
    if (!all.ok()) return Report(all.status());
    objects = *std::move(all);
  } else {
    absl::StatusOr<ObjectInfo> one = (*client)->Get(object);
    if (!one.ok()) return Report(one.status());
    objects.push_back(*std::move(one));
  }
  Output output;
  if (cli.json()) {
    Json array = Json::Array();
    for (const ObjectInfo& info : objects) {
      if (!IsTable(info)) {
        array.push_back(ToJson(info));
        continue;
      }
      // It may have been dropped since; then without its schema.
      const auto table = client::TableClient(**client).Get(info.name);
      array.push_back(ToJson(info, table.ok() ? &table->schema : nullptr));
    }
    output.WriteJson(array);
  } else {
    TextTable table({{"OBJECT", false},
                     {"KIND", false},
                     {"KEY TYPE", false},
                     {"VALUES", false},
                     {"KEYS"},
                     {"MEMORY"},
                     {"PARTITIONS"}});
    for (const ObjectInfo& info : objects) {
      std::string key = KeyTypesName(info.key_type), values = ValueTypeName(info.value_type);
      if (IsTable(info)) {
        const auto found = client::TableClient(**client).Get(info.name);
        key = found.ok() ? TableKeyTypesText(found->schema) : "-";
        values = found.ok() ? absl::StrCat(found->schema.columns.size(), " columns") : "columns";
      }
      table.Add({info.name, KindName(info.kind), key, values, std::to_string(info.keys),
                 FormatBytes(info.memory_bytes), std::to_string(info.partition_starts.size())});
    }
    output.Write(table.ToString());
  }
  return output.Finish(kExitOk);
}

}  // namespace

void AddCreate(Flags& program, Cli& cli) {
  auto flags = std::make_shared<CreateFlags>();
  Flags& verb =
      program.AddVerb("create", "Create an empty data object: keys to values, or a table");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  const Flag schema = verb.Add("--schema", flags->schema,
                               "A table of these columns: a:int64,b:decimal(2),c:string?")
                          .Check(CheckNotEmpty);
  verb.Add("--key", flags->key,
           "Of a table: key columns by name, up to four; default: none (a heap table), but "
           "for tpch:")
      .Check(CheckNotEmpty);
  verb.Add("--kind", flags->kind, "index (ordered), or hash (faster look-ups, no scans)")
      .Check(OneOf({"index", "hash"}))
      .Excludes(schema)
      .ShowDefault();
  const Flag expect = verb.Add("--expect", flags->expect,
                               "LO:HI, where keys are expected: partitions are even pieces of it")
                          .Check(CheckNotEmpty);
  verb.Add("--split", flags->split, "Inner partition bounds, ascending: 100,200,300")
      .Check(CheckNotEmpty)
      .Excludes(expect);
  verb.Add("--key-type", flags->key_type,
           "What keys are: u64, i64, f64 or date, or two of them: u64,date")
      .Check(CheckKeyTypes)
      .Excludes(schema)
      .ShowDefault();
  verb.Add("--value-type", flags->value_type,
           "What values are: u64, or (of an index) bytes of up to 1 MiB")
      .Check(OneOf({"u64", "bytes"}))
      .Excludes(schema)
      .ShowDefault();
  verb.SetFooter(
      "Keys are ordered, read and shown by their type:\n"
      "  u64   0 to 18446744073709551615\n"
      "  i64   -9223372036854775808 to 9223372036854775807\n"
      "  f64   64-bit floats, also 1e-7, inf and -inf; -0 is 0; nan is refused\n"
      "  date  YYYY-MM-DD, -5877641-06-23 to 5881580-07-11\n"
      "Of two types a key has two parts, and is written FIRST/SECOND: 7/2024-02-29. Rows are "
      "ordered\n"
      "by the first part, then by the second. Partitions are cut between first parts, which "
      "--expect\n"
      "and --split are: the rows that share one stay together. Of indexes with u64 values.\n"
      "\n"
      "Without --expect and --split the partitions are even pieces of all keys of the type (of\n"
      "dates, 1900 to 2099), which puts real keys on one AEU: better say what is known. Keys\n"
      "outside --expect are welcome, too.\n"
      "\n"
      "Columns of tables are int32, int64, uint64, double, date, decimal(SCALE) or string; a ? "
      "behind\n"
      "the type allows nulls. A table with a key is partitioned by it, and holds one row of each; "
      "up\n"
      "to 16 bytes, no strings. --expect and --split are then of the first key column. --schema\n"
      "tpch:lineitem is that table of TPC-H with its key (--key none: without).\n"
      "\n"
      "Examples:\n"
      "  eris create orders --expect 0:6000001\n"
      "  eris create users --split 1000000,2000000,3000000\n"
      "  eris create balances --key-type i64 --expect -1000000:1000000\n"
      "  eris create rainfall --key-type date --expect 2000-01-01:2030-01-01\n"
      "  eris create lineitem --key-type u64,u64 --expect 0:6000001\n"
      "  eris create visits --key-type u64,date --expect 0:1000000\n"
      "  eris create documents --expect 0:1000000 --value-type bytes\n"
      "  eris create sessions --kind hash\n"
      "  eris create trades --schema 'id:int64,day:date,price:decimal(4),note:string?' --key id\n"
      "  eris create events --schema 'at:int64,what:string'\n"
      "  eris create lineitem --schema tpch:lineitem --expect 0:6000001\n");
  verb.SetRun([flags, &cli] { return RunCreate(cli, *flags); });
}

void AddDrop(Flags& program, Cli& cli) {
  auto object = std::make_shared<std::string>();
  Flags& verb = program.AddVerb("drop", "Remove a data object and give its memory back");
  verb.Add("object", *object, "Name").Required().Check(CheckName);
  verb.SetFooter("Example:\n  eris drop orders\n");
  verb.SetRun([object, &cli] { return RunDrop(cli, *object); });
}

void AddList(Flags& program, Cli& cli) {
  auto object = std::make_shared<std::string>();
  Flags& verb = program.AddVerb("list", "List the data objects");
  verb.Add("object", *object, "This one alone").Check(CheckName);
  verb.SetFooter(
      "JSON has the partition bounds and their AEUs as well, and of a table its columns and key.\n"
      "\n"
      "Examples:\n"
      "  eris list\n"
      "  eris list orders --output json\n");
  verb.SetRun([object, &cli] { return RunList(cli, *object); });
}

}  // namespace eris::cli
