// eris config: checks a configuration, shows where each value comes from, and changes options of a
// running server.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/settings/config_source.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/option_flags.h"
#include "clients/cli/text/output.h"
#include "clients/config_client.h"
#include "eris/engine.h"
#include "server/state/config.h"
#include "server/state/security_check.h"

namespace eris::cli {
namespace {

struct CheckFlags {
  std::string file;
  bool any_machine = false;
};

struct DumpFlags {
  std::string file;
  bool effective = false;
  OptionFlags options;
};

int Write(const Cli& cli, const Json& json, absl::string_view text, int code) {
  Output output;
  if (cli.json()) {
    output.WriteJson(json);
  } else {
    output.Write(text);
  }
  return output.Finish(code);
}

// The file that the verb is about. Errors: InvalidArgument (none is given,
// and the default is absent).
absl::StatusOr<std::string> FileOf(const std::string& given) {
  const std::string file = ConfigFileOf(given);
  if (!file.empty()) return file;
  return absl::InvalidArgumentError(
      absl::StrCat("no file is given, and there is no ", kDefaultConfigFile));
}

int RunCheck(const Cli& cli, const CheckFlags& flags) {
  const absl::StatusOr<std::string> file = FileOf(flags.file);
  if (!file.ok()) return Report(file.status());
  server::ServerConfig config;
  absl::StatusOr<std::vector<std::string>> problems = server::CheckConfigFile(*file, &config);
  if (!problems.ok()) return Report(absl::InvalidArgumentError(problems.status().message()));
  if (problems->empty() && !flags.any_machine) {
    config.engine.caller_bytes = config.in_flight_bytes_max;
    const absl::Status machine = ExplainTopology(config.engine).status();
    if (!machine.ok()) {
      problems->push_back(absl::StrCat(*file, ": on this machine: ", machine.message()));
    }
    for (const std::string& problem :
         server::SecurityProblems(config.security, config.listen, config.http)) {
      problems->push_back(absl::StrCat(*file, ": on this machine: ", problem));
    }
  }
  Json json{{"file", *file}, {"problems", *problems}};
  std::string text;
  for (const std::string& problem : *problems) absl::StrAppend(&text, problem, "\n");
  if (problems->empty()) text = absl::StrCat(*file, ": ok\n");
  return Write(cli, json, text, problems->empty() ? kExitOk : kExitInvalid);
}

// As a configuration file, in which each value is followed by its origin as a comment.
std::string TextOfValues(const std::vector<client::ConfigValue>& values) {
  std::string text;
  std::string section;
  for (const client::ConfigValue& value : values) {
    const size_t dot = value.name.find('.');
    const std::string of = value.name.substr(0, dot);
    if (of != section) absl::StrAppend(&text, section.empty() ? "" : "\n", "[", of, "]\n");
    section = of;
    absl::StrAppend(&text, value.name.substr(dot + 1), " = ", value.value, "  # ", value.origin,
                    "\n");
  }
  return text;
}

Json JsonOfValues(const std::vector<client::ConfigValue>& values) {
  Json json = Json::Array();
  for (const client::ConfigValue& value : values) {
    json.push_back({{"name", value.name},
                    {"value", value.value},
                    {"origin", value.origin},
                    {"live", value.live}});
  }
  return json;
}

int RunDump(const Cli& cli, const DumpFlags& flags) {
  if (const std::string given = flags.options.FirstGiven(); !given.empty() && !flags.effective) {
    return Report(absl::InvalidArgumentError(absl::StrCat(given, " is for --effective")));
  }
  const std::string file = ConfigFileOf(flags.file);
  server::ServerConfig config;
  absl::Status status;
  if (flags.effective) {
    status = ReadConfig(file, flags.options, config);
  } else if (!file.empty()) {
    status = server::ApplyConfigFile(file, &config);
    if (!status.ok()) status = absl::InvalidArgumentError(status.message());
  }
  if (!status.ok()) return Report(status);
  std::vector<client::ConfigValue> values;
  for (const server::ConfigOption& option : server::ConfigOptions()) {
    values.push_back({option.name(), server::ValueText(option, config),
                      server::OriginOf(option, config), option.live});
  }
  return Write(cli, JsonOfValues(values), TextOfValues(values), kExitOk);
}

int RunGet(const Cli& cli, const std::vector<std::string>& names) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::StatusOr<std::vector<client::ConfigValue>> all = client::GetConfig(**client);
  if (!all.ok()) return Report(all.status());
  if (names.empty()) return Write(cli, JsonOfValues(*all), TextOfValues(*all), kExitOk);
  std::vector<client::ConfigValue> values;
  for (const std::string& name : names) {
    const size_t before = values.size();
    for (const client::ConfigValue& value : *all) {
      const bool named = value.name == name || absl::EndsWith(value.name, absl::StrCat(".", name));
      if (named) values.push_back(value);
    }
    if (values.size() > before) continue;
    const auto found = server::FindOption(name);
    if (!found.ok()) return Report(found.status());
    return Report(absl::InvalidArgumentError(
        absl::StrCat("this server has no option '", name, "': it has another version")));
  }
  return Write(cli, JsonOfValues(values), TextOfValues(values), kExitOk);
}

int RunSet(const Cli& cli, const std::vector<std::string>& settings) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& setting : settings) {
    const size_t sign = setting.find('=');
    if (sign == setting.npos || sign == 0) {
      return Report(absl::InvalidArgumentError(
          absl::StrCat("'", setting, "' is not KEY=VALUE, as in server.call_ms_max=2000")));
    }
    values.emplace_back(setting.substr(0, sign), setting.substr(sign + 1));
  }
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::StatusOr<std::vector<client::ConfigValue>> set = client::SetConfig(**client, values);
  if (!set.ok()) return Report(set.status());
  return Write(cli, JsonOfValues(*set), TextOfValues(*set), kExitOk);
}

