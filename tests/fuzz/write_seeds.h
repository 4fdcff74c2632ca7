// Writes seeds as a fuzzer's corpus: the main function of a program "<name>_seeds <folder>".
#ifndef ERIS_TESTS_FUZZ_WRITE_SEEDS_H_
#define ERIS_TESTS_FUZZ_WRITE_SEEDS_H_

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace eris::fuzz {

// Returns the exit code.
inline int WriteSeeds(int argc, char** argv, const std::vector<std::string>& seeds) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s <folder>\n", argv[0]);
    return 2;
  }
  unsigned number = 0;
  for (const std::string& seed : seeds) {
    const std::string path = std::string(argv[1]) + "/seed-" + std::to_string(number++);
    std::ofstream file(path, std::ios::binary);
    file.write(seed.data(), static_cast<std::streamsize>(seed.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "%s: cannot write %s\n", argv[0], path.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_WRITE_SEEDS_H_
