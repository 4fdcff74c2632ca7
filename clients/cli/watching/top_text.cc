#include "clients/cli/watching/top_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "clients/cli/balancer_text.h"
#include "clients/cli/text/output.h"

namespace eris::cli {
namespace {

// At most this many of the largest objects.
constexpr size_t kObjectsShown = 20;

// Counters only grow; if one has not, the server has been started again, and its rate is that since
// its start.
double Rate(uint64_t before, uint64_t now, double seconds) {
  if (seconds <= 0) return 0;
  return static_cast<double>(now >= before ? now - before : now) / seconds;
}

std::string RateText(double rate) {
  if (rate >= 1e7) return absl::StrFormat("%.1f M", rate / 1e6);
  if (rate >= 1e4) return absl::StrFormat("%.1f k", rate / 1e3);
  return absl::StrFormat("%.0f", rate);
}

struct AeuRates {
  double busy = 0;  // part of the time
  double commands = 0;
  double keys = 0;
  double rows_scanned = 0;
};

struct Rates {
  Rates(const TopSample& before, const TopSample& now)
      : seconds(absl::ToDoubleSeconds(now.time - before.time)),
        calls(Rate(before.server.calls, now.server.calls, seconds)),
        aeus(now.stats.aeus.size()) {
    for (size_t i = 0; i < aeus.size(); ++i) {
      const AeuStats none;
      const AeuStats& old = i < before.stats.aeus.size() ? before.stats.aeus[i] : none;
      const AeuStats& one = now.stats.aeus[i];
      aeus[i].busy = std::min(1.0, Rate(old.busy_ns, one.busy_ns, seconds) / 1e9);
      aeus[i].commands = Rate(old.commands, one.commands, seconds);
      aeus[i].keys = Rate(old.keys, one.keys, seconds);
      aeus[i].rows_scanned = Rate(old.rows_scanned, one.rows_scanned, seconds);
    }
    for (size_t from = 0; from < now.stats.numa_nodes.size(); ++from) {
      const std::vector<uint64_t>& sent = now.stats.numa_nodes[from].keys_sent_to;
      std::vector<double>& row = sent_to.emplace_back(sent.size());
      for (size_t to = 0; to < sent.size(); ++to) {
        uint64_t old = 0;
        if (from < before.stats.numa_nodes.size() &&
            to < before.stats.numa_nodes[from].keys_sent_to.size()) {
          old = before.stats.numa_nodes[from].keys_sent_to[to];
        }
        row[to] = Rate(old, sent[to], seconds);
      }
    }
  }

