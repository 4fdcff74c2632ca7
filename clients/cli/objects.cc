// eris create, drop, list: the catalogue.
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/cli.h"
#include "clients/cli/exit_code.h"
#include "clients/cli/output.h"
#include "clients/cli/parse.h"

namespace eris::cli {
namespace {

struct CreateFlags {
  std::string object;
  std::string expect;
  std::string split;
  std::string value_type = "u64";
};

const char* NameOf(ValueType type) { return type == ValueType::kBytes ? "bytes" : "u64"; }

nlohmann::ordered_json ToJson(const ObjectInfo& info) {
  nlohmann::ordered_json partitions = nlohmann::ordered_json::array();
  for (size_t i = 0; i < info.partition_starts.size(); ++i) {
    nlohmann::ordered_json partition{{"lo", std::to_string(info.partition_starts[i])}};
    if (i + 1 < info.partition_starts.size()) {
      partition["hi"] = std::to_string(info.partition_starts[i + 1]);
    }
    partition["aeu"] = info.partition_owners[i].value;
    partitions.push_back(std::move(partition));
  }
  return {{"name", info.name},
          {"id", info.id.value},
          {"kind", "index"},
          {"value_type", NameOf(info.value_type)},
          {"keys", std::to_string(info.keys)},
          {"memory_bytes", std::to_string(info.memory_bytes)},
          {"partitions", std::move(partitions)}};
}

int RunCreate(const Cli& cli, const CreateFlags& flags) {
  CreateOptions options;
  if (!flags.expect.empty()) {
    const absl::StatusOr<KeyRange> range = ParseRange(flags.expect);
    if (!range.ok()) return Report(range.status());
    options.expected = *range;
  }
  if (flags.value_type == "bytes") options.value_type = ValueType::kBytes;
  if (!flags.split.empty()) {
    absl::StatusOr<std::vector<uint64_t>> points = ParseKeyList(flags.split);
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
    output.WriteJson(nlohmann::ordered_json{{"dropped", object}});
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
    nlohmann::ordered_json array = nlohmann::ordered_json::array();
    for (const ObjectInfo& info : objects) array.push_back(ToJson(info));
    output.WriteJson(array);
  } else {
    TextTable table({{"OBJECT", false},
                     {"KIND", false},
                     {"VALUES", false},
                     {"KEYS"},
                     {"MEMORY"},
                     {"PARTITIONS"}});
    for (const ObjectInfo& info : objects) {
      table.Add({info.name, "index", NameOf(info.value_type), std::to_string(info.keys),
                 FormatBytes(info.memory_bytes), std::to_string(info.partition_starts.size())});
    }
    output.Write(table.ToString());
  }
  return output.Finish(kExitOk);
}

}  // namespace

void AddCreate(CLI::App& app, Cli& cli) {
  auto flags = std::make_shared<CreateFlags>();
  CLI::App* verb =
      app.add_subcommand("create", "Create an empty data object: an index, u64 to values");
  verb->add_option("object", flags->object, "Name")->required();
  CLI::Option* expect =
      verb->add_option("--expect", flags->expect,
                       "LO:HI, where keys are expected: partitions are even pieces of it");
  verb->add_option("--split", flags->split, "Inner partition bounds, ascending: 100,200,300")
      ->excludes(expect);
  verb->add_option("--value-type", flags->value_type,
                   "What values are: u64, or bytes of up to 1 MiB")
      ->check(CLI::IsMember({"u64", "bytes"}))
      ->capture_default_str();
  verb->footer(
      "Without --expect and --split the partitions are even pieces of all 2^64 keys, which puts\n"
      "real keys on one AEU: better say what is known. Keys outside --expect are welcome, too.\n"
      "\n"
      "Examples:\n"
      "  eris create orders --expect 0:6000001\n"
      "  eris create users --split 1000000,2000000,3000000\n"
      "  eris create documents --expect 0:1000000 --value-type bytes\n");
  verb->callback([flags, &cli] { cli.run = [flags, &cli] { return RunCreate(cli, *flags); }; });
}

void AddDrop(CLI::App& app, Cli& cli) {
  auto object = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("drop", "Remove a data object and give its memory back");
  verb->add_option("object", *object, "Name")->required();
  verb->footer("Example:\n  eris drop orders\n");
  verb->callback([object, &cli] { cli.run = [object, &cli] { return RunDrop(cli, *object); }; });
}

void AddList(CLI::App& app, Cli& cli) {
  auto object = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("list", "List the data objects");
  verb->add_option("object", *object, "This one alone");
  verb->footer(
      "JSON has the partition bounds and their AEUs as well.\n"
      "\n"
      "Examples:\n"
      "  eris list\n"
      "  eris list orders --output json\n");
  verb->callback([object, &cli] { cli.run = [object, &cli] { return RunList(cli, *object); }; });
}

}  // namespace eris::cli
