// eris stats: the counters of a running server.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "clients/cli/balancer_text.h"
#include "clients/cli/files/object_text.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

Json JsonOf(const RoutingStats& routing) {
  return {{"sent", std::to_string(routing.sent)},
          {"delivered", std::to_string(routing.delivered)},
          {"answered", std::to_string(routing.answered)},
          {"forwarded", std::to_string(routing.forwarded)},
          {"redirected", std::to_string(routing.redirected)},
          {"refused", std::to_string(routing.refused)},
          {"wakes", std::to_string(routing.wakes)},
          {"writer_waits", std::to_string(routing.writer_waits)}};
}

Json JsonOf(const client::ServerInfo& server) {
  return {{"version", server.version},
          {"uptime_ms", std::to_string(absl::ToInt64Milliseconds(server.uptime))},
          {"calls", std::to_string(server.calls)},
          {"calls_in_flight", std::to_string(server.calls_in_flight)},
          {"in_flight_bytes", std::to_string(server.in_flight_bytes)},
          {"in_flight_bytes_max", std::to_string(server.in_flight_bytes_max)}};
}

// The rules by which any task has been taken.
Json JsonOf(const TaskStats& tasks) {
  Json taken = Json::Object();
  for (size_t rule = 0; rule < kTaskRules; ++rule) {
    if (tasks.taken[rule] == 0) continue;
    taken[std::string(kTaskRuleNames[rule])] = std::to_string(tasks.taken[rule]);
  }
  return {{"taken", std::move(taken)},
          {"far", std::to_string(tasks.far)},
          {"wakes", std::to_string(tasks.wakes)}};
}

Json JsonOf(const client::ServerInfo& server, const EngineStats& stats) {
  Json aeus = Json::Array();
  for (const AeuStats& aeu : stats.aeus) {
    aeus.push_back({{"id", aeu.id.value},
                    {"numa_node", aeu.numa_node.value},
                    {"cpu", aeu.cpu},
                    {"turns", std::to_string(aeu.turns)},
                    {"parks", std::to_string(aeu.parks)},
                    {"busy_ns", std::to_string(aeu.busy_ns)},
                    {"commands", std::to_string(aeu.commands)},
                    {"keys", std::to_string(aeu.keys)},
                    {"rows_scanned", std::to_string(aeu.rows_scanned)},
                    {"routing", JsonOf(aeu.routing)},
                    {"tasks", JsonOf(aeu.tasks)},
                    {"bytes_brought_home", std::to_string(aeu.bytes_brought_home)},
                    {"bytes_remapped", std::to_string(aeu.bytes_remapped)},
                    {"homecomings", std::to_string(aeu.homecomings)},
                    {"homecomings_refused", std::to_string(aeu.homecomings_refused)},
                    {"memory_bytes", std::to_string(aeu.memory_bytes)},
                    {"rows", std::to_string(aeu.rows)}});
  }
  Json numa_nodes = Json::Array();
  for (const NumaNodeStats& numa_node : stats.numa_nodes) {
    Json sent = Json::Array();
    for (const uint64_t keys : numa_node.keys_sent_to) sent.push_back(std::to_string(keys));
    numa_nodes.push_back({{"id", numa_node.id.value},
                          {"keys_sent_to", std::move(sent)},
                          {"reserved_bytes", std::to_string(numa_node.reserved_bytes)},
                          {"used_bytes", std::to_string(numa_node.used_bytes)},
                          {"bound", numa_node.bound}});
  }
  Json objects = Json::Array();
  for (const ObjectInfo& object : stats.objects) {
    Json json = ToJson(object);
    json["partitions"] = object.partition_starts.size();
    objects.push_back(std::move(json));
  }
  return {{"server", JsonOf(server)},
          {"aeus", std::move(aeus)},
          {"numa_nodes", std::move(numa_nodes)},
          {"objects", std::move(objects)},
          {"memory_limit_bytes", std::to_string(stats.memory_limit_bytes)},
          {"scans_open", std::to_string(stats.scans_open)},
          {"scan_chunks_in_use", std::to_string(stats.scan_chunks_in_use)},
          {"requests_in_flight", std::to_string(stats.requests_in_flight)},
          {"sessions_routing", JsonOf(stats.sessions_routing)}};
}

