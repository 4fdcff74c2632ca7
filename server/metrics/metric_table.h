// The table of all metrics. What /metrics writes, `eris metrics --list` and docs/guide/metrics.md
// come from it. Any thread, no state.
#ifndef ERIS_SERVER_METRICS_METRIC_TABLE_H_
#define ERIS_SERVER_METRICS_METRIC_TABLE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace eris::server {

// In the order of the table.
enum class Metric : uint8_t {
  kInfo,
  kReady,
  kUptime,
  kCalls,
  kCallsInFlight,
  kCallSeconds,
  kCallStageSeconds,
  kStreamRequests,
  kReceivedBytes,
  kSentBytes,
  kRefusals,
  kSlowCalls,
  kInFlightBytes,
  kInFlightBytesMax,
  kAdmitted,
  kAdmittedMax,
  kConnections,
  kConnectionsMax,
  kConnectionsAccepted,
  kConnectionsClosed,
  kReloads,
  kLogLines,
  kAeus,
  kAeusBusy,
  kAeusTurns,
  kAeusParks,
  kCommands,
  kKeys,
  kRowsScanned,
  kRoutedKeys,
  kRoutingWakes,
  kRoutingWriterWaits,
  kNumaNodeKeysSent,
  kEngineRequests,
  kScansOpen,
  kScanChunks,
  kMemoryLimit,
  kMemoryReserved,
  kMemoryHeap,
  kNumaNodeMemory,
  kObjects,
  kObjectRows,
  kObjectMemory,
  kObjectSpilled,
  kBalancerEnabled,
  kBalancerPaused,
  kBalancerCycles,
  kBalancerTransfers,
  kBalancerRunning,
  kBalancerRows,
  kBalancerBytes,
  kBalancerStalls,
  kObjectImbalance,
  kAeuBusy,
  kAeuTurns,
  kAeuParks,
  kAeuCommands,
  kAeuKeys,
  kAeuRowsScanned,
  kAeuRows,
  kAeuMemory,
  kProcessCpu,
  kProcessResident,
  kProcessDescriptors,
  kProcessDescriptorsMax,
  kProcessThreads,
  kProcessStart,
};

struct MetricRow {
  Metric metric;
  absl::string_view name;
  absl::string_view type;    // counter, gauge or histogram
  absl::string_view unit;    // empty: a count
  absl::string_view labels;  // "method, code"; empty: none
  // How many series there are at most: one, or what it depends on. Never keys or what clients send.
  absl::string_view series;
  absl::string_view meaning;
};
absl::Span<const MetricRow> Metrics();

// Objects with series of their own: the largest by memory. The others are one, OTHER.
inline constexpr uint32_t kObjectsShown = 20;
inline constexpr absl::string_view kOtherObjects = "OTHER";

// The table as text, and as docs/guide/metrics.md has it.
std::string MetricsAsText();
std::string MetricsAsMarkdown();

}  // namespace eris::server

#endif  // ERIS_SERVER_METRICS_METRIC_TABLE_H_
