// Writes the seed cases as a fuzzer's corpus. Usage: index_seeds <folder>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/fuzz/index_seeds.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: index_seeds <folder>\n");
    return 2;
  }
  unsigned number = 0;
  for (const eris::fuzz::SeedCase& seed : eris::fuzz::SeedCases()) {
    const auto bytes = eris::fuzz::EncodeCommands(seed.commands);
    const std::string path = std::string(argv[1]) + "/seed-" + std::to_string(number++);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "index_seeds: cannot write %s\n", path.c_str());
      return 1;
    }
  }
}
