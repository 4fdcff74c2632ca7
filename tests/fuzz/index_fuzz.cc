// libFuzzer's way into RunIndexCommands: bytes are commands, eight each. `./dev fuzz` builds and
// runs it. Environment: ERIS_FUZZ_PLANT=<number of a Plant> adds that fault, to see that it is
// found.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/index_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using eris::fuzz::Plant;
  static const Plant plant = [] {
    const char* text = std::getenv("ERIS_FUZZ_PLANT");
    return text == nullptr ? Plant::kNone : static_cast<Plant>(std::atoi(text));
  }();
  const absl::Status status = eris::fuzz::RunIndexCommands(bytes, size, plant);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  for (const auto& command : eris::fuzz::DecodeCommands({bytes, size})) {
    std::fprintf(stderr, "  %s\n", eris::fuzz::TextOf(command).c_str());
  }
  std::fprintf(stderr, "replay: \"%s\"\n", eris::fuzz::HexOf({bytes, size}).c_str());
  std::abort();
}
