// Runs many simulated lives, or shows one.
//
//   sim_run --from 1 --count 300000 --state sim.state   go on where the file says, print failures
//   sim_run --seed 17 --trace                           what happens in seed 17, step by step
//   sim_run --bug lose-record ...                       with a planted bug
//   sim_run --kind table ...                            of objects; otherwise each seed decides
//
// The lives run in a child process: one that fails a check of the code under test, or crashes, is
// told like any other failure, and the next ones go on. Exit status 1: a seed has failed.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/simulation.h"

namespace eris::sim {
namespace {

constexpr uint64_t kBlockSeeds = 500;  // between two notes of progress

struct Arguments {
  uint64_t from = 1;
  uint64_t count = 1000;
  std::string state;
  RunOptions run;
};

// What the child tells the parent, whatever becomes of it.
struct Shared {
  uint64_t seed = 0;  // under way
  uint64_t failures = 0;
  uint64_t longest_wait = 0;
  Coverage coverage;
};

[[noreturn]] void Usage() {
  std::fprintf(stderr,
               "usage: sim_run [--from N] [--count N] [--state FILE] [--seed N] [--trace] "
               "[--bug NAME] [--kind NAME]\n");
  std::exit(2);
}

size_t IndexIn(std::span<const char* const> names, const char* wanted) {
  const auto name = std::find_if(names.begin(), names.end(),
                                 [&](const char* one) { return std::strcmp(one, wanted) == 0; });
  if (name == names.end()) Usage();
  return static_cast<size_t>(name - names.begin());
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--trace") {
      arguments.run.trace = true;
      continue;
    }
    if (i + 1 == argc) Usage();
    const char* value = argv[++i];
    if (name == "--from") {
      arguments.from = std::strtoull(value, nullptr, 10);
    } else if (name == "--count") {
      arguments.count = std::strtoull(value, nullptr, 10);
    } else if (name == "--state") {
      arguments.state = value;
    } else if (name == "--seed") {
      arguments.from = std::strtoull(value, nullptr, 10);
      arguments.count = 1;
    } else if (name == "--bug") {
      arguments.run.bug = static_cast<PlantedBug>(IndexIn(kPlantedBugNames, value));
    } else if (name == "--kind") {
      arguments.run.kind = static_cast<Form>(IndexIn(kFormNames, value));
    } else {
      Usage();
    }
  }
  return arguments;
}

// The first seed that has not run yet.
uint64_t ReadState(const std::string& path, uint64_t from) {
  std::ifstream file(path);
  std::string word;
  uint64_t seed = 0;
  while (file >> word >> seed) {
    if (word == "next") from = seed;
  }
  return from;
}

void NoteProgress(const std::string& path, const char* word, uint64_t seed) {
  if (path.empty()) return;
  std::ofstream file(path, std::ios::app);
  file << word << ' ' << seed << std::endl;
}

[[noreturn]] void RunBlock(const Arguments& arguments, uint64_t end, Shared& shared) {
  auto& memory = *new test::LabMemory;  // a life that fails is left as it is, and lives in it
  for (; shared.seed < end; ++shared.seed) {
    const Outcome outcome = Simulate(memory, shared.seed, arguments.run);
    shared.coverage.Add(outcome.coverage);
    shared.longest_wait = std::max(shared.longest_wait, outcome.longest_wait);
    if (arguments.run.trace) std::printf("%s", outcome.trace.c_str());
    if (outcome.error.empty()) continue;
    ++shared.failures;
    std::printf("%s\n", outcome.error.c_str());
    NoteProgress(arguments.state, "failed", shared.seed);
  }
  std::fflush(stdout);
  _exit(0);
}

int Main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  Shared& shared = *new (memory) Shared;
  const uint64_t end = arguments.from + arguments.count;
  const uint64_t first = ReadState(arguments.state, arguments.from);
  const auto begun = std::chrono::steady_clock::now();
  for (uint64_t seed = first; seed < end;) {
    const uint64_t block_end = std::min(end, seed + kBlockSeeds);
    shared.seed = seed;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) RunBlock(arguments, block_end, shared);
    int status = 0;
    waitpid(child, &status, 0);
    seed = block_end;
    if (status != 0) {
      std::printf("seed %llu: ended by status %d\n", static_cast<unsigned long long>(shared.seed),
                  status);
      ++shared.failures;
      NoteProgress(arguments.state, "failed", shared.seed);
      seed = shared.seed + 1;
    }
    NoteProgress(arguments.state, "next", seed);
  }
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - begun;
  const uint64_t seeds = end > first ? end - first : 0;
  std::printf(
      "%slongest wait: %llu turns\n%llu seeds, %llu failed, %.3f ms a seed, %.0f seeds per "
      "second\n",
      shared.coverage.Text().c_str(), static_cast<unsigned long long>(shared.longest_wait),
      static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(shared.failures),
      elapsed.count() / static_cast<double>(std::max<uint64_t>(seeds, 1)),
      1000.0 * static_cast<double>(seeds) / elapsed.count());
  return shared.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace eris::sim

int main(int argc, char** argv) { return eris::sim::Main(argc, argv); }