  const double seconds;
  const double calls;  // per second
  std::vector<AeuRates> aeus;
  std::vector<std::vector<double>> sent_to;  // from NumaNode, to NumaNode
};

std::vector<const ObjectInfo*> LargestObjects(const EngineStats& stats) {
  std::vector<const ObjectInfo*> objects;
  for (const ObjectInfo& object : stats.objects) objects.push_back(&object);
  std::stable_sort(objects.begin(), objects.end(), [](const ObjectInfo* a, const ObjectInfo* b) {
    return a->memory_bytes > b->memory_bytes;
  });
  objects.resize(std::min(objects.size(), kObjectsShown));
  return objects;
}

std::map<std::string, double> Imbalances(const client::Balance& balance) {
  std::map<std::string, double> imbalances;
  for (const ObjectBalance& object : balance.status.objects) {
    imbalances[object.object] = object.imbalance;
  }
  return imbalances;
}

std::string HeadText(const TopSample& now, const Rates& rates) {
  double busy = 0;
  double keys = 0;
  for (const AeuRates& aeu : rates.aeus) {
    busy += aeu.busy;
    keys += aeu.keys;
  }
  return absl::StrCat(
      "eris ", now.server.version.empty() ? "of an unknown version" : now.server.version, ", up ",
      absl::FormatDuration(absl::Trunc(now.server.uptime, absl::Seconds(1))), "; ",
      RateText(rates.calls), " calls/s, ", now.server.calls_in_flight, " under way; ",
      RateText(keys), " keys/s; ", absl::StrFormat("%.1f", busy), " of ", rates.aeus.size(),
      " AEUs busy; bytes in flight ", FormatBytes(now.server.in_flight_bytes), " of ",
      FormatBytes(now.server.in_flight_bytes_max), "\n");
}

std::string AeusText(const TopSample& now, const Rates& rates) {
  TextTable table({{"AEU"},
                   {"NUMANODE"},
                   {"CPU"},
                   {"BUSY"},
                   {"KEYS/S"},
                   {"COMMANDS/S"},
                   {"ROWS SCANNED/S"},
                   {"ROWS"},
                   {"MEMORY"}});
  for (size_t i = 0; i < now.stats.aeus.size(); ++i) {
    const AeuStats& aeu = now.stats.aeus[i];
    const AeuRates& rate = rates.aeus[i];
    table.Add({absl::StrCat(aeu.id.value), absl::StrCat(aeu.numa_node.value),
               aeu.cpu < 0 ? "-" : absl::StrCat(aeu.cpu),
               absl::StrFormat("%.0f %%", 100 * rate.busy), RateText(rate.keys),
               RateText(rate.commands), RateText(rate.rows_scanned), absl::StrCat(aeu.rows),
               FormatBytes(aeu.memory_bytes)});
  }
  return table.ToString();
}

std::string LargestText(const TopSample& now) {
  const std::map<std::string, double> imbalances = Imbalances(now.balance);
  TextTable table({{"OBJECT", false}, {"ROWS"}, {"MEMORY"}, {"PARTITIONS"}, {"IMBALANCE"}});
  for (const ObjectInfo* object : LargestObjects(now.stats)) {
    const auto found = imbalances.find(object->name);
    table.Add({object->name, absl::StrCat(object->keys), FormatBytes(object->memory_bytes),
               absl::StrCat(object->partition_owners.size()),
               found == imbalances.end() ? "-" : absl::StrFormat("%.2f", found->second)});
  }
  std::string text = table.ToString();
  if (now.stats.objects.size() > kObjectsShown) {
    absl::StrAppend(&text, "and ", now.stats.objects.size() - kObjectsShown,
                    " objects with less memory\n");
  }
  return text;
}

// Empty with one NumaNode.
std::string SentText(const TopSample& now, const Rates& rates) {
  if (now.stats.numa_nodes.size() < 2) return "";
  std::vector<TextTable::Column> columns = {{"KEYS/S FROM", false}};
  for (const NumaNodeStats& to : now.stats.numa_nodes) {
    columns.push_back({absl::StrCat("TO NUMANODE ", to.id.value)});
  }
  TextTable table(columns);
  for (size_t from = 0; from < now.stats.numa_nodes.size(); ++from) {
    std::vector<std::string> cells = {
        absl::StrCat("NumaNode ", now.stats.numa_nodes[from].id.value)};
    for (const double rate : rates.sent_to[from]) cells.push_back(RateText(rate));
    cells.resize(columns.size(), "-");
    table.Add(cells);
  }
  return absl::StrCat("\n", table.ToString());
}

std::string TransfersText(const client::Balance& balance) {
  const BalancerStatus& status = balance.status;
  const std::string done =
      absl::StrCat("balancer ",
                   status.paused            ? "paused"
                   : status.options.enabled ? "on"
                                            : "off",
                   "; transfers done ", status.transfers.sum(), ", rows moved ", status.rows_moved,
                   ", under way ", status.running.size(), "\n");
  if (status.running.empty()) return done;
  return absl::StrCat(done, ToText(RunningOf(balance)));
}

}  // namespace

std::string TopText(const TopSample& before, const TopSample& now) {
  const Rates rates(before, now);
  return absl::StrCat(HeadText(now, rates), "\n", AeusText(now, rates), "\n", LargestText(now),
                      SentText(now, rates), "\n", TransfersText(now.balance));
}

Json TopJson(const TopSample& before, const TopSample& now) {
  const Rates rates(before, now);
  Json aeus = Json::Array();
  for (size_t i = 0; i < now.stats.aeus.size(); ++i) {
    const AeuStats& aeu = now.stats.aeus[i];
    aeus.push_back({{"id", aeu.id.value},
                    {"numa_node", aeu.numa_node.value},
                    {"cpu", aeu.cpu},
                    {"busy", rates.aeus[i].busy},
                    {"keys_per_s", rates.aeus[i].keys},
                    {"commands_per_s", rates.aeus[i].commands},
                    {"rows_scanned_per_s", rates.aeus[i].rows_scanned},
                    {"rows", std::to_string(aeu.rows)},
                    {"memory_bytes", std::to_string(aeu.memory_bytes)}});
  }
  const std::map<std::string, double> imbalances = Imbalances(now.balance);
  Json objects = Json::Array();
  for (const ObjectInfo* object : LargestObjects(now.stats)) {
    const auto found = imbalances.find(object->name);
    objects.push_back(
        {{"name", object->name},
         {"rows", std::to_string(object->keys)},
         {"memory_bytes", std::to_string(object->memory_bytes)},
         {"partitions", object->partition_owners.size()},
         {"imbalance", found == imbalances.end() ? Json(nullptr) : Json(found->second)}});
  }
  Json sent = Json::Array();
  for (const std::vector<double>& row : rates.sent_to) {
    Json cells = Json::Array();
    for (const double rate : row) cells.push_back(rate);
    sent.push_back(std::move(cells));
  }
  return {{"seconds", rates.seconds},
          {"calls_per_s", rates.calls},
          {"calls_in_flight", std::to_string(now.server.calls_in_flight)},
          {"in_flight_bytes", std::to_string(now.server.in_flight_bytes)},
          {"aeus", std::move(aeus)},
          {"objects", std::move(objects)},
          {"numa_node_keys_per_s", std::move(sent)},
          {"transfers", ToJson(RunningOf(now.balance))}};
}

std::string CutToScreen(absl::string_view text, size_t lines, size_t columns) {
  std::string cut;
  size_t taken = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (taken++ == lines) break;
    size_t end = 0;
    size_t characters = 0;
    for (; end < line.size(); ++end) {
      // The first byte of a character of UTF-8.
      if ((static_cast<unsigned char>(line[end]) & 0xc0) != 0x80 && ++characters > columns) break;
    }
    absl::StrAppend(&cut, line.substr(0, end), "\n");
  }
  return cut;
}

}  // namespace eris::cli
