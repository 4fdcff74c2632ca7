// An array of a program that knows nothing of ERIS goes to another NumaNode while threads write it:
// addresses stay, no write is lost. Prints where its pages are before and after. Needs no engine.
//
//   leap [NumaNode]     the operating system's number; default 0
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eris/leap.h"

namespace {

constexpr size_t kBytes = size_t{64} << 20;
constexpr size_t kCounters = kBytes / sizeof(uint64_t);

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

// "16384 on NumaNode 0"
std::string Where(const eris::leap::Result& result) {
  std::map<int32_t, size_t> pages;
  for (const int32_t node : result.os_numa_nodes) ++pages[node];
  std::string text;
  for (const auto& [node, count] : pages) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", count, " on NumaNode ", node);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const auto numa_node = static_cast<uint32_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  // The program's own array, as malloc would give it out for such a size.
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Die("no memory");
  auto* const counters = static_cast<uint64_t*>(memory);

  std::atomic<bool> end{false};
  std::vector<uint64_t> mine(kCounters);  // how often the thread has incremented each
  std::thread writer([&] {
    for (uint64_t i = 0; !end.load(std::memory_order_relaxed); i = (i + 7919) % kCounters) {
      counters[i] = counters[i] + 1;
      ++mine[i];
    }
  });

  // Memory of the other NumaNode, with all its pages; then the migration.
  const auto pool = eris::leap::Pool::Create({.os_numa_node = numa_node, .bytes = kBytes});
  if (!pool.ok()) Die(pool.status().ToString());
  const auto done = eris::leap::Migrate({memory, kBytes}, **pool, {.area_bytes = 2 << 20});
  if (!done.ok()) Die(done.status().ToString());
  if (!done->ended.ok()) Die(done->ended.ToString());

  end = true;
  writer.join();
  uint64_t writes = 0, lost = 0;
  for (size_t i = 0; i < kCounters; ++i) {
    writes += mine[i];
    lost += mine[i] - counters[i];
  }
  std::printf("%lu bytes moved in %lu areas, by %s (%s); pages: %s\n", done->progress.home_bytes,
              done->areas, eris::leap::MethodName(done->method), done->how.c_str(),
              Where(*done).c_str());
  std::printf("%lu writes meanwhile, %lu lost; none waited longer than %s\n", writes, lost,
              absl::FormatDuration(done->longest_hold).c_str());
  munmap(memory, kBytes);
  return lost == 0 ? 0 : 1;
}
