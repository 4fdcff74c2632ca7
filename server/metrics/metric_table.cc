#include "server/metrics/metric_table.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace eris::server {
namespace {

using M = Metric;

constexpr absl::string_view kMethods = "methods called";
constexpr absl::string_view kObjectsText = "at most 21";
constexpr absl::string_view kPerAeu = "AEUs; only with ?aeus=1";

constexpr MetricRow kRows[] = {
    {M::kInfo, "eris_info", "gauge", "", "version", "1", "Always 1."},
    {M::kReady, "eris_ready", "gauge", "", "", "1",
     "1 while the server takes calls, 0 from the beginning of its drain."},
    {M::kUptime, "eris_uptime_seconds", "gauge", "seconds", "", "1",
     "Time since the server's start."},
    {M::kCalls, "eris_calls_total", "counter", "", "method, code", "methods × codes seen",
     "Calls that have ended, by gRPC's code. A stream is one call."},
    {M::kCallsInFlight, "eris_calls_in_flight", "gauge", "", "method", kMethods,
     "Calls that have begun and not ended."},
    {M::kCallSeconds, "eris_call_seconds", "histogram", "seconds", "method", "methods called × 21",
     "Time of a call until gRPC has sent its last answer. For LookupStream and WriteStream: of "
     "each request until its answer is made."},
    {M::kCallStageSeconds, "eris_call_stage_seconds_total", "counter", "seconds", "method, stage",
     "methods called × 3",
     "The same time in three parts. arrival: until the request is read and parsed; execute: until "
     "the first answer, waiting for AEUs and their work; reply: until all is sent. Not for "
     "LookupStream and WriteStream."},
    {M::kStreamRequests, "eris_stream_requests_total", "counter", "", "method, code",
     "2 × codes seen", "Requests of LookupStream and WriteStream that have been answered."},
    {M::kReceivedBytes, "eris_call_received_bytes_total", "counter", "bytes", "method", kMethods,
     "Messages that clients have sent, without headers."},
    {M::kSentBytes, "eris_call_sent_bytes_total", "counter", "bytes", "method", kMethods,
     "The same for answers."},
    {M::kRefusals, "eris_refusals_total", "counter", "", "cause", "at most 81",
     "Errors that clients were told, also for single requests of streams and for rows, by reason; "
     "ANSWER_UNREAD: calls that were cut."},
    {M::kSlowCalls, "eris_slow_calls_total", "counter", "", "", "1",
     "Calls and requests of streams that took at least server.slow_call_ms, while that is not 0."},
    {M::kInFlightBytes, "eris_in_flight_bytes", "gauge", "bytes", "", "1",
     "What calls under way hold of server.in_flight_bytes_max."},
    {M::kInFlightBytesMax, "eris_in_flight_bytes_max", "gauge", "bytes", "", "1",
     "The limit in force."},
    {M::kAdmitted, "eris_admitted_calls", "gauge", "", "kind", "2",
     "Lookups and writes that were admitted and have not ended; not shown if server.queue_ms_max "
     "is 0."},
    {M::kAdmittedMax, "eris_admitted_calls_max", "gauge", "", "kind", "2",
     "How many may be admitted: those that end within server.queue_ms_max at the present rate. "
     "Further ones are refused."},
    {M::kConnections, "eris_connections", "gauge", "", "", "1", "Open connections of clients."},
    {M::kConnectionsMax, "eris_connections_max", "gauge", "", "", "1", "The limit in force."},
    {M::kConnectionsAccepted, "eris_connections_accepted_total", "counter", "", "", "1",
     "Connections handed to gRPC."},
    {M::kConnectionsClosed, "eris_connections_closed_total", "counter", "", "cause",
     "causes of the server", "Connections that the server refused or cut."},
    {M::kReloads, "eris_credential_reloads_total", "counter", "", "files, outcome", "4",
     "How often changed files with tokens or certificates (tls) were taken, or refused: then the "
     "ones before stay in force."},
    {M::kLogLines, "eris_log_lines_total", "counter", "", "level", "3",
     "Lines written to the log."},
    {M::kAeus, "eris_aeus", "gauge", "", "", "1", "AEUs."},
    {M::kAeusBusy, "eris_aeus_busy_seconds_total", "counter", "seconds", "", "1",
     "Time that AEUs spent in turns that found work, all together."},
    {M::kAeusTurns, "eris_aeus_turns_total", "counter", "", "", "1",
     "Turns of AEUs that found work."},
    {M::kAeusParks, "eris_aeus_parks_total", "counter", "", "", "1",
     "How often AEUs went to sleep."},
    {M::kCommands, "eris_commands_total", "counter", "", "", "1",
     "Data commands that AEUs executed."},
    {M::kKeys, "eris_keys_total", "counter", "", "", "1", "Keys looked up, upserted or erased."},
    {M::kRowsScanned, "eris_rows_scanned_total", "counter", "", "", "1",
     "Rows read by scans and queries, whether a filter kept them or not."},
    {M::kRoutedKeys, "eris_routed_keys_total", "counter", "", "event", "6",
     "Keys, by what routing did with them: sent, delivered, answered, forwarded, redirected (part "
     "of answered), refused."},
    {M::kRoutingWakes, "eris_routing_wakes_total", "counter", "", "", "1",
     "System calls that woke an AEU."},
    {M::kRoutingWriterWaits, "eris_routing_writer_waits_total", "counter", "", "", "1",
     "Turns that found another thread in the middle of a copy into the buffer. They grow if AEUs "
     "lose their cores."},
    {M::kNumaNodeKeysSent, "eris_numa_node_keys_sent_total", "counter", "", "numa_node, to",
     "NumaNodes × 2",
     "Keys that AEUs and clients of a NumaNode sent to its own AEUs (own) and to those of others "
     "(other)."},
    {M::kEngineRequests, "eris_engine_requests_in_flight", "gauge", "", "", "1",
     "Requests that AEUs have not completed. Divided by the rate of requests: their mean time in "
     "the engine."},
    {M::kScansOpen, "eris_scans_open", "gauge", "", "", "1", "Open scans."},
    {M::kScanChunks, "eris_scan_chunks_in_use", "gauge", "", "", "1",
     "Chunks of scans' answers in use."},
    {M::kMemoryLimit, "eris_memory_limit_bytes", "gauge", "bytes", "", "1",
     "The limit of memory for data."},
    {M::kMemoryReserved, "eris_memory_reserved_bytes", "gauge", "bytes", "", "1",
     "The part of it that is taken from the system."},
    {M::kMemoryHeap, "eris_memory_heap_bytes", "gauge", "bytes", "", "1",
     "The part of it that objects need apart from their rows."},
    {M::kNumaNodeMemory, "eris_numa_node_memory_bytes", "gauge", "bytes", "numa_node, use",
     "NumaNodes × 4",
     "Memory of a NumaNode's pool. objects, buffers; kept: returned by objects, kept for a while; "
     "ready: made ready ahead."},
    {M::kObjects, "eris_objects", "gauge", "", "", "1", "Objects."},
    {M::kObjectRows, "eris_object_rows", "gauge", "", "object", kObjectsText,
     "Rows of the 20 objects with the most memory; OTHER: of all others."},
    {M::kObjectMemory, "eris_object_memory_bytes", "gauge", "bytes", "object, numa_node",
     "at most 21 × NumaNodes", "Memory of those objects on each NumaNode."},
    {M::kObjectSpilled, "eris_object_spilled_bytes", "gauge", "bytes", "object", kObjectsText,
     "Part of it that lies on another NumaNode than it should."},
    {M::kBalancerEnabled, "eris_balancer_enabled", "gauge", "", "", "1",
     "1 if the balancer is enabled."},
    {M::kBalancerPaused, "eris_balancer_paused", "gauge", "", "", "1", "1 while it is paused."},
    {M::kBalancerCycles, "eris_balancer_cycles_total", "counter", "", "", "1",
     "Periods that it has looked at."},
    {M::kBalancerTransfers, "eris_balancer_transfers_total", "counter", "", "kind", "3",
     "Transfers of ranges between AEUs that are done: link, copy, leap."},
    {M::kBalancerRunning, "eris_balancer_transfers_running", "gauge", "", "", "1",
     "Transfers under way."},
    {M::kBalancerRows, "eris_balancer_rows_moved_total", "counter", "", "", "1",
     "Rows that changed their AEU."},
    {M::kBalancerBytes, "eris_balancer_bytes_copied_total", "counter", "bytes", "", "1",
     "Bytes that were copied for that."},
    {M::kBalancerStalls, "eris_balancer_stalls_total", "counter", "", "", "1",
     "How often a transfer made no progress for a second."},
    {M::kObjectImbalance, "eris_object_imbalance", "gauge", "", "object", "at most 20",
     "Deviation of the AEUs' loads of an object, in units of their mean. The same objects."},
    {M::kAeuBusy, "eris_aeu_busy_seconds_total", "counter", "seconds", "aeu, numa_node", kPerAeu,
     "Time that one AEU spent in turns that found work. The next seven are of one AEU, too."},
    {M::kAeuTurns, "eris_aeu_turns_total", "counter", "", "aeu, numa_node", kPerAeu,
     "Turns that found work."},
    {M::kAeuParks, "eris_aeu_parks_total", "counter", "", "aeu, numa_node", kPerAeu,
     "How often it went to sleep."},
    {M::kAeuCommands, "eris_aeu_commands_total", "counter", "", "aeu, numa_node", kPerAeu,
     "Data commands executed."},
    {M::kAeuKeys, "eris_aeu_keys_total", "counter", "", "aeu, numa_node", kPerAeu,
     "Keys looked up, upserted or erased."},
    {M::kAeuRowsScanned, "eris_aeu_rows_scanned_total", "counter", "", "aeu, numa_node", kPerAeu,
     "Rows read by scans and queries."},
    {M::kAeuRows, "eris_aeu_rows", "gauge", "", "aeu, numa_node", kPerAeu, "Rows held now."},
    {M::kAeuMemory, "eris_aeu_memory_bytes", "gauge", "bytes", "aeu, numa_node", kPerAeu,
     "Memory allocated by it now."},
    {M::kProcessCpu, "process_cpu_seconds_total", "counter", "seconds", "", "1",
     "Processor time of the process."},
    {M::kProcessResident, "process_resident_memory_bytes", "gauge", "bytes", "", "1",
     "Resident memory of the process."},
    {M::kProcessDescriptors, "process_open_fds", "gauge", "", "", "1", "Open descriptors."},
    {M::kProcessDescriptorsMax, "process_max_fds", "gauge", "", "", "1", "Their limit."},
    {M::kProcessThreads, "process_threads", "gauge", "", "", "1", "Threads."},
    {M::kProcessStart, "process_start_time_seconds", "gauge", "seconds", "", "1",
     "Start of the process, since 1970."},
};

constexpr bool InOrder() {
  size_t at = 0;
  for (const MetricRow& row : kRows) {
    if (static_cast<size_t>(row.metric) != at++) return false;
  }
  return true;
}
static_assert(InOrder());

}  // namespace

absl::Span<const MetricRow> Metrics() { return kRows; }

std::string MetricsAsText() {
  std::string text;
  for (const MetricRow& row : kRows) {
    absl::StrAppend(&text, row.name, "\n    ", row.type);
    if (!row.unit.empty()) absl::StrAppend(&text, ", ", row.unit);
    if (!row.labels.empty()) absl::StrAppend(&text, "; labels ", row.labels);
    absl::StrAppend(&text, "; series: ", row.series, "\n    ", row.meaning, "\n");
  }
  return text;
}

std::string MetricsAsMarkdown() {
  std::string text =
      "| name | type | unit | labels | series | meaning |\n|---|---|---|---|---|---|\n";
  for (const MetricRow& row : kRows) {
    absl::StrAppend(&text, "| `", row.name, "` | ", row.type, " | ", row.unit, " | ", row.labels,
                    " | ", row.series, " | ", row.meaning, " |\n");
  }
  return text;
}

}  // namespace eris::server
