// libFuzzer's way into RunFlightBytes. run_fuzz.sh runs it. Environment: ERIS_FUZZ_PLANT=<number of
// a WireFault> plants that fault in the reader, to see that it is found.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/flight_machine.h"
#include "wire/planted_fault.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it reports each text that is no UTF-8
  if (const char* text = std::getenv("ERIS_FUZZ_PLANT"); text != nullptr) {
    eris::wire::planted_wire_fault = static_cast<eris::wire::WireFault>(std::atoi(text));
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const absl::Status status =
      eris::fuzz::RunFlightBytes({reinterpret_cast<const char*>(bytes), size});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}
