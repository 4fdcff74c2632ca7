#include "clients/cli/doctor/server_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/text/output.h"

namespace eris::cli {
namespace {

// The part of a limit from which on it is told.
constexpr uint64_t kNearlyPercent = 90;

bool Nearly(uint64_t used, uint64_t most) {
  return most > 0 && used >= most / 100 * kNearlyPercent;
}

Finding CheckPinning(const ServerFigures& figures) {
  Finding finding{.check = "server_placement"};
  std::map<int32_t, uint32_t> aeus_on;
  std::set<uint32_t> numa_nodes;
  size_t free = 0, shared = 0;
  for (const AeuStats& aeu : figures.stats.aeus) {
    numa_nodes.insert(aeu.numa_node.value);
    if (aeu.cpu < 0) {
      ++free;
    } else if (++aeus_on[aeu.cpu] > 1) {
      ++shared;
    }
  }
  finding.found = absl::StrCat(figures.stats.aeus.size(), " AEUs on ", numa_nodes.size(), " of ",
                               figures.stats.numa_nodes.size(), " NumaNodes");
  if (free > 0) {
    finding.verdict = Verdict::kWarn;
    absl::StrAppend(&finding.found, "; ", free, " are on no cpu of their own");
    finding.change =
        "engine.placement = \"dense\" (or \"sparse\"), and let the process set its cpus";
    finding.why =
        "a thread that the system moves leaves its memory behind. Memarzia et al. (Figure 10) "
        "begin with this: bind threads to cpus";
    finding.undo = "engine.placement = \"none\"";
  } else if (shared > 0) {
    finding.verdict = Verdict::kWarn;
    absl::StrAppend(&finding.found, "; ", shared, " share a cpu with another AEU");
    finding.change = "engine.aeu_count = 0: one for each core";
    finding.why = "AEUs on one cpu wait for each other in turns of the system's scheduler";
    finding.undo = absl::StrCat("engine.aeu_count = ", figures.stats.aeus.size());
  } else if (numa_nodes.size() < figures.stats.numa_nodes.size()) {
    finding.verdict = Verdict::kWarn;
    finding.change = "engine.placement = \"sparse\"";
    finding.why =
        "the other NumaNodes' memory bandwidth is not used. Memarzia et al. (Figure 10) place "
        "threads sparse where bandwidth is the limit";
    finding.undo = "engine.placement = \"dense\"";
  }
  return finding;
}

Finding CheckBinding(const ServerFigures& figures) {
  Finding finding{.check = "server_binding"};
  std::vector<std::string> unbound;
  for (const NumaNodeMemory& node : figures.memory.numa_nodes) {
    if (!node.bound) unbound.push_back(absl::StrCat(node.id.value));
  }
  if (unbound.empty()) {
    finding.found = "the kernel binds the memory of every NumaNode";
    return finding;
  }
  finding.found = absl::StrCat("memory is not bound to NumaNodes ", absl::StrJoin(unbound, ", "));
  if (figures.memory.numa_nodes.size() == 1) {
    absl::StrAppend(&finding.found, ": the only one, so it lies there all the same");
    return finding;
  }
  finding.verdict = Verdict::kBad;
  finding.change =
      "let the process call mbind: docker run --cap-add SYS_NICE; and leave engine.topology empty";
  finding.why = "pages lie wherever the kernel puts them, so AEUs work on remote memory";
  finding.undo = "docker run --cap-drop SYS_NICE";
  return finding;
}

Finding CheckSpill(const ServerFigures& figures) {
  Finding finding{.check = "server_spill"};
  uint64_t spilled = 0;
  std::set<std::string> objects;
  for (const ObjectMemory& object : figures.memory.objects) {
    spilled += object.spilled_bytes;
    if (object.spilled_bytes > 0) objects.insert(object.object);
  }
  if (spilled == 0) {
    finding.found = "no memory has been spilled to another NumaNode";
    return finding;
  }
  finding.verdict = Verdict::kWarn;
  finding.found = absl::StrCat(FormatBytes(spilled), " lie on another NumaNode than their AEU, of ",
                               absl::StrJoin(objects, ", "));
  finding.change = absl::StrCat("eris balancer rebalance ", *objects.begin(),
                                "; or fewer rows, or engine.memory_spill = false");
  finding.why = "every access to them crosses a link between NumaNodes";
  finding.undo = "nothing to undo: rows only change their owner";
  return finding;
}

Finding CheckBalance(const ServerFigures& figures) {
  Finding finding{.check = "server_balance"};
  const BalancerStatus& balancer = figures.balancer;
  const ObjectBalance* worst = nullptr;
  for (const ObjectBalance& object : balancer.objects) {
    if (worst == nullptr || object.imbalance > worst->imbalance) worst = &object;
  }
  const std::string imbalance =
      worst == nullptr ? "no load is known"
                       : absl::StrFormat("the most uneven object is %s, imbalance %.2f",
                                         worst->object, worst->imbalance);
  finding.found = imbalance;
  if (!balancer.options.enabled || balancer.paused) {
    finding.verdict = Verdict::kWarn;
    finding.found = absl::StrCat("the balancer is ",
                                 balancer.paused ? "paused; " : "switched off; ", imbalance);
    finding.change = balancer.paused ? "eris balancer resume" : "eris balancer set --enabled true";
    finding.why = "a range that becomes hot stays with one AEU, while others have nothing to do";
    finding.undo = balancer.paused ? "eris balancer pause" : "eris balancer set --enabled false";
  } else if (worst != nullptr && worst->imbalance >= balancer.options.threshold) {
    finding.verdict = Verdict::kWarn;
    absl::StrAppend(&finding.found, worst->reason.empty() ? "" : ": ", worst->reason);
    finding.change = absl::StrCat("eris balancer plan ", worst->object,
                                  "; eris balancer rebalance ", worst->object);
    finding.why = "the slowest AEU sets the time of every scan, and of the lookups of its keys";
    finding.undo = "nothing to undo: the balancer goes on from there";
  }
  return finding;
}

Finding CheckMemoryUse(const ServerFigures& figures) {
  Finding finding{.check = "server_memory"};
  finding.found = absl::StrCat(FormatBytes(figures.memory.reserved_bytes), " of ",
                               FormatBytes(figures.memory.limit_bytes));
  if (!Nearly(figures.memory.reserved_bytes, figures.memory.limit_bytes)) return finding;
  finding.verdict = Verdict::kWarn;
  finding.change = "drop what is not needed (eris memory), or raise engine.memory_limit_bytes";
  finding.why = "at the limit writes that need memory are refused with RESOURCE_EXHAUSTED";
  finding.undo = absl::StrCat("engine.memory_limit_bytes = ", figures.memory.limit_bytes);
  return finding;
}

Finding CheckRequests(const ServerFigures& figures) {
  Finding finding{.check = "server_requests"};
  const client::ServerInfo& server = figures.server;
  finding.found = absl::StrCat(FormatBytes(server.in_flight_bytes), " of ",
                               FormatBytes(server.in_flight_bytes_max), " in flight");
  if (!Nearly(server.in_flight_bytes, server.in_flight_bytes_max)) return finding;
  finding.verdict = Verdict::kWarn;
  finding.change = "smaller batches, fewer clients, or a larger server.in_flight_bytes_max";
  finding.why = "beyond it calls are refused with RESOURCE_EXHAUSTED";
  finding.undo = absl::StrCat("server.in_flight_bytes_max = ", server.in_flight_bytes_max);
  return finding;
}

Finding CheckRefusals(const ServerFigures& figures) {
  Finding finding{.check = "server_refusals"};
  uint64_t refused = figures.stats.sessions_routing.refused, home = 0;
  for (const AeuStats& aeu : figures.stats.aeus) {
    refused += aeu.routing.refused;
    home += aeu.homecomings_refused;
  }
  finding.found = absl::StrCat(refused, " keys found no room in a buffer; memory stayed behind ",
                               home, " times after a leap");
  if (refused + home == 0) return finding;
  finding.verdict = Verdict::kWarn;
  finding.change = refused > 0
                       ? "larger engine.incoming_buffer_bytes, or fewer keys at once; eris stats "
                         "shows which AEU"
                       : "free memory on that NumaNode (eris memory), then eris balancer rebalance";
  finding.why = refused > 0 ? "an AEU cannot keep up, and its senders wait and try again"
                            : "rows then stay on another NumaNode than their AEU";
  finding.undo = "set engine.incoming_buffer_bytes to its old value";
  return finding;
}

}  // namespace

std::vector<Finding> CheckServer(const ServerFigures& figures) {
  return {CheckPinning(figures), CheckBinding(figures),   CheckSpill(figures),
          CheckBalance(figures), CheckMemoryUse(figures), CheckRequests(figures),
          CheckRefusals(figures)};
}

}  // namespace eris::cli
