// Switches the kernel's NUMA balancing on or off in the emulated machine, for the programs that run
// after this one in the same boot. It must be root, and PID 1's child in a machine of its own: not
// for a machine that others use.
//
//   autonuma_setup on|off [--delay-ms 1] [--period-ms 10]
//
//   --delay-ms   from a program's start to the first scan of its pages. The kernel's own delay and
//   --period-ms  period, a second each, are longer than what runs in the emulated machine
//
// Paper: III-D2, numa_balancing. Prints the periods as the kernel has them then, as JSON.
#include <sys/mount.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "bench/routing/flags.h"
#include "bench/routing/machine.h"

namespace eris::bench::study {
namespace {

constexpr char kSwitch[] = "/proc/sys/kernel/numa_balancing";
const std::string kDebug = "/sys/kernel/debug";
const std::string kPeriods = kDebug + "/sched/numa_balancing/";

void Write(const std::string& path, uint64_t value) {
  std::ofstream file(path);
  if (!(file << value << std::endl)) Die("cannot write " + path);
}
uint64_t ReadNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (!(file >> value)) Die("cannot read " + path);
  return value;
}

int Main(int argc, char** argv) {
  if (argc < 2) Die("on or off");
  const std::string word = argv[1];
  if (word != "on" && word != "off") Die("on or off, not " + word);
  uint32_t delay_ms = 1, period_ms = 10;
  ParseFlags(argc - 1, argv + 1,
             {{"--delay-ms", delay_ms, 1, 60'000}, {"--period-ms", period_ms, 1, 60'000}});
  // Fails if an earlier call has mounted it; what is read below shows whether it is there.
  mount("debugfs", kDebug.c_str(), "debugfs", 0, nullptr);
  Write(kPeriods + "scan_delay_ms", delay_ms);
  Write(kPeriods + "scan_period_min_ms", period_ms);
  Write(kPeriods + "scan_period_max_ms", period_ms);
  Write(kSwitch, word == "on" ? 1 : 0);
  std::printf(
      "{\"numa_balancing\":%lu,\"scan_delay_ms\":%lu,\"scan_period_min_ms\":%lu,"
      "\"scan_period_max_ms\":%lu,\"scan_size_mb\":%lu}\n",
      ReadNumber(kSwitch), ReadNumber(kPeriods + "scan_delay_ms"),
      ReadNumber(kPeriods + "scan_period_min_ms"), ReadNumber(kPeriods + "scan_period_max_ms"),
      ReadNumber(kPeriods + "scan_size_mb"));
  return 0;
}

}  // namespace
}  // namespace eris::bench::study

int main(int argc, char** argv) { return eris::bench::study::Main(argc, argv); }
