#include "server/metrics/scrape.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/log/log.h"
#include "server/metrics/metric_table.h"

namespace eris::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr const char* kStageNames[kCallStages] = {"arrival", "execute", "reply"};

std::string Text(uint32_t number) { return absl::StrCat(number); }

std::string CodeName(size_t code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}
double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

class Families {
 public:
  Families() {
    for (const MetricRow& row : Metrics()) {
      MetricFamily& family = families_.emplace_back();
      family.name = std::string(row.name);
      family.help = std::string(row.meaning);
      family.type = row.type == "counter"     ? MetricType::Counter
                    : row.type == "histogram" ? MetricType::Histogram
                                              : MetricType::Gauge;
    }
  }

  template <class T>
  void Add(Metric metric, T value, Labels labels = {}) {
    MetricFamily& family = families_[static_cast<size_t>(metric)];
    ClientMetric& one = family.metric.emplace_back();
    one.label = std::move(labels);
    const double number = static_cast<double>(value);
    (family.type == MetricType::Counter ? one.counter.value : one.gauge.value) = number;
  }

  // Buckets from 65 us to 8.6 s, each twice as wide as the one before; their ends are exact.
  void AddLatencies(Metric metric, const CallCounts& counts, Labels labels) {
    constexpr size_t kFirst = 16;
    constexpr size_t kLast = 33;
    ClientMetric& one = families_[static_cast<size_t>(metric)].metric.emplace_back();
    one.label = std::move(labels);
    uint64_t below = 0;
    for (size_t i = 0; i < CallCounts::kBuckets; ++i) {
      below += counts.latencies[i];
      if (i < kFirst || i > kLast) continue;
      one.histogram.bucket.push_back({below, Seconds(base::LogBuckets<0>::UpperNs(i))});
    }
    one.histogram.bucket.push_back({below, std::numeric_limits<double>::infinity()});
    one.histogram.sample_count = below;
    one.histogram.sample_sum = Seconds(counts.latency_ns);
  }

  std::vector<MetricFamily> Take() {
    const auto empty = [](const MetricFamily& family) { return family.metric.empty(); };
    families_.erase(std::remove_if(families_.begin(), families_.end(), empty), families_.end());
    return std::move(families_);
  }

 private:
  std::vector<MetricFamily> families_;
};

void AddCalls(const Figures& figures, Families& to) {
  for (const CallCounts& counts : figures.calls) {
    uint64_t ended = 0;
    for (const uint64_t count : counts.ended) ended += count;
    if (ended + counts.under_way == 0) continue;
    const ClientMetric::Label method{"method", counts.method};
    to.Add(Metric::kCallsInFlight, counts.under_way, {method});
    to.Add(Metric::kReceivedBytes, counts.received_bytes, {method});
    to.Add(Metric::kSentBytes, counts.sent_bytes, {method});
    to.AddLatencies(Metric::kCallSeconds, counts, {method});
    for (size_t code = 0; code < kCallCodes; ++code) {
      const ClientMetric::Label name{"code", CodeName(code)};
      if (counts.ended[code] > 0) to.Add(Metric::kCalls, counts.ended[code], {method, name});
      if (counts.requests[code] == 0) continue;
      to.Add(Metric::kStreamRequests, counts.requests[code], {method, name});
    }
    uint64_t staged_ns = 0;
    for (const uint64_t ns : counts.stage_ns) staged_ns += ns;
    for (size_t i = 0; i < kCallStages && staged_ns > 0; ++i) {
      to.Add(Metric::kCallStageSeconds, Seconds(counts.stage_ns[i]),
             {method, {"stage", kStageNames[i]}});
    }
  }
  for (const auto& [cause, count] : figures.refusals) {
    to.Add(Metric::kRefusals, count, {{"cause", cause}});
  }
}

