#include "clients/cli/text/memory_text.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"

namespace eris::cli {
namespace {

double Percent(uint64_t part, uint64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// Rounded down: 100 % is shown only if it is exact.
std::string PercentText(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return absl::StrFormat("%.2f %%", std::floor(Percent(part, whole) * 100) / 100);
}

uint64_t Located(const NumaNodePlacement& one) { return one.pages_local + one.pages_elsewhere; }

uint64_t HugeBytes(const NumaNodePlacement& one) {
  return one.anonymous_huge_bytes + one.shared_huge_bytes + one.reserved_huge_bytes;
}

std::string NumaNodesText(const MemoryStats& stats) {
  TextTable table({{"NUMANODE"},
                   {"RESERVED"},
                   {"IN USE"},
                   {"BUFFERS"},
                   {"KEPT"},
                   {"READY"},
                   {"RESERVED HUGE PAGES"},
                   {"ADDRESS SPACE"},
                   {"BOUND", false}});
  for (const NumaNodeMemory& one : stats.numa_nodes) {
    table.Add({absl::StrCat(one.id.value), FormatBytes(one.reserved_bytes),
               FormatBytes(one.in_use_bytes), FormatBytes(one.buffers_bytes),
               FormatBytes(one.kept_bytes), FormatBytes(one.ready_bytes),
               FormatBytes(one.reserved_huge_bytes), FormatBytes(one.mapped_bytes),
               one.bound ? "yes" : "no"});
  }
  return table.ToString();
}

std::string ObjectsText(const MemoryStats& stats) {
  TextTable table({{"OBJECT", false},
                   {"NUMANODE"},
                   {"COMMITTED"},
                   {"USED"},
                   {"CACHED"},
                   {"SPARE"},
                   {"HEADER"},
                   {"EXTENT"},
                   {"SPILLED"}});
  for (const ObjectMemory& one : stats.objects) {
    table.Add({one.object, absl::StrCat(one.numa_node.value), FormatBytes(one.committed_bytes),
               FormatBytes(one.used_bytes), FormatBytes(one.cached_bytes),
               FormatBytes(one.spare_bytes), FormatBytes(one.header_bytes),
               FormatBytes(one.extent_bytes), FormatBytes(one.spilled_bytes)});
  }
  return table.ToString();
}

std::string ClassesText(const MemoryStats& stats) {
  TextTable table({{"OBJECT", false}, {"NUMANODE"}, {"BLOCK BYTES"}, {"USED"}, {"CACHED"}});
  for (const ObjectMemory& object : stats.objects) {
    for (const SizeClassMemory& one : object.classes) {
      table.Add({object.object, absl::StrCat(object.numa_node.value), absl::StrCat(one.block_bytes),
                 absl::StrCat(one.used_blocks), absl::StrCat(one.cached_blocks)});
    }
  }
  return table.ToString();
}

// Where the pages are that are misplaced, or that may be anywhere.
std::string StrayText(const MemoryVerification& verification) {
  TextTable table(
      {{"NUMANODE"}, {"FOUND ON (SYSTEM'S NUMBER)"}, {"PAGES"}, {"FOR EXAMPLE", false}});
  bool any = false;
  for (const NumaNodePlacement& one : verification.numa_nodes) {
    for (const LocatedMemory& located : one.located) {
      if (located.local) continue;
      any = true;
      table.Add({absl::StrCat(one.id.value), absl::StrCat(located.os_numa_node),
                 absl::StrCat(located.pages),
                 absl::StrJoin(located.addresses, " ", [](std::string* out, uint64_t address) {
                   absl::StrAppendFormat(out, "0x%x", address);
                 })});
    }
  }
  return any ? absl::StrCat("\n", table.ToString()) : "";
}

std::string VerdictText(const MemoryVerification& verification) {
  uint64_t local = 0;
  uint64_t elsewhere = 0;
  std::vector<uint32_t> unbound;
  for (const NumaNodePlacement& one : verification.numa_nodes) {
    local += one.pages_local;
    elsewhere += one.pages_elsewhere;
    if (!one.bound) unbound.push_back(one.id.value);
  }
  std::vector<std::string> parts;
  if (elsewhere > 0) {
    parts.push_back(absl::StrCat(elsewhere, " of ", local + elsewhere,
                                 " pages found are not where they should be"));
  } else if (local > 0 || unbound.empty()) {
    parts.push_back(absl::StrCat(local, " pages found, all where they should be"));
  }
  if (!unbound.empty()) {
    parts.push_back(absl::StrCat("memory is not bound, and may be anywhere: of NumaNode ",
                                 absl::StrJoin(unbound, ", ")));
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace

std::string ToText(const MemoryStats& stats, bool classes) {
  return absl::StrCat(
      NumaNodesText(stats), "\n", ObjectsText(stats), "\n",
      classes ? ClassesText(stats) + "\n" : "", "limit ", FormatBytes(stats.limit_bytes),
      "; reserved ", FormatBytes(stats.reserved_bytes), ", of it for figures of objects ",
      FormatBytes(stats.heap_bytes), "; superblocks of ", FormatBytes(stats.superblock_bytes),
      "; pages: ", absl::StrJoin(stats.pages, ", then "), "\n", PlanText(stats.plan), "\n");
}

Json ToJson(const MemoryStats& stats) {
  Json numa_nodes = Json::Array();
  for (const NumaNodeMemory& one : stats.numa_nodes) {
    numa_nodes.push_back({{"id", one.id.value},
                          {"bound", one.bound},
                          {"reserved_bytes", std::to_string(one.reserved_bytes)},
                          {"in_use_bytes", std::to_string(one.in_use_bytes)},
                          {"buffers_bytes", std::to_string(one.buffers_bytes)},
                          {"kept_bytes", std::to_string(one.kept_bytes)},
                          {"ready_bytes", std::to_string(one.ready_bytes)},
                          {"reserved_huge_bytes", std::to_string(one.reserved_huge_bytes)},
                          {"mapped_bytes", std::to_string(one.mapped_bytes)}});
  }
  Json objects = Json::Array();
  for (const ObjectMemory& one : stats.objects) {
    Json classes = Json::Array();
    for (const SizeClassMemory& size_class : one.classes) {
      classes.push_back({{"block_bytes", std::to_string(size_class.block_bytes)},
                         {"used_blocks", std::to_string(size_class.used_blocks)},
                         {"cached_blocks", std::to_string(size_class.cached_blocks)}});
    }
    objects.push_back({{"name", one.object},
                       {"id", one.id.value},
                       {"numa_node", one.numa_node.value},
                       {"committed_bytes", std::to_string(one.committed_bytes)},
                       {"used_bytes", std::to_string(one.used_bytes)},
                       {"cached_bytes", std::to_string(one.cached_bytes)},
                       {"spare_bytes", std::to_string(one.spare_bytes)},
                       {"header_bytes", std::to_string(one.header_bytes)},
                       {"extent_bytes", std::to_string(one.extent_bytes)},
                       {"spilled_bytes", std::to_string(one.spilled_bytes)},
                       {"classes", std::move(classes)}});
  }
  return {{"limit_bytes", std::to_string(stats.limit_bytes)},
          {"reserved_bytes", std::to_string(stats.reserved_bytes)},
          {"heap_bytes", std::to_string(stats.heap_bytes)},
          {"superblock_bytes", std::to_string(stats.superblock_bytes)},
          {"pages", stats.pages},
          {"numa_nodes", std::move(numa_nodes)},
          {"objects", std::move(objects)},
          {"plan", Json{{"process_bytes", std::to_string(stats.plan.process_bytes)},
                        {"process_source", stats.plan.process_source},
                        {"data_bytes", std::to_string(stats.plan.data_bytes)},
                        {"query_bytes", std::to_string(stats.plan.query_bytes)},
                        {"scan_bytes", std::to_string(stats.plan.scan_bytes)},
                        {"port_bytes", std::to_string(stats.plan.port_bytes)},
                        {"caller_bytes", std::to_string(stats.plan.caller_bytes)},
                        {"receive_bytes", std::to_string(stats.plan.receive_bytes)},
                        {"reserve_bytes", std::to_string(stats.plan.reserve_bytes)}}}};
}

std::string ToText(const MemoryVerification& verification) {
  TextTable table({{"NUMANODE"},
                   {"ASKED"},
                   {"LOCAL"},
                   {"ELSEWHERE"},
                   {"ABSENT"},
                   {"PERCENT LOCAL"},
                   {"RESIDENT"},
                   {"HUGE"},
                   {"OF THAT"}});
  for (const NumaNodePlacement& one : verification.numa_nodes) {
    table.Add({absl::StrCat(one.id.value), absl::StrCat(one.pages_asked),
               absl::StrCat(one.pages_local), absl::StrCat(one.pages_elsewhere),
               absl::StrCat(one.pages_absent), PercentText(one.pages_local, Located(one)),
               FormatBytes(one.resident_bytes), FormatBytes(HugeBytes(one)),
               PercentText(HugeBytes(one), one.resident_bytes)});
  }
  return absl::StrCat(table.ToString(), StrayText(verification), "\n", VerdictText(verification),
                      "\n");
}

Json ToJson(const MemoryVerification& verification) {
  Json numa_nodes = Json::Array();
  for (const NumaNodePlacement& one : verification.numa_nodes) {
    Json located = Json::Array();
    for (const LocatedMemory& pages : one.located) {
      Json addresses = Json::Array();
      for (const uint64_t address : pages.addresses) {
        addresses.push_back(absl::StrFormat("0x%x", address));
      }
      located.push_back({{"os_numa_node", pages.os_numa_node},
                         {"pages", std::to_string(pages.pages)},
                         {"local", pages.local},
                         {"addresses", std::move(addresses)}});
    }
    numa_nodes.push_back(
        {{"id", one.id.value},
         {"bound", one.bound},
         {"os_numa_nodes", one.os_numa_nodes},
         {"pages_asked", std::to_string(one.pages_asked)},
         {"pages_local", std::to_string(one.pages_local)},
         {"pages_elsewhere", std::to_string(one.pages_elsewhere)},
         {"pages_absent", std::to_string(one.pages_absent)},
         {"percent_local",
          Located(one) == 0 ? Json(nullptr) : Json(Percent(one.pages_local, Located(one)))},
         {"located", std::move(located)},
         {"resident_bytes", std::to_string(one.resident_bytes)},
         {"anonymous_huge_bytes", std::to_string(one.anonymous_huge_bytes)},
         {"shared_huge_bytes", std::to_string(one.shared_huge_bytes)},
         {"reserved_huge_bytes", std::to_string(one.reserved_huge_bytes)}});
  }
  return {{"numa_nodes", std::move(numa_nodes)}};
}

int ExitCodeOf(const MemoryVerification& verification) {
  int code = kExitOk;
  for (const NumaNodePlacement& one : verification.numa_nodes) {
    if (one.pages_elsewhere > 0) return kExitMisplaced;
    if (!one.bound) code = kExitUnverified;
  }
  return code;
}

}  // namespace eris::cli
