// eris memory: the memory accounts of a running server. eris memory verify: where its pages are.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/memory_text.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

struct MemoryFlags {
  bool classes = false;
  bool rows = false;
  std::string pages = std::to_string(kVerifyPagesDefault);
};

int RunMemory(const Cli& cli, const MemoryFlags& flags) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::StatusOr<MemoryStats> stats = (*client)->Memory();
  if (!stats.ok()) return Report(stats.status());
  Output output;
  if (cli.json()) {
    output.WriteJson(ToJson(*stats));
  } else {
    output.Write(ToText(*stats, flags.classes));
  }
  return output.Finish(kExitOk);
}

int RunVerify(const Cli& cli, const MemoryFlags& flags) {
  VerifyMemoryOptions options;
  if (!ParseU64(flags.pages, options.pages_max) || options.pages_max > kVerifyPagesMax) {
    return Report(absl::InvalidArgumentError(absl::StrCat(
        "--pages is '", flags.pages, "', must be a number from 0 to ", kVerifyPagesMax)));
  }
  options.rows = flags.rows;
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::StatusOr<MemoryVerification> verification = (*client)->VerifyMemory(options);
  if (!verification.ok()) {
    const int code = Report(verification.status());
    // Its system, or an old version, does not allow it.
    return absl::IsUnimplemented(verification.status()) ||
                   absl::IsFailedPrecondition(verification.status())
               ? kExitUnverified
               : code;
  }
  Output output;
  if (cli.json()) {
    output.WriteJson(ToJson(*verification));
  } else {
    output.Write(ToText(*verification));
  }
  return output.Finish(ExitCodeOf(*verification));
}

}  // namespace

void AddMemory(Flags& program, Cli& cli) {
  auto flags = std::make_shared<MemoryFlags>();
  Flags& verb = program.AddVerb("memory", "Show what data has of the server's memory");
  verb.Add("--classes", flags->classes, "Also blocks by size (JSON has them always)");
  verb.SetFooter(
      "Per NumaNode: RESERVED from the system is IN USE, KEPT for reuse or READY ahead of use. IN\n"
      "USE are the AEUs' BUFFERS, and what objects have COMMITTED: in live blocks (USED), in free\n"
      "ones that AEUs keep (CACHED), not cut into blocks (SPARE), headers, and pieces of their "
      "own\n"
      "(EXTENT). SPILLED, of those committed, lies on other NumaNodes since this one was full.\n"
      "\n"
      "Examples:\n"
      "  eris memory\n"
      "  eris memory --output json | jq '.objects[].used_bytes'\n"
      "  eris memory verify\n");
  Flags& verify =
      verb.AddVerb("verify", "Ask the server's kernel on which NumaNodes the pages lie");
  verify.Add("--pages", flags->pages, "4 KiB pages to look at per NumaNode; 0: every one")
      .ShowDefault();
  verify.Add("--rows", flags->rows,
             "Also what rows of indexes and heap tables have on other NumaNodes, by AEU");
  verify.SetFooter(
      "The pages are spread evenly over all that the server has for data. ABSENT are those not\n"
      "touched yet, or given back meanwhile. HUGE is what lies in huge pages. Every page of a big\n"
      "server takes a while (a second for 80 GiB, ten without huge pages): mind --timeout and the\n"
      "server's call_ms_max.\n"
      "\n"
      "With --rows each AEU walks over all of its rows: BYTES are their blocks, and REMOTE those "
      "of\n"
      "them that lie on other NumaNodes than the AEU, because a leap has not brought them home, "
      "or\n"
      "because the NumaNode was full.\n"
      "\n"
      "Exit codes: 0 every page found lies where it should, 5 some do not, 6 that cannot be told\n"
      "(memory is not bound to NumaNodes, or the server's system does not say); else as usual.\n"
      "\n"
      "Examples:\n"
      "  eris memory verify\n"
      "  eris memory verify --pages 0 --timeout 600\n"
      "  eris memory verify --rows\n"
      "  eris memory verify --output json | jq '.numa_nodes[].percent_local'\n");
  verify.SetRun([flags, &cli] { return RunVerify(cli, *flags); });
  verb.SetRun([flags, &cli] { return RunMemory(cli, *flags); });
}

}  // namespace eris::cli
