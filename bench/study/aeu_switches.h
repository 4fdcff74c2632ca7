// How often the AEUs' threads of this process have gone to sleep, as the kernel counts it.
#ifndef ERIS_BENCH_STUDY_AEU_SWITCHES_H_
#define ERIS_BENCH_STUDY_AEU_SWITCHES_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/routing/machine.h"

namespace eris::bench::study {

// Voluntary context switches of all of them. Each that sleeps has to be woken.
inline uint64_t AeuSwitches() {
  constexpr char kField[] = "voluntary_ctxt_switches:";
  uint64_t switches = 0, threads = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(thread.path() / "comm");
    std::string name;
    if (!std::getline(comm, name) || name.rfind("eris-aeu-", 0) != 0) continue;
    ++threads;
    std::ifstream status(thread.path() / "status");
    for (std::string word; status >> word;) {
      uint64_t count = 0;
      if (word == kField && status >> count) switches += count;
    }
  }
  if (threads == 0) Die("no thread is called eris-aeu-");
  return switches;
}

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_AEU_SWITCHES_H_
