// eris query: runs a plan that another program has made, or explains or analyses it; lists and
// cancels the queries of a server.
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/loading/input_file.h"
#include "clients/cli/row_format.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/progress_bar.h"
#include "clients/query_reader.h"

namespace eris::cli {
namespace {

struct QueryFlags {
  std::string plan;  // a file, or "-"
  bool explain = false;
  bool analyze = false;
  bool list = false;
  std::optional<uint64_t> cancel{};
  RowFormat format;
};

// No server takes so much; so a file that is no plan is not read to its end.
constexpr size_t kFileBytesMax = size_t{32} << 20;

absl::StatusOr<std::string> ReadPlan(const std::string& path) {
  InputFile file;
  if (absl::Status status = file.Open(path); !status.ok()) return status;
  std::string bytes;
  std::vector<char> block(64 << 10);
  for (;;) {
    const ssize_t got = read(file.fd(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
    }
    if (got == 0) return bytes;
    bytes.append(block.data(), static_cast<size_t>(got));
    if (bytes.size() > kFileBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " has more than ", kFileBytesMax, " bytes: it is no plan"));
    }
  }
}

int ShowText(const Cli& cli, const absl::StatusOr<std::string>& text) {
  if (!text.ok()) return Report(text.status());
  Output output;
  if (cli.json()) {
    output.WriteJson({{"text", *text}});
  } else {
    output.Write(*text);
  }
  return output.Finish(kExitOk);
}

absl::Status WriteRows(client::QueryReader& reader, const Output& output, RowSink& sink) {
  ProgressBar bar(/*total=*/0, ProgressIsSeenBy(stdout));
  client::OwnedRows rows;
  uint64_t written = 0;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next(rows);
    if (!more.ok()) return more.status();
    if (!*more || !output.open()) break;
    if (absl::Status status = sink.Add(reader.schema(), rows); !status.ok()) return status;
    written += rows.rows;
    bar.Show(written, written);
  }
  sink.End(reader.schema());
  return absl::OkStatus();
}

int ListQueries(const Cli& cli, client::Client& client) {
  const absl::StatusOr<std::vector<client::RunningQuery>> queries = client.RunningQueries();
  if (!queries.ok()) return Report(queries.status());
  Output output;
  const auto state = [](const client::RunningQuery& query) {
    return query.sending ? "sending" : "computing";
  };
  if (cli.json()) {
    Json array = Json::Array();
    for (const client::RunningQuery& query : *queries) {
      array.push_back({{"id", std::to_string(query.id)},
                       {"client", query.peer},
                       {"age_ms", std::to_string(absl::ToInt64Milliseconds(query.age))},
                       {"state", state(query)},
                       {"rows_sent", std::to_string(query.rows_sent)}});
    }
    output.WriteJson(array);
  } else {
    TextTable table({{"ID"}, {"CLIENT", false}, {"AGE MS"}, {"STATE", false}, {"ROWS SENT"}});
    for (const client::RunningQuery& query : *queries) {
      table.Add({absl::StrCat(query.id), query.peer,
                 absl::StrCat(absl::ToInt64Milliseconds(query.age)), state(query),
                 absl::StrCat(query.rows_sent)});
    }
    output.Write(table.ToString());
  }
  return output.Finish(kExitOk);
}

int CancelQuery(const Cli& cli, client::Client& client, uint64_t id) {
  if (absl::Status status = client.CancelQuery(id); !status.ok()) return Report(status);
  Output output;
  if (cli.json()) {
    output.WriteJson({{"cancelled", std::to_string(id)}});
  } else {
    output.Write(absl::StrCat("cancelled query ", id, "\n"));
  }
  return output.Finish(kExitOk);
}

int RunQuery(const Cli& cli, const QueryFlags& flags) {
  const bool of_server = flags.list || flags.cancel.has_value();
  if (flags.plan.empty() && !of_server) {
    return Report(absl::InvalidArgumentError(
        "a plan's file is missing (- for standard input), or --list or --cancel"));
  }
  std::string plan;
  if (!of_server) {
    absl::StatusOr<std::string> bytes = ReadPlan(flags.plan);
    if (!bytes.ok()) return Report(bytes.status());
    plan = *std::move(bytes);
  }
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  if (flags.list) return ListQueries(cli, **client);
  if (flags.cancel) return CancelQuery(cli, **client, *flags.cancel);
  if (flags.explain) return ShowText(cli, (*client)->Explain(std::move(plan)));
  if (flags.analyze) return ShowText(cli, (*client)->Analyze(std::move(plan)));
  const auto reader = (*client)->Execute(std::move(plan));
  Output output;
  FormattedRows rows(cli, flags.format, output);
  return output.Finish(Report(WriteRows(*reader, output, rows.sink())));
}

}  // namespace

void AddQuery(Flags& program, Cli& cli) {
  auto flags = std::make_shared<QueryFlags>();
  Flags& verb = program.AddVerb(
      "query", "Run a query over several objects, given as a plan of Substrait; or list queries");
  const Flag plan = verb.Add("plan", flags->plan, "File with the plan, or - for standard input");
  const Flag explain =
      verb.Add("--explain", flags->explain, "Show the steps of the plan, without running it");
  const Flag analyze =
      verb.Add("--analyze", flags->analyze,
               "Run the plan, and show what each step has really done in place of its rows")
          .Excludes(explain);
  flags->format.AddTo(verb);
  const Flag list = verb.Add("--list", flags->list, "Show the queries of all clients that run now")
                        .Excludes(plan)
                        .Excludes(explain)
                        .Excludes(analyze);
  verb.Add("--cancel", flags->cancel, "End the query with this id, which --list shows")
      .Excludes(plan)
      .Excludes(explain)
      .Excludes(analyze)
      .Excludes(list);
  verb.SetFooter(
      "A plan is a serialised substrait.Plan of at most 1 MiB, as DataFusion and others write it.\n"
      "`eris sql --plan-out` makes one of SQL. All objects are read as of one moment. The first "
      "row\n"
      "comes when the whole answer has been computed: for long queries give a larger --timeout.\n"
      "Rows are shown as `eris scan` does. Ctrl-C ends the query, too.\n"
      "\n"
      "Examples:\n"
      "  eris query q5.plan\n"
      "  eris query q5.plan --explain\n"
      "  eris query q5.plan --analyze\n"
      "  eris query - --format csv < q5.plan > q5.csv\n"
      "  eris query --list\n"
      "  eris query --cancel 7\n");
  verb.SetRun([flags, &cli] { return RunQuery(cli, *flags); });
}

}  // namespace eris::cli