void AddServer(const Figures& figures, Families& to) {
  to.Add(Metric::kInfo, 1, {{"version", figures.version}});
  to.Add(Metric::kReady, figures.ready ? 1 : 0);
  to.Add(Metric::kUptime, figures.uptime_s);
  to.Add(Metric::kSlowCalls, figures.slow_calls);
  to.Add(Metric::kInFlightBytes, figures.in_flight_bytes);
  to.Add(Metric::kInFlightBytesMax, figures.in_flight_bytes_max);
  for (size_t level = 0; level < figures.log_lines.size(); ++level) {
    to.Add(Metric::kLogLines, figures.log_lines[level],
           {{"level", std::string(kLogLevelNames[level])}});
  }
  for (const AdmissionFigures& one : figures.admissions) {
    to.Add(Metric::kAdmitted, one.under_way, {{"kind", one.kind}});
    to.Add(Metric::kAdmittedMax, one.under_way_max, {{"kind", one.kind}});
  }
  for (const ReloadFigures& one : figures.reloads) {
    to.Add(Metric::kReloads, one.taken, {{"files", one.files}, {"outcome", "taken"}});
    to.Add(Metric::kReloads, one.refused, {{"files", one.files}, {"outcome", "refused"}});
  }
  if (const auto& door = figures.connections) {
    to.Add(Metric::kConnections, door->open);
    to.Add(Metric::kConnectionsMax, door->open_max);
    to.Add(Metric::kConnectionsAccepted, door->accepted);
    for (const auto& [cause, count] : door->closed) {
      to.Add(Metric::kConnectionsClosed, count, {{"cause", cause}});
    }
  }
  to.Add(Metric::kProcessCpu, figures.process.cpu_s);
  to.Add(Metric::kProcessResident, figures.process.resident_bytes);
  to.Add(Metric::kProcessDescriptors, figures.process.descriptors);
  to.Add(Metric::kProcessDescriptorsMax, figures.process.descriptors_max);
  to.Add(Metric::kProcessThreads, figures.process.threads);
  to.Add(Metric::kProcessStart, figures.process.started_s);
}

void AddRouting(const EngineStats& engine, const RoutingStats& all, Families& to) {
  const auto add = [&to](const char* event, uint64_t keys) {
    to.Add(Metric::kRoutedKeys, keys, {{"event", event}});
  };
  add("sent", all.sent);
  add("delivered", all.delivered);
  add("answered", all.answered);
  add("forwarded", all.forwarded);
  add("redirected", all.redirected);
  add("refused", all.refused);
  to.Add(Metric::kRoutingWakes, all.wakes);
  to.Add(Metric::kRoutingWriterWaits, all.writer_waits);
  for (const NumaNodeStats& numa_node : engine.numa_nodes) {
    uint64_t own = 0;
    uint64_t other = 0;
    for (size_t to_node = 0; to_node < numa_node.keys_sent_to.size(); ++to_node) {
      (to_node == numa_node.id.value ? own : other) += numa_node.keys_sent_to[to_node];
    }
    const ClientMetric::Label from{"numa_node", Text(numa_node.id.value)};
    to.Add(Metric::kNumaNodeKeysSent, own, {from, {"to", "own"}});
    to.Add(Metric::kNumaNodeKeysSent, other, {from, {"to", "other"}});
  }
}

void AddAeu(const AeuStats& aeu, Families& to) {
  const Labels labels = {{"aeu", Text(aeu.id.value)}, {"numa_node", Text(aeu.numa_node.value)}};
  to.Add(Metric::kAeuBusy, Seconds(aeu.busy_ns), labels);
  to.Add(Metric::kAeuTurns, aeu.turns, labels);
  to.Add(Metric::kAeuParks, aeu.parks, labels);
  to.Add(Metric::kAeuCommands, aeu.commands, labels);
  to.Add(Metric::kAeuKeys, aeu.keys, labels);
  to.Add(Metric::kAeuRowsScanned, aeu.rows_scanned, labels);
  to.Add(Metric::kAeuRows, aeu.rows, labels);
  to.Add(Metric::kAeuMemory, aeu.memory_bytes, labels);
}

void AddEngine(const EngineStats& engine, bool aeus, Families& to) {
  AeuStats all;
  RoutingStats routing = engine.sessions_routing;
  for (const AeuStats& aeu : engine.aeus) {
    if (aeus) AddAeu(aeu, to);
    all.busy_ns += aeu.busy_ns;
    all.turns += aeu.turns;
    all.parks += aeu.parks;
    all.commands += aeu.commands;
    all.keys += aeu.keys;
    all.rows_scanned += aeu.rows_scanned;
    routing.sent += aeu.routing.sent;
    routing.delivered += aeu.routing.delivered;
    routing.answered += aeu.routing.answered;
    routing.forwarded += aeu.routing.forwarded;
    routing.redirected += aeu.routing.redirected;
    routing.refused += aeu.routing.refused;
    routing.wakes += aeu.routing.wakes;
    routing.writer_waits += aeu.routing.writer_waits;
  }
  to.Add(Metric::kAeus, engine.aeus.size());
  to.Add(Metric::kAeusBusy, Seconds(all.busy_ns));
  to.Add(Metric::kAeusTurns, all.turns);
  to.Add(Metric::kAeusParks, all.parks);
  to.Add(Metric::kCommands, all.commands);
  to.Add(Metric::kKeys, all.keys);
  to.Add(Metric::kRowsScanned, all.rows_scanned);
  AddRouting(engine, routing, to);
  to.Add(Metric::kEngineRequests, engine.requests_in_flight);
  to.Add(Metric::kScansOpen, engine.scans_open);
  to.Add(Metric::kScanChunks, engine.scan_chunks_in_use);
  to.Add(Metric::kObjects, engine.objects.size());
}

