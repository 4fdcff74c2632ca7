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

// One figure of a row, as the table and as the JSON shows it.
struct Field {
  const char* title;  // nullptr: not in the table
  const char* name;   // nullptr: not in the JSON
  std::string text;
  Json json;
  bool right = true;
};
Field Bytes(const char* title, const char* name, uint64_t bytes) {
  return {title, name, FormatBytes(bytes), std::to_string(bytes)};
}
Field Count(const char* title, const char* name, uint64_t count) {
  return {title, name, absl::StrCat(count), std::to_string(count)};
}
Field NumaNode(const char* name, NumaNodeId id) {
  return {"NUMANODE", name, absl::StrCat(id.value), id.value};
}
Field JsonOnly(const char* name, Json json) { return {nullptr, name, "", std::move(json)}; }

std::vector<Field> FieldsOf(const NumaNodeMemory& one) {
  return {NumaNode("id", one.id),
          JsonOnly("bound", one.bound),
          Bytes("RESERVED", "reserved_bytes", one.reserved_bytes),
          Bytes("IN USE", "in_use_bytes", one.in_use_bytes),
          Bytes("BUFFERS", "buffers_bytes", one.buffers_bytes),
          Bytes("KEPT", "kept_bytes", one.kept_bytes),
          Bytes("READY", "ready_bytes", one.ready_bytes),
          Bytes("RESERVED HUGE PAGES", "reserved_huge_bytes", one.reserved_huge_bytes),
          Bytes("ADDRESS SPACE", "mapped_bytes", one.mapped_bytes),
          {"BOUND", nullptr, one.bound ? "yes" : "no", {}, false}};
}

std::vector<Field> FieldsOf(const ObjectMemory& one) {
  Json classes = Json::Array();
  for (const SizeClassMemory& size_class : one.classes) {
    classes.push_back({{"block_bytes", std::to_string(size_class.block_bytes)},
                       {"used_blocks", std::to_string(size_class.used_blocks)},
                       {"cached_blocks", std::to_string(size_class.cached_blocks)}});
  }
  return {{"OBJECT", "name", one.object, one.object, false},
          JsonOnly("id", one.id.value),
          NumaNode("numa_node", one.numa_node),
          Bytes("COMMITTED", "committed_bytes", one.committed_bytes),
          Bytes("USED", "used_bytes", one.used_bytes),
          Bytes("CACHED", "cached_bytes", one.cached_bytes),
          Bytes("SPARE", "spare_bytes", one.spare_bytes),
          Bytes("HEADER", "header_bytes", one.header_bytes),
          Bytes("EXTENT", "extent_bytes", one.extent_bytes),
          Bytes("SPILLED", "spilled_bytes", one.spilled_bytes),
          JsonOnly("classes", std::move(classes))};
}

std::vector<Field> FieldsOf(const NumaNodePlacement& one) {
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
  const uint64_t found = one.pages_local + one.pages_elsewhere;
  const uint64_t huge = one.anonymous_huge_bytes + one.shared_huge_bytes + one.reserved_huge_bytes;
  return {NumaNode("id", one.id),
          JsonOnly("bound", one.bound),
          JsonOnly("os_numa_nodes", one.os_numa_nodes),
          Count("ASKED", "pages_asked", one.pages_asked),
          Count("LOCAL", "pages_local", one.pages_local),
          Count("ELSEWHERE", "pages_elsewhere", one.pages_elsewhere),
          Count("ABSENT", "pages_absent", one.pages_absent),
          {"PERCENT LOCAL", "percent_local", PercentText(one.pages_local, found),
           found == 0 ? Json(nullptr) : Json(Percent(one.pages_local, found))},
          JsonOnly("located", std::move(located)),
          Bytes("RESIDENT", "resident_bytes", one.resident_bytes),
          Bytes("HUGE", nullptr, huge),
          {"OF THAT", nullptr, PercentText(huge, one.resident_bytes), {}},
          JsonOnly("anonymous_huge_bytes", std::to_string(one.anonymous_huge_bytes)),
          JsonOnly("shared_huge_bytes", std::to_string(one.shared_huge_bytes)),
          JsonOnly("reserved_huge_bytes", std::to_string(one.reserved_huge_bytes))};
}

std::vector<Field> FieldsOf(const RowMemory& one) {
  return {{"OBJECT", "object", one.object, one.object, false},
          {"AEU", "aeu", absl::StrCat(one.aeu.value), one.aeu.value},
          NumaNode("numa_node", one.numa_node),
          Bytes("BYTES", "bytes", one.bytes),
          Bytes("REMOTE", "remote_bytes", one.remote_bytes),
          {"PERCENT REMOTE", nullptr, PercentText(one.remote_bytes, one.bytes), {}}};
}

template <class Row>
std::string TableOf(const std::vector<Row>& rows) {
  std::vector<TextTable::Column> columns;
  for (const Field& field : FieldsOf(Row())) {
    if (field.title != nullptr) columns.push_back({field.title, field.right});
  }
  TextTable table(std::move(columns));
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const Field& field : FieldsOf(row)) {
      if (field.title != nullptr) cells.push_back(field.text);
    }
    table.Add(std::move(cells));
  }
  return table.ToString();
}

template <class Row>
Json JsonOf(const std::vector<Row>& rows) {
  Json array = Json::Array();
  for (const Row& row : rows) {
    Json json = Json::Object();
    for (Field& field : FieldsOf(row)) {
      if (field.name != nullptr) json[field.name] = std::move(field.json);
    }
    array.push_back(std::move(json));
  }
  return array;
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
      TableOf(stats.numa_nodes), "\n", TableOf(stats.objects), "\n",
      classes ? ClassesText(stats) + "\n" : "", "limit ", FormatBytes(stats.limit_bytes),
      "; reserved ", FormatBytes(stats.reserved_bytes), ", of it for figures of objects ",
      FormatBytes(stats.heap_bytes), "; superblocks of ", FormatBytes(stats.superblock_bytes),
      "; pages: ", absl::StrJoin(stats.pages, ", then "), "\n", PlanText(stats.plan), "\n");
}

Json ToJson(const MemoryStats& stats) {
  return {{"limit_bytes", std::to_string(stats.limit_bytes)},
          {"reserved_bytes", std::to_string(stats.reserved_bytes)},
          {"heap_bytes", std::to_string(stats.heap_bytes)},
          {"superblock_bytes", std::to_string(stats.superblock_bytes)},
          {"pages", stats.pages},
          {"numa_nodes", JsonOf(stats.numa_nodes)},
          {"objects", JsonOf(stats.objects)},
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
  return absl::StrCat(TableOf(verification.numa_nodes), StrayText(verification), "\n",
                      verification.rows.empty() ? "" : TableOf(verification.rows) + "\n",
                      VerdictText(verification), "\n");
}

Json ToJson(const MemoryVerification& verification) {
  return {{"numa_nodes", JsonOf(verification.numa_nodes)}, {"rows", JsonOf(verification.rows)}};
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