// Empty without any leap.
std::string LeapsToText(const EngineStats& stats) {
  TextTable leaps(
      {{"LEAPS TO"}, {"MEMORY THAT FOLLOWED"}, {"BY PAGES"}, {"UNDER WAY"}, {"REFUSED"}});
  bool any = false;
  for (const AeuStats& aeu : stats.aeus) {
    if (aeu.bytes_brought_home + aeu.homecomings + aeu.homecomings_refused == 0) continue;
    any = true;
    leaps.Add({absl::StrCat("AEU ", aeu.id.value), FormatBytes(aeu.bytes_brought_home),
               FormatBytes(aeu.bytes_remapped), absl::StrCat(aeu.homecomings),
               absl::StrCat(aeu.homecomings_refused)});
  }
  return any ? absl::StrCat(leaps.ToString(), "\n") : "";
}

// A line for each source, a column for each target; empty with one NumaNode.
std::string SentToText(const EngineStats& stats) {
  if (stats.numa_nodes.size() < 2) return "";
  std::vector<TextTable::Column> columns = {{"KEYS SENT FROM"}};
  for (const NumaNodeStats& to : stats.numa_nodes) {
    columns.push_back({absl::StrCat("TO NUMANODE ", to.id.value)});
  }
  TextTable sent(columns);
  for (const NumaNodeStats& from : stats.numa_nodes) {
    std::vector<std::string> cells = {absl::StrCat("NumaNode ", from.id.value)};
    for (const uint64_t keys : from.keys_sent_to) cells.push_back(absl::StrCat(keys));
    cells.resize(columns.size(), "-");
    sent.Add(cells);
  }
  return absl::StrCat(sent.ToString(), "\n");
}

std::string TextOf(const client::ServerInfo& server) {
  return absl::StrCat(server.version.empty() ? "" : absl::StrCat("version ", server.version, "; "),
                      "up ", absl::FormatDuration(absl::Trunc(server.uptime, absl::Seconds(1))),
                      "; calls ", server.calls, ", in flight ", server.calls_in_flight,
                      "; bytes in flight ", FormatBytes(server.in_flight_bytes), " of ",
                      FormatBytes(server.in_flight_bytes_max), "\n");
}

std::string TextOf(const EngineStats& stats) {
  uint64_t rows = 0;
  for (const AeuStats& aeu : stats.aeus) rows += aeu.rows;
  TextTable aeus({{"AEU"},
                  {"NUMANODE"},
                  {"CPU"},
                  {"MEMORY"},
                  {"ROWS"},
                  {"SHARE"},
                  {"COMMANDS"},
                  {"KEYS"},
                  {"ROWS SCANNED"},
                  {"BUSY"},
                  {"PARKS"}});
  for (const AeuStats& aeu : stats.aeus) {
    const double share =
        rows == 0 ? 0 : 100.0 * static_cast<double>(aeu.rows) / static_cast<double>(rows);
    aeus.Add({absl::StrCat(aeu.id.value), absl::StrCat(aeu.numa_node.value),
              aeu.cpu < 0 ? "-" : absl::StrCat(aeu.cpu), FormatBytes(aeu.memory_bytes),
              absl::StrCat(aeu.rows), absl::StrFormat("%.1f %%", share), absl::StrCat(aeu.commands),
              absl::StrCat(aeu.keys), absl::StrCat(aeu.rows_scanned),
              absl::StrFormat("%.3f s", static_cast<double>(aeu.busy_ns) / 1e9),
              absl::StrCat(aeu.parks)});
  }
  TextTable routing({{"ROUTED BY"},
                     {"SENT"},
                     {"DELIVERED"},
                     {"ANSWERED"},
                     {"FORWARDED"},
                     {"REDIRECTED"},
                     {"REFUSED"},
                     {"WAKES"},
                     {"WRITER WAITS"}});
  for (const AeuStats& aeu : stats.aeus) {
    routing.Add({absl::StrCat("AEU ", aeu.id.value), absl::StrCat(aeu.routing.sent),
                 absl::StrCat(aeu.routing.delivered), absl::StrCat(aeu.routing.answered),
                 absl::StrCat(aeu.routing.forwarded), absl::StrCat(aeu.routing.redirected),
                 absl::StrCat(aeu.routing.refused), absl::StrCat(aeu.routing.wakes),
                 absl::StrCat(aeu.routing.writer_waits)});
  }
  const RoutingStats& sessions = stats.sessions_routing;
  routing.Add({"sessions", absl::StrCat(sessions.sent), "-", "-", "-", "-",
               absl::StrCat(sessions.refused), absl::StrCat(sessions.wakes), "-"});
  TextTable numa_nodes({{"NUMANODE"}, {"RESERVED"}, {"USED"}, {"BOUND", false}});
  for (const NumaNodeStats& numa_node : stats.numa_nodes) {
    numa_nodes.Add({absl::StrCat(numa_node.id.value), FormatBytes(numa_node.reserved_bytes),
                    FormatBytes(numa_node.used_bytes), numa_node.bound ? "yes" : "no"});
  }
  return absl::StrCat(aeus.ToString(), "\n", routing.ToString(), "\n", LeapsToText(stats),
                      SentToText(stats), numa_nodes.ToString(), "\n", ToText(stats.objects),
                      "\nmemory limit ", FormatBytes(stats.memory_limit_bytes),
                      "; requests in flight ", stats.requests_in_flight, "; scans open ",
                      stats.scans_open, "; scan chunks in use ", stats.scan_chunks_in_use, "\n");
}

