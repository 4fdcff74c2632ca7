// Writes the seeds as a fuzzer's corpus. Usage: flight_seeds <folder>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/fuzz/flight_machine.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: flight_seeds <folder>\n");
    return 2;
  }
  unsigned number = 0;
  for (const std::string& seed : eris::fuzz::FlightSeeds()) {
    const std::string path = std::string(argv[1]) + "/seed-" + std::to_string(number++);
    std::ofstream file(path, std::ios::binary);
    file.write(seed.data(), static_cast<std::streamsize>(seed.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "flight_seeds: cannot write %s\n", path.c_str());
      return 1;
    }
  }
}
