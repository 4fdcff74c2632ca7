#include "clients/cli/doctor/machine_files.h"

#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace eris::cli {
namespace {

constexpr size_t kFileBytesMax = 64 << 10;
constexpr uint32_t kNumberMax = 1 << 20;

}  // namespace

std::optional<std::string> MachineFiles::Text(const std::string& path) const {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen((root_ + path).c_str(), "re"), &std::fclose);
  if (!file) return std::nullopt;
  std::string text(kFileBytesMax, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return std::nullopt;
  absl::StripTrailingAsciiWhitespace(&text);
  return text;
}

std::optional<uint64_t> MachineFiles::Number(const std::string& path) const {
  const std::optional<std::string> text = Text(path);
  uint64_t number = 0;
  if (!text || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

std::optional<std::string> MachineFiles::Chosen(const std::string& path) const {
  const std::optional<std::string> text = Text(path);
  if (!text) return std::nullopt;
  const size_t begin = text->find('[');
  const size_t end = text->find(']');
  if (begin == text->npos || end == text->npos || end < begin) return std::nullopt;
  return text->substr(begin + 1, end - begin - 1);
}

std::optional<std::vector<uint32_t>> MachineFiles::List(const std::string& path) const {
  const std::optional<std::string> text = Text(path);
  if (!text) return std::nullopt;
  return ParseList(*text);
}

std::vector<uint32_t> MachineFiles::Numbered(const std::string& directory,
                                             absl::string_view prefix) const {
  std::vector<uint32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir((root_ + directory).c_str()), &closedir);
  while (const dirent* entry = open ? readdir(open.get()) : nullptr) {
    absl::string_view name = entry->d_name;
    uint32_t number = 0;
    if (absl::ConsumePrefix(&name, prefix) && absl::SimpleAtoi(name, &number)) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::optional<std::string> MachineFiles::Field(const std::string& path,
                                               absl::string_view name) const {
  const std::optional<std::string> text = Text(path);
  if (!text) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::ConsumePrefix(&line, name)) return std::string(absl::StripAsciiWhitespace(line));
  }
  return std::nullopt;
}

std::optional<uint64_t> MachineFiles::FieldBytes(const std::string& path,
                                                 absl::string_view name) const {
  const std::optional<std::string> field = Field(path, name);
  if (!field) return std::nullopt;
  absl::string_view text = *field;
  uint64_t kilobytes = 0;
  absl::ConsumeSuffix(&text, " kB");
  if (!absl::SimpleAtoi(text, &kilobytes)) return std::nullopt;
  return kilobytes * 1024;
}

std::optional<std::vector<uint32_t>> ParseList(absl::string_view text) {
  std::vector<uint32_t> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    uint32_t first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last) ||
        last > kNumberMax || first > last) {
      return std::nullopt;
    }
    for (uint32_t number = first; number <= last; ++number) numbers.push_back(number);
  }
  return numbers;
}

std::string ListText(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    absl::StrAppend(&text, text.empty() ? "" : ",", numbers[i]);
    if (end - i > 1) absl::StrAppend(&text, "-", numbers[end - 1]);
    i = end;
  }
  return text;
}

Machine ReadMachine(const MachineFiles& files) {
  constexpr char kNodes[] = "/sys/devices/system/node";
  Machine machine;
  machine.memory_bytes = files.FieldBytes("/proc/meminfo", "MemTotal:").value_or(0);
  for (const uint32_t id : files.Numbered(kNodes, "node")) {
    const std::string directory = absl::StrCat(kNodes, "/node", id);
    const std::string memory = directory + "/meminfo";
    NumaNodeFacts facts{.id = id};
    // Lines are "Node 0 MemTotal:  1234 kB".
    facts.memory_bytes = files.FieldBytes(memory, absl::StrCat("Node ", id, " MemTotal:"));
    facts.free_bytes = files.FieldBytes(memory, absl::StrCat("Node ", id, " MemFree:"));
    const auto cached = files.FieldBytes(memory, absl::StrCat("Node ", id, " Inactive(file):"));
    if (facts.free_bytes) *facts.free_bytes += cached.value_or(0);
    facts.cpus = files.List(directory + "/cpulist").value_or(std::vector<uint32_t>());
    const std::string distances = files.Text(directory + "/distance").value_or("");
    for (const absl::string_view word : absl::StrSplit(distances, ' ', absl::SkipWhitespace())) {
      uint32_t distance = 0;
      if (absl::SimpleAtoi(word, &distance)) facts.distances.push_back(distance);
    }
    machine.numa_nodes.push_back(std::move(facts));
  }
  return machine;
}

}  // namespace eris::cli
