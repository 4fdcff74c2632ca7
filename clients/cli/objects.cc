// eris create, drop, list: the catalogue.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/object_flags.h"
#include "clients/cli/files/object_text.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

constexpr char kCreateFooter[] =
    "Values are ordered, read and shown by the type of their column:\n"
    "  uint64      0 to 18446744073709551615\n"
    "  int64       -9223372036854775808 to 9223372036854775807\n"
    "  float64     64-bit floats, also 1e-7, inf and -inf; as a key -0 is 0,\n"
    "              and nan is refused\n"
    "  date        YYYY-MM-DD, -5877641-06-23 to 5881580-07-11\n"
    "  timestamp   YYYY-MM-DD HH:MM:SS.ffffff in UTC; also with T, without a time or\n"
    "              seconds, and with a zone, as +02:00\n"
    "  string      text in UTF-8\n"
    "  bytes       any bytes\n"
    "and of tables int32 and decimal(SCALE). A ? behind the type allows nulls, in\n"
    "tables. Names of SQL are types, too: bigint, double, varchar, blob, datetime.\n"
    "\n"
    "An index or a hash has the columns key and value. Of two types a key has two\n"
    "parts, and is written FIRST/SECOND: 7/2024-02-29. Rows are ordered by the first\n"
    "part, then by the second. Partitions are cut between first parts, which\n"
    "--expect and --split are: the rows that share one stay together. Two parts are\n"
    "for indexes with uint64 values. With --schema and --kind index the columns have\n"
    "names of their own.\n"
    "\n"
    "A table with a key is partitioned by it, and holds one row of each; up to 16\n"
    "bytes, no strings. --expect and --split are of the first key column.\n"
    "--schema tpch:lineitem is that table of TPC-H with its key (--key none:\n"
    "without).\n"
    "\n"
    "With --beside OBJECT the new object is cut like that one, and the ranges of\n"
    "both are balanced and moved together: rows with equal first key columns stay\n"
    "with one AEU, which is where joins look for them. Both keys must begin with a\n"
    "column of the same type. If OBJECT is dropped, what lies beside it stays.\n"
    "\n"
    "Without --expect, --split and --beside the partitions are even pieces of all\n"
    "keys of the type (of dates and timestamps, 1900 to 2099), which puts real keys\n"
    "on one AEU: better say what is known. Keys outside --expect are welcome, too.\n"
    "\n"
    "Examples:\n"
    "  eris create orders --expect 0:6000001\n"
    "  eris create users --split 1000000,2000000,3000000\n"
    "  eris create balances --key-type int64 --expect -1000000:1000000\n"
    "  eris create rainfall --key-type date --expect 2000-01-01:2030-01-01\n"
    "  eris create visits --key-type uint64,date --expect 0:1000000\n"
    "  eris create visits --schema 'user:uint64,day:date,count:uint64' --key user,day --kind "
    "index\n"
    "  eris create documents --expect 0:1000000 --value-type string\n"
    "  eris create sessions --kind hash\n"
    "  eris create trades --schema 'id:int64,day:date,price:decimal(4),note:string?' --key id\n"
    "  eris create events --schema 'at:timestamp,what:string'\n"
    "  eris create orders --schema tpch:orders --expect 0:6000001\n"
    "  eris create lineitem --schema tpch:lineitem --beside orders\n";

struct CreateFlags {
  std::string object;
  std::string key;
  std::string split;
  ObjectFlags flags;
};

int RunCreate(const Cli& cli, const CreateFlags& create) {
  if (create.flags.schema.empty() && !create.key.empty()) {
    return Report(
        absl::InvalidArgumentError("--key names columns of --schema, which is not given"));
  }
  const absl::StatusOr<CreateOptions> options = create.flags.Options(create.key, create.split);
  if (!options.ok()) return Report(options.status());
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::StatusOr<ObjectInfo> info = (*client)->Create(create.object, *options);
  if (!info.ok()) return Report(info.status());
  Output output;
  if (cli.json()) {
    output.WriteJson(ToJson(*info));
  } else {
    output.Write(
        absl::StrCat("created ", info->name, ": ", KindName(info->kind), " of ",
                     SchemaText(info->schema), info->schema.has_key() ? ", key " : ", no key",
                     KeyNamesText(info->schema), ", ", info->partition_starts.size(),
                     info->partition_starts.size() == 1 ? " partition\n" : " partitions\n"));
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
    for (const ObjectInfo& info : objects) array.push_back(ToJson(info));
    output.WriteJson(array);
  } else {
    output.Write(ToText(objects));
  }
  return output.Finish(kExitOk);
}

int RunDescribe(const Cli& cli, const std::string& object) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::StatusOr<ObjectInfo> info = (*client)->Get(object);
  if (!info.ok()) return Report(info.status());
  Output output;
  if (cli.json()) {
    output.WriteJson(ToJson(*info));
  } else {
    output.Write(DescribeText(*info));
  }
  return output.Finish(kExitOk);
}

}  // namespace

void AddCreate(Flags& program, Cli& cli) {
  auto create = std::make_shared<CreateFlags>();
  Flags& verb =
      program.AddVerb("create", "Create an empty data object: keys to values, or a table");
  verb.Add("object", create->object, "Name").Required().Check(CheckName);
  const ObjectFlags::Added added = create->flags.AddTo(verb);
  verb.Add("--key", create->key,
           "With --schema: key columns by name, up to four; default: none (a heap table), but for "
           "tpch:")
      .Check(CheckNotEmpty);
  verb.Add("--split", create->split, "Inner partition bounds, ascending: 100,200,300")
      .Check(CheckNotEmpty)
      .Excludes(added.expect)
      .Excludes(added.beside);
  verb.SetFooter(kCreateFooter);
  verb.SetRun([create, &cli] { return RunCreate(cli, *create); });
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
      "VALUES are the columns that are not of the key. JSON has the columns, the key, the "
      "partition\n"
      "bounds and their AEUs as well, and the objects beside each.\n"
      "\n"
      "Examples:\n"
      "  eris list\n"
      "  eris list orders --output json\n");
  verb.SetRun([object, &cli] { return RunList(cli, *object); });
}

void AddDescribe(Flags& program, Cli& cli) {
  auto object = std::make_shared<std::string>();
  Flags& verb = program.AddVerb("describe", "Show the columns and partitions of a data object");
  verb.Add("object", *object, "Name").Required().Check(CheckName);
  verb.SetFooter(
      "A ? behind a type: the column may be null. KEY is the place in the key. A partition has "
      "the\n"
      "values of the first key column from FROM up to, and without, TO.\n"
      "\n"
      "Example:\n"
      "  eris describe orders\n");
  verb.SetRun([object, &cli] { return RunDescribe(cli, *object); });
}

}  // namespace eris::cli