void AddReading(Flags& verb, Cli& cli) {
  auto check = std::make_shared<CheckFlags>();
  Flags& checking = verb.AddVerb("check", "Name every error of a configuration file");
  checking.Add("file", check->file, "Default: /etc/eris/eris.toml").Type("FILE");
  checking.Add("--any-machine", check->any_machine,
               "Only what is wrong everywhere, not whether this machine has what it asks for");
  checking.SetFooter(
      "Exit code 0: `eris serve` would take it; 2: there are errors, each printed as FILE:LINE.\n"
      "Certificates, key and tokens are read with your rights. Ports in use, and\n"
      "environment variables and flags of the server, are not looked at.\n"
      "\n"
      "Examples:\n"
      "  eris config check eris.toml\n"
      "  eris config check && systemctl restart eris\n");
  checking.SetRun([check, &cli] { return RunCheck(cli, *check); });

  auto dump = std::make_shared<DumpFlags>();
  Flags& dumping = verb.AddVerb("dump", "Print every option with its value and its origin");
  dumping.Add("file", dump->file, "Default: /etc/eris/eris.toml if it exists; none: no file")
      .Type("FILE");
  dumping.Add("--effective", dump->effective,
              "With environment variables, and the flags below: what `eris serve` would run with");
  dump->options.AddAllTo(dumping);
  dumping.SetFooter(
      "What is printed is a configuration file itself; each comment is the origin of the value.\n"
      "\n"
      "Examples:\n"
      "  eris config dump eris.toml\n"
      "  eris config dump --effective --aeus 4 | grep -v default\n");
  dumping.SetRun([dump, &cli] { return RunDump(cli, *dump); });
}

void AddRunning(Flags& verb, Cli& cli) {
  auto names = std::make_shared<std::vector<std::string>>();
  Flags& get = verb.AddVerb("get", "Print the options of a running server");
  get.Add("key", *names, "Only these, e.g. server.call_ms_max or call_ms_max");
  get.SetFooter(
      "Values that the server has derived from the machine or from other options are told, too.\n"
      "\n"
      "Examples:\n"
      "  eris config get\n"
      "  eris config get call_ms_max balancer.threshold\n"
      "  eris config get --output json | jq -r '.[] | select(.live) | .name'\n");
  get.SetRun([names, &cli] { return RunGet(cli, *names); });

  auto settings = std::make_shared<std::vector<std::string>>();
  Flags& set = verb.AddVerb("set", "Change options of a running server, all or none");
  set.Add("key=value", *settings, "KEY=VALUE ...").Required();
  set.SetFooter(
      "Options that docs/guide/configuration.md calls live can change; the others need a restart.\n"
      "The server's configuration file is not changed: after a restart it counts again.\n"
      "\n"
      "Examples:\n"
      "  eris config set server.call_ms_max=5000\n"
      "  eris config set balancer.threshold=0.1 task_scheduling=nls\n");
  set.SetRun([settings, &cli] { return RunSet(cli, *settings); });
}

}  // namespace

void AddConfig(Flags& program, Cli& cli) {
  Flags& verb = program.AddVerb("config", "Check, show and change the options of a server");
  verb.RequireVerb();
  AddReading(verb, cli);
  AddRunning(verb, cli);
  verb.SetFooter(
      "Each has its own: eris config check --help\n"
      "\n"
      "Examples:\n"
      "  eris config check eris.toml\n"
      "  eris config dump --effective\n"
      "  eris config set server.call_ms_max=5000\n");
}

}  // namespace eris::cli
