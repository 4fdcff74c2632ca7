#include <string>
#include <vector>

#include "tests/fuzz/index_seeds.h"
#include "tests/fuzz/write_seeds.h"

int main(int argc, char** argv) {
  std::vector<std::string> seeds;
  for (const eris::fuzz::SeedCase& seed : eris::fuzz::SeedCases()) {
    const auto bytes = eris::fuzz::EncodeCommands(seed.commands);
    seeds.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return eris::fuzz::WriteSeeds(argc, argv, seeds);
}
