#include "leap/range_check.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace eris::leap {
namespace {

constexpr size_t kPageBytes = 4096;

struct MapEntry {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  std::string rights;
  bool has_inode = false;
  std::string name;
  size_t page_bytes = kPageBytes;
  uint64_t shared_kib = 0;  // of pages that are mapped elsewhere, too
  bool has_key = false;     // a protection key
  std::string flags{};      // VmFlags
};

std::optional<uint64_t> Hex(absl::string_view word) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, 16);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// The head of an entry, such as
//   7f590b568000-7f590b569000 rw-p 0005b000 00:02 20      /lib/libhwloc.so.15
std::optional<MapEntry> ParseHead(absl::string_view line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::MaxSplits(' ', 5), absl::AllowEmpty());
  if (words.size() < 5) return std::nullopt;
  const std::pair<absl::string_view, absl::string_view> bounds =
      absl::StrSplit(words[0], absl::MaxSplits('-', 1));
  const std::optional<uint64_t> begin = Hex(bounds.first), end = Hex(bounds.second);
  if (!begin || !end || words[1].size() != 4) return std::nullopt;
  return MapEntry{
      .begin = *begin,
      .end = *end,
      .rights = std::string(words[1]),
      .has_inode = words[4] != "0",
      .name = words.size() > 5 ? std::string(absl::StripAsciiWhitespace(words[5])) : std::string()};
}

// The number of a line such as "Shared_Dirty:  12 kB"; 0 if there is none.
uint64_t Number(absl::string_view rest) {
  uint64_t number = 0;
  absl::ConsumeSuffix(&rest, "kB");
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(rest), &number) ? number : 0;
}

std::vector<MapEntry> ParseMaps(absl::string_view smaps) {
  std::vector<MapEntry> entries;
  for (const absl::string_view line : absl::StrSplit(smaps, '\n')) {
    if (std::optional<MapEntry> head = ParseHead(line)) {
      entries.push_back(*std::move(head));
      continue;
    }
    if (entries.empty()) continue;
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "KernelPageSize:")) {
      entries.back().page_bytes = Number(rest) * 1024;
    } else if (absl::ConsumePrefix(&rest, "Shared_Clean:") ||
               absl::ConsumePrefix(&rest, "Shared_Dirty:")) {
      entries.back().shared_kib += Number(rest);
    } else if (absl::ConsumePrefix(&rest, "ProtectionKey:")) {
      entries.back().has_key = Number(rest) != 0;
    } else if (absl::ConsumePrefix(&rest, "VmFlags:")) {
      entries.back().flags = std::string(rest);
    }
  }
  return entries;
}

bool IsMemoryFile(const MapEntry& entry) {
  return entry.has_inode &&
         (absl::StartsWith(entry.name, "/memfd:") || absl::StartsWith(entry.name, "/dev/shm/") ||
          absl::StartsWith(entry.name, "/anon_hugepage"));
}

// Properties of a mapping that would be lost with it, or that do not go with a remap, by their
// names in VmFlags.
struct Flag {
  absl::string_view name;
  absl::string_view why;
};
constexpr Flag kRefused[] = {
    {"lo", "is locked (mlock): munlock it first"},
    {"dc", "is not passed to children (MADV_DONTFORK), which would be lost"},
    {"wf", "is wiped in children (MADV_WIPEONFORK), which would be lost"},
    {"dd", "is left out of core dumps (MADV_DONTDUMP), which would be lost"},
    {"mg", "is merged with equal pages (MADV_MERGEABLE)"},
    {"um", "is watched by another userfaultfd"},
    {"uw", "is watched by another userfaultfd, or being migrated"},
    {"ui", "is watched by another userfaultfd"},
    {"gd", "grows downwards, as stacks do"},
    {"gu", "has guard regions"},
    {"ss", "is a shadow stack"},
    {"sl", "is sealed (mseal)"},
};

absl::Status Refuse(uintptr_t begin, uintptr_t end, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the memory at ", absl::Hex(begin), " to ", absl::Hex(end), " ", why));
}

// Whether that part of the range, which lies in the entry, can be migrated.
absl::Status CheckEntry(const MapEntry& entry, uintptr_t begin, uintptr_t end) {
  if (!absl::StartsWith(entry.rights, "rw")) return Refuse(begin, end, "is not writable");
  if (entry.rights[2] == 'x') return Refuse(begin, end, "is executable");
  if (entry.has_key) return Refuse(begin, end, "has a protection key, which would be lost");
  for (const absl::string_view flag : absl::StrSplit(entry.flags, ' ')) {
    for (const Flag& refused : kRefused) {
      if (flag == refused.name) return Refuse(begin, end, refused.why);
    }
  }
  if (absl::StartsWith(entry.name, "[stack")) return Refuse(begin, end, "is a stack");
  if (entry.has_inode && !IsMemoryFile(entry)) {
    return Refuse(begin, end,
                  absl::StrCat("belongs to the file ", entry.name,
                               ": only private anonymous memory and memory files migrate"));
  }
  if (entry.rights[3] == 's' && !IsMemoryFile(entry)) {
    return Refuse(begin, end, "is shared with other processes");
  }
  if (entry.has_inode && entry.shared_kib > 0) {
    return Refuse(begin, end,
                  "is mapped elsewhere, too, by this process or another: who has the other "
                  "mapping would no longer see what is written here");
  }
  if (entry.rights[3] == 'p' && entry.has_inode) {
    return Refuse(begin, end, "is a private copy of a memory file");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RangeKind> CheckRange(const Range& range, absl::string_view smaps) {
  const auto begin = reinterpret_cast<uintptr_t>(range.begin);
  if (range.bytes == 0 || begin + range.bytes < begin) {
    return absl::InvalidArgumentError(
        absl::StrCat("a range of ", range.bytes, " bytes at ", absl::Hex(begin), " is none"));
  }
  const uintptr_t end = begin + range.bytes;
  std::optional<RangeKind> kind;
  uintptr_t at = begin;
  for (const MapEntry& entry : ParseMaps(smaps)) {
    if (entry.end <= at) continue;
    if (entry.begin > at || at >= end) break;
    const uintptr_t until = std::min(entry.end, end);
    if (absl::Status status = CheckEntry(entry, at, until); !status.ok()) return status;
    const RangeKind own{.file = entry.has_inode, .page_bytes = entry.page_bytes};
    if (kind && (kind->file != own.file || kind->page_bytes != own.page_bytes)) {
      return Refuse(at, until,
                    "is of another kind than what is in front of it: migrate each alone");
    }
    kind = own;
    at = until;
  }
  if (at < end) return Refuse(at, end, "is not mapped");
  if (begin % kind->page_bytes != 0 || range.bytes % kind->page_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat("a range of ", range.bytes, " bytes at ",
                                                   absl::Hex(begin), " is not whole pages of ",
                                                   kind->page_bytes, " bytes"));
  }
  return *kind;
}

absl::StatusOr<RangeKind> CheckRange(const Range& range) {
  std::ifstream file("/proc/self/smaps");
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) return absl::UnavailableError("cannot read /proc/self/smaps");
  return CheckRange(range, text.str());
}

MapEntries CountMapEntries() {
  MapEntries entries;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++entries.now;
  std::ifstream("/proc/sys/vm/max_map_count") >> entries.most;
  return entries;
}

}  // namespace eris::leap