// The names of the objects with the most memory.
std::unordered_set<std::string> LargestObjects(const EngineStats& engine) {
  std::vector<const ObjectInfo*> objects;
  for (const ObjectInfo& object : engine.objects) objects.push_back(&object);
  const size_t shown = std::min<size_t>(objects.size(), kObjectsShown);
  std::partial_sort(objects.begin(), objects.begin() + static_cast<ptrdiff_t>(shown), objects.end(),
                    [](const ObjectInfo* a, const ObjectInfo* b) {
                      return a->memory_bytes != b->memory_bytes ? a->memory_bytes > b->memory_bytes
                                                                : a->name < b->name;
                    });
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < shown; ++i) names.insert(objects[i]->name);
  return names;
}

void AddObjects(const Figures& figures, Families& to) {
  const std::unordered_set<std::string> largest = LargestObjects(figures.engine);
  const auto shown = [&largest](const std::string& name) {
    return largest.count(name) > 0 ? name : std::string(kOtherObjects);
  };
  std::map<std::string, uint64_t> rows;
  for (const ObjectInfo& object : figures.engine.objects) rows[shown(object.name)] += object.keys;
  for (const auto& [name, count] : rows) to.Add(Metric::kObjectRows, count, {{"object", name}});
#ifdef ERIS_PLANTED_METRIC_BY_KEY
  for (const ObjectInfo& object : figures.engine.objects) {
    for (const uint64_t key : object.partition_starts) {
      to.Add(Metric::kObjectRows, 1, {{"object", shown(object.name)}, {"key", absl::StrCat(key)}});
    }
  }
#endif

  std::map<std::pair<std::string, uint32_t>, uint64_t> bytes;
  std::map<std::string, uint64_t> spilled;
  for (const ObjectMemory& memory : figures.memory.objects) {
    const std::string name = shown(memory.object);
    bytes[{name, memory.numa_node.value}] += memory.committed_bytes;
    spilled[name] += memory.spilled_bytes;
  }
  for (const auto& [place, count] : bytes) {
    to.Add(Metric::kObjectMemory, count,
           {{"object", place.first}, {"numa_node", Text(place.second)}});
  }
  for (const auto& [name, count] : spilled) {
    to.Add(Metric::kObjectSpilled, count, {{"object", name}});
  }
  for (const ObjectBalance& balance : figures.balancer.objects) {
    if (largest.count(balance.object) == 0) continue;
    to.Add(Metric::kObjectImbalance, balance.imbalance, {{"object", balance.object}});
  }
}

void AddMemory(const MemoryStats& memory, Families& to) {
  to.Add(Metric::kMemoryLimit, memory.limit_bytes);
  to.Add(Metric::kMemoryReserved, memory.reserved_bytes);
  to.Add(Metric::kMemoryHeap, memory.heap_bytes);
  for (const NumaNodeMemory& pool : memory.numa_nodes) {
    const auto add = [&](const char* use, uint64_t bytes) {
      to.Add(Metric::kNumaNodeMemory, bytes, {{"numa_node", Text(pool.id.value)}, {"use", use}});
    };
    // The two are read one after the other.
    add("objects", pool.in_use_bytes - std::min(pool.in_use_bytes, pool.buffers_bytes));
    add("buffers", pool.buffers_bytes);
    add("kept", pool.kept_bytes);
    add("ready", pool.ready_bytes);
  }
}

void AddBalancer(const BalancerStatus& balancer, Families& to) {
  to.Add(Metric::kBalancerEnabled, balancer.options.enabled ? 1 : 0);
  to.Add(Metric::kBalancerPaused, balancer.paused ? 1 : 0);
  to.Add(Metric::kBalancerCycles, balancer.cycles);
  for (const TransferKind kind : kTransferKinds) {
    to.Add(Metric::kBalancerTransfers, balancer.transfers[kind],
           {{"kind", std::string(TraitsOf(kind).name)}});
  }
  to.Add(Metric::kBalancerRunning, balancer.running.size());
  to.Add(Metric::kBalancerRows, balancer.rows_moved);
  to.Add(Metric::kBalancerBytes, balancer.bytes_copied);
  to.Add(Metric::kBalancerStalls, balancer.stalls);
}

}  // namespace

std::vector<MetricFamily> FamiliesOf(const Figures& figures, const ScrapeOptions& options) {
  Families families;
  AddServer(figures, families);
  AddCalls(figures, families);
  AddEngine(figures.engine, options.aeus, families);
  AddMemory(figures.memory, families);
  AddObjects(figures, families);
  AddBalancer(figures.balancer, families);
  return families.Take();
}

std::string ScrapeText(const Figures& figures, const ScrapeOptions& options) {
  return prometheus::TextSerializer().Serialize(FamiliesOf(figures, options));
}

}  // namespace eris::server
