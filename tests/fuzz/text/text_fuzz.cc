// libFuzzer's way into RunText, for the kind that the build says. run_fuzz.sh runs it. Environment:
// ERIS_FUZZ_PLANT adds the planted rule, to see that it is found.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/text/text_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const bool plant = std::getenv("ERIS_FUZZ_PLANT") != nullptr;
  const absl::Status status = eris::fuzz::RunText(
      eris::fuzz::TextKind::ERIS_TEXT_KIND, {reinterpret_cast<const char*>(bytes), size}, plant);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}
