#include "server/metrics/process_figures.h"

#include <dirent.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace eris::server {
namespace {

// The first 4 KiB of a file; empty if it cannot be read.
std::string Head(const char* path) {
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return {};
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

uint64_t CountDescriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  uint64_t count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count - 1;  // the folder's own
}

double SecondsOf(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

ProcessFigures ReadProcess() {
  ProcessFigures figures;
  // The fields after the program's name, which may contain anything: proc(5) calls the first one 3.
  const std::string stat = Head("/proc/self/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end != std::string::npos) {
    const std::vector<std::string> fields =
        absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
    const auto field = [&fields](size_t number) {
      uint64_t value = 0;
      if (number - 3 < fields.size())
        static_cast<void>(absl::SimpleAtoi(fields[number - 3], &value));
      return value;
    };
    const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    figures.cpu_s = static_cast<double>(field(14) + field(15)) / ticks;
    figures.threads = field(20);
    figures.resident_bytes = field(24) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    // The system's start, since 1970. Read once: the process's start must not move with the clock.
    static const double boot_s = SecondsOf(CLOCK_REALTIME) - SecondsOf(CLOCK_BOOTTIME);
    figures.started_s = boot_s + static_cast<double>(field(22)) / ticks;
  }
  figures.descriptors = CountDescriptors();
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.descriptors_max = limit.rlim_cur;
  return figures;
}

}  // namespace eris::server
