// One side of the index benchmark in a separate process. run.py starts them, preloads the peers'
// allocator and sends them commands in turn.
//
//   index_lab --sides
//   index_lab --side <name> [--keys 16777216] [--keys-are sparse|dense] [--area <MiB>] [--seed 1]
//
// The first form lists the sides. The second takes commands on standard input, a line each, and
// answers each with a line of JSON; the caller computes medians. M is a million.
//
//   build random|bulk <batch>          all keys into an empty index, in random order or as sorted
//                                      runs
//   lookup <batch> uniform|zipf <ms>   M keys/s; the same for `replace`: upserts of existing keys
//   mixed <batch> uniform|zipf <ms>    half lookups, a quarter erases, a quarter upserts
//   erase <batch> <keys>               erases that many keys, and inserts them again
//   scan <rows> <ms>; scan_all         range scans from random keys; one scan of everything
//   two <batch> <ms>                   lookups on two cpus, one structure each, and on one
//
// `limits` has other commands (limits_side.cc). Everything except `two` runs on one cpu, including
// threads of the engine's memory. Keys, values and probes are made outside the measured time; every
// found value is compared with its key. The program ends with a message when an answer is wrong.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bench/index/side.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"

namespace eris::bench {

uint64_t Command::Number(size_t word) const {
  if (word >= words.size()) Die(words[0] + " wants more");
  return bench::Number<uint32_t>(words[word], 1, ~0u);
}

bool Command::Is(size_t word, const char* text) const {
  if (word >= words.size()) Die(words[0] + " wants more");
  return words[word] == text;
}

namespace {

std::vector<NamedSide> AllSides() {
  std::vector<NamedSide> all;
  const auto add = [&all](const std::vector<NamedSide>& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  add(LimitSides());
  add(ErisSides());
  add(SharedSides());
  add(RadixSides());
  add(MapSides());
#ifdef ERIS_BENCH_WITH_TBB
  add(TbbSides());
#endif
#ifdef ERIS_BENCH_WITH_UNODB
  add(UnodbSides());
#endif
  return all;
}

int PrintSides() {
  std::string names, absent;
  for (const NamedSide& side : AllSides()) {
    names += std::string(names.empty() ? "" : ", ") + "\"" + side.name + "\"";
  }
#ifndef ERIS_BENCH_WITH_TBB
  absent += "\"oneTBB: libtbb-dev was not there when this was built\"";
#endif
#ifndef ERIS_BENCH_WITH_UNODB
  absent += std::string(absent.empty() ? "" : ", ") +
            "\"unodb: built without -DERIS_BENCH_UNODB=<checkout of "
            "github.com/laurynas-biveinis/unodb>\"";
#endif
  std::printf("{\"sides\": [%s], \"absent\": [%s], \"build_type\": \"%s\"}\n", names.c_str(),
              absent.c_str(), ERIS_BENCH_BUILD_TYPE);
  return 0;
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--sides") return PrintSides();
  SideOptions options{.space = {.count = 1 << 24}, .cpus = AllowedCpus()};
  std::string name;
  std::string keys_are = "sparse";
  uint32_t area_mib = 4096;
  ParseFlags(argc, argv,
             {{"--side", name},
              {"--keys", options.space.count, kBlockKeys, 1u << 30},
              {"--keys-are", keys_are, {"sparse", "dense"}},
              {"--area", area_mib, 1, 1u << 20},
              {"--seed", options.seed, 0}});
  options.space.sparse = keys_are == "sparse";
  if ((options.space.count & (options.space.count - 1)) != 0) Die("--keys is a power of two");
  if ((area_mib & (area_mib - 1)) != 0) Die("--area is a power of two");
  options.area_bytes = uint64_t{area_mib} << 20;
  // Interrupts go to the first cpu more often than to others.
  std::reverse(options.cpus.begin(), options.cpus.end());
  PinTo(options.cpus[0]);
  const std::vector<NamedSide> sides = AllSides();
  const auto side = std::find_if(sides.begin(), sides.end(),
                                 [&](const NamedSide& one) { return name == one.name; });
  if (side == sides.end()) Die("no side '" + name + "'");
  const std::unique_ptr<Side> asked = side->make(options);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    Command command;
    for (std::string word; words >> word;) command.words.push_back(word);
    if (command.words.empty()) continue;
    std::printf("%s\n", asked->Ask(command).Text().c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