int RunStats(const Cli& cli) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::StatusOr<client::ServerInfo> server = (*client)->Server();
  if (!server.ok()) return Report(server.status());
  const absl::StatusOr<EngineStats> stats = (*client)->Stats();
  if (!stats.ok()) return Report(stats.status());
  Output output;
  if (cli.json()) {
    output.WriteJson(JsonOf(*server, *stats));
  } else {
    output.Write(absl::StrCat(TextOf(*stats), TextOf(*server)));
  }
  return output.Finish(kExitOk);
}

int RunHot(const Cli& cli, const std::string& object, uint32_t ranges_max = kHotRangesDefault) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const absl::StatusOr<client::Heat> heat =
      client::BalancerClient(**client).Hot(object, ranges_max);
  if (!heat.ok()) return Report(heat.status());
  Output output;
  if (cli.json()) {
    output.WriteJson(ToJson(*heat));
  } else {
    output.Write(ToText(*heat));
  }
  return output.Finish(kExitOk);
}

}  // namespace

void AddStats(Flags& program, Cli& cli) {
  Flags& verb = program.AddVerb("stats", "Show the counters of a running server");
  auto hot = std::make_shared<std::string>();
  verb.Add("--hot", *hot, "Instead: where the load of this object is").Check(CheckName);
  verb.SetFooter(
      "SHARE is an AEU's part of the rows that all AEUs hold. Counters grow from the start.\n"
      "What was routed is counted in keys (a command without keys is one): at rest all SENT add "
      "up\n"
      "to all DELIVERED, and an AEU's DELIVERED are its ANSWERED and FORWARDED. REDIRECTED, of "
      "those\n"
      "answered, went back to their sender because the range had moved or a buffer was full.\n"
      "WRITER WAITS grow where AEUs lose their cores to other threads. Of memory, `eris memory` "
      "tells\n"
      "what it is used for. VALUES are the columns that are not of the key. With several NumaNodes "
      "a\n"
      "table says how many keys the AEUs and clients of each have sent to the AEUs of each.\n"
      "--hot shows the hottest ranges of an object's keys: LOAD is the time that their AEU spends "
      "on\n"
      "them, in seconds per second, on average over the balancer's recent periods.\n"
      "\n"
      "Examples:\n"
      "  eris stats\n"
      "  eris stats --output json | jq '.aeus[].keys'\n"
      "  eris stats --hot orders\n");
  verb.SetRun([hot, &cli] { return hot->empty() ? RunStats(cli) : RunHot(cli, *hot); });
}

void AddHot(Flags& program, Cli& cli) {
  struct HotFlags {
    std::string object;
    uint32_t ranges = kHotRangesDefault;
  };
  auto flags = std::make_shared<HotFlags>();
  Flags& verb =
      program.AddVerb("hot", "Show which keys of an object have its load, and their AEUs");
  verb.Add("object", flags->object, "Object").Check(CheckName).Required();
  verb.Add("--ranges", flags->ranges, "How many ranges at most, the hottest first")
      .Check(Within(uint32_t{1}, kHotRangesMax))
      .ShowDefault();
  verb.SetFooter(
      "From the balancer's samples, which are taken while it is disabled, too. LOAD is the time "
      "that\n"
      "the AEU spends on the range, in seconds per second, on average over the recent periods. A\n"
      "range of one KEY is a hot key: no other AEU can take a part of its load.\n"
      "\n"
      "Examples:\n"
      "  eris hot orders\n"
      "  eris hot orders --ranges 100 --output json\n");
  verb.SetRun([flags, &cli] { return RunHot(cli, flags->object, flags->ranges); });
}

}  // namespace eris::cli
