// libFuzzer's way into RunRequestBytes. run_fuzz.sh runs it. Environment: ERIS_FUZZ_PLANT=<number
// of a RequestPlant> adds that fault, to see that it is found.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/request_machine.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it reports each text that is no UTF-8
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using eris::fuzz::RequestPlant;
  static const RequestPlant plant = [] {
    const char* text = std::getenv("ERIS_FUZZ_PLANT");
    return text == nullptr ? RequestPlant::kNone : static_cast<RequestPlant>(std::atoi(text));
  }();
  const absl::Status status =
      eris::fuzz::RunRequestBytes({reinterpret_cast<const char*>(bytes), size}, plant);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}
