// Writes the seeds of a kind of text as a fuzzer's corpus. Usage: config_seeds <folder>, and so on.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/fuzz/text/text_machine.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s <folder>\n", argv[0]);
    return 2;
  }
  unsigned number = 0;
  for (const std::string& seed : eris::fuzz::TextSeeds(eris::fuzz::TextKind::ERIS_TEXT_KIND)) {
    const std::string path = std::string(argv[1]) + "/seed-" + std::to_string(number++);
    std::ofstream file(path, std::ios::binary);
    file.write(seed.data(), static_cast<std::streamsize>(seed.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return 1;
    }
  }
}
