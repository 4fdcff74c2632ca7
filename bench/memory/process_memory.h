// This process's memory according to the kernel, read without the process's allocator.
// One thread at a time.
#ifndef ERIS_BENCH_MEMORY_PROCESS_MEMORY_H_
#define ERIS_BENCH_MEMORY_PROCESS_MEMORY_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/routing/machine.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

namespace eris::bench {

struct ProcessMemory {
  int64_t resident = 0;   // all of it, in bytes
  int64_t anonymous = 0;  // without files
  int64_t huge = 0;       // part of that on huge pages
  // Part of that the process has given up (MADV_FREE), and the kernel has not needed since.
  int64_t lazily_freed = 0;

  static ProcessMemory Now() {
    const char* const text = TextOf("/proc/self/smaps_rollup");
    return {Field(text, "\nRss:"), Field(text, "\nAnonymous:"), Field(text, "\nAnonHugePages:"),
            Field(text, "\nLazyFree:")};
  }
  static int64_t PeakResident() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<int64_t>(usage.ru_maxrss) * 1024;
  }
  // The most since the last call.
  static int64_t TakePeakResident() {
    const int64_t peak = Field(TextOf("/proc/self/status"), "\nVmHWM:");
    const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "5", 1) != 1) Die("cannot write /proc/self/clear_refs");
    close(file);
    return peak;
  }

 private:
  // Valid until the next call.
  static const char* TextOf(const char* path) {
    static char text[4096];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (length <= 0) Die(std::string("cannot read ") + path);
    close(file);
    text[length] = '\0';
    return text;
  }
  static int64_t Field(const char* text, const char* name) {
    const char* found = std::strstr(text, name);
    if (found == nullptr) Die(std::string("/proc/self has no ") + (name + 1));
    return std::atoll(found + std::strlen(name)) * 1024;
  }
};

// Moves the process's current memory onto huge pages, whatever its allocator requested. Returns the
// bytes that are on huge pages then.
inline uint64_t CollapseAll() {
  constexpr uintptr_t kHugePageBytes = uintptr_t{2} << 20;
  static char text[1 << 20];
  size_t length = 0;
  const int file = open("/proc/self/maps", O_RDONLY);
  if (file < 0) Die("cannot read /proc/self/maps");
  for (ssize_t got; (got = read(file, text + length, sizeof text - 1 - length)) > 0;) {
    length += static_cast<size_t>(got);
  }
  close(file);
  text[length] = '\0';
  uint64_t collapsed = 0;
  for (const char* line = text; line != nullptr && *line != '\0';) {
    unsigned long begin = 0, end = 0, inode = 0;
    char access[8] = {};
    const bool read =
        std::sscanf(line, "%lx-%lx %7s %*s %*s %lu", &begin, &end, access, &inode) == 4;
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
    if (!read || inode != 0 || std::strncmp(access, "rw", 2) != 0) continue;
    const uintptr_t first = (begin + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
    const uintptr_t last = end & ~(kHugePageBytes - 1);
    if (first >= last) continue;
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
    // One by one, because a range stops at its first refusal.
    for (uintptr_t at = first; at < last; at += kHugePageBytes) {
      void* memory = reinterpret_cast<void*>(at);
      if (madvise(memory, kHugePageBytes, MADV_COLLAPSE) == 0) collapsed += kHugePageBytes;
    }
  }
  return collapsed;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_PROCESS_MEMORY_H_
