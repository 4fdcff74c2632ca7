// eris topology: the machine and the placement of the AEUs; with --explain for this machine,
// without starting anything.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/option_flags.h"
#include "clients/cli/text/output.h"
#include "eris/engine.h"

namespace eris::cli {
namespace {

struct TopologyFlags {
  bool explain = false;
  OptionFlags engine;
};

absl::StatusOr<std::string> Describe(const Cli& cli, const TopologyFlags& flags) {
  if (flags.explain) {
    Options options;
    absl::Status status = flags.engine.Apply(options);
    if (!status.ok()) return status;
    return ExplainTopology(options);
  }
  if (const std::string given = flags.engine.FirstGiven(); !given.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        given,
        " is for a plan on this machine: give --explain, too; a running server is as it is"));
  }
  const auto client = cli.Connect();
  if (!client.ok()) return client.status();
  return (*client)->Topology();
}

int RunTopology(const Cli& cli, const TopologyFlags& flags) {
  absl::StatusOr<std::string> text = Describe(cli, flags);
  if (!text.ok()) return Report(text.status());
  Output output;
  if (cli.json()) {
    output.WriteJson({{"text", *text}});
  } else {
    if (!text->empty() && text->back() != '\n') *text += '\n';
    output.Write(*text);
  }
  return output.Finish(kExitOk);
}

}  // namespace

void AddTopology(Flags& program, Cli& cli) {
  auto flags = std::make_shared<TopologyFlags>();
  Flags& verb = program.AddVerb("topology", "Show the machine and where the AEUs are, or would be");
  verb.Add("--explain", flags->explain,
           "Plan on this machine, without a server and without starting anything");
  flags->engine.AddEngineTo(verb);
  verb.SetFooter(
      "Without --explain the running server is asked, and the engine flags are refused.\n"
      "\n"
      "Examples:\n"
      "  eris topology\n"
      "  eris topology --explain --network-cores 1\n"
      "  eris topology --explain --topology 'numa:4 core:2 pu:1' --placement sparse --aeus 4\n");
  verb.SetRun([flags, &cli] { return RunTopology(cli, *flags); });
}

}  // namespace eris::cli
