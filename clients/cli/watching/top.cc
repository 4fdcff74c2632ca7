// eris top: what a running server does now.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/interrupt.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "clients/cli/watching/top_text.h"

namespace eris::cli {
namespace {

struct TopFlags {
  double interval_s = 1;
};

absl::StatusOr<TopSample> Take(client::Client& client) {
  TopSample sample;
  absl::StatusOr<client::ServerInfo> server = client.Server();
  if (!server.ok()) return server.status();
  sample.server = *std::move(server);
  absl::StatusOr<EngineStats> stats = client.Stats();
  if (!stats.ok()) return stats.status();
  sample.stats = *std::move(stats);
  sample.time = absl::Now();
  absl::StatusOr<client::Balance> balance = client::BalancerClient(client).Status();
  if (!balance.ok()) return balance.status();
  sample.balance = *std::move(balance);
  return sample;
}

// From the upper left corner, over what was there.
void Draw(const std::string& text) {
  winsize size = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1;
  const std::string cut =
      known ? CutToScreen(text, size.ws_row - 1u, size.ws_col) : CutToScreen(text, 40, 120);
  std::fputs(absl::StrCat("\033[H\033[J", cut).c_str(), stdout);
  std::fflush(stdout);
}

// Ends by a signal, or if the server does not answer.
absl::Status Watch(client::Client& client, absl::Duration interval, TopSample before) {
  for (;;) {
    for (absl::Duration left = interval; left > absl::ZeroDuration();) {
      const absl::Duration step = std::min(left, absl::Milliseconds(100));
      absl::SleepFor(step);
      left -= step;
      if (!CheckInterrupted().ok()) return absl::OkStatus();
    }
    absl::StatusOr<TopSample> now = Take(client);
    if (!now.ok()) return now.status();
    Draw(TopText(before, *now));
    before = *std::move(now);
  }
}

int RunTop(const Cli& cli, const TopFlags& flags) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  absl::StatusOr<TopSample> before = Take(**client);
  if (!before.ok()) return Report(before.status());
  const absl::Duration interval = absl::Seconds(flags.interval_s);
  if (!cli.json() && isatty(STDOUT_FILENO) == 1) {
    CatchInterrupts();
    const absl::Status status = Watch(**client, interval, *std::move(before));
    return status.ok() ? kExitOk : Report(status);
  }
  absl::SleepFor(interval);
  const absl::StatusOr<TopSample> now = Take(**client);
  if (!now.ok()) return Report(now.status());
  Output output;
  if (cli.json()) {
    output.WriteJson(TopJson(*before, *now));
  } else {
    output.Write(TopText(*before, *now));
  }
  return output.Finish(kExitOk);
}

}  // namespace

void AddTop(Flags& program, Cli& cli) {
  auto flags = std::make_shared<TopFlags>();
  Flags& verb = program.AddVerb("top", "Show what a running server does now");
  verb.Add("--interval", flags->interval_s, "Seconds between two looks, over which rates are")
      .Check(Within(0.1, 3600.0))
      .ShowDefault();
  verb.SetFooter(
      "On a terminal it is drawn again and again, until Ctrl-C. Into a pipe or a file it writes\n"
      "one text, after two looks. BUSY is the part of the time in which an AEU has worked. KEYS/S\n"
      "FROM are the keys that AEUs and clients of a NumaNode have sent to the AEUs of each.\n"
      "IMBALANCE is what the balancer sees: the deviation of the AEUs' loads, in units of their\n"
      "mean. Only the 20 objects with the most memory are shown.\n"
      "\n"
      "Examples:\n"
      "  eris top\n"
      "  eris top --interval 5 | head -20\n"
      "  eris top --output json | jq '.aeus[].busy'\n");
  verb.SetRun([flags, &cli] { return RunTop(cli, *flags); });
}

}  // namespace eris::cli
