// libFuzzer's way into RunPlanBytes. Most of its changes are of messages, since changes of bytes
// mostly end the parsing. run_fuzz.sh runs it. Environment: ERIS_FUZZ_PLANT=<number of a
// PlanPlant> adds that fault, to see that it is found.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "tests/fuzz/plan_machine.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t bytes_max);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it reports each text that is no UTF-8
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using eris::fuzz::PlanPlant;
  static const PlanPlant plant = [] {
    const char* text = std::getenv("ERIS_FUZZ_PLANT");
    return text == nullptr ? PlanPlant::kNone : static_cast<PlanPlant>(std::atoi(text));
  }();
  const absl::Status status =
      eris::fuzz::RunPlanBytes({reinterpret_cast<const char*>(bytes), size}, plant);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t size, size_t bytes_max,
                                          unsigned seed) {
  std::mt19937_64 random(seed);
  if (random() % 8 == 0) return LLVMFuzzerMutate(bytes, size, bytes_max);
  const std::string changed =
      eris::fuzz::ChangedPlan({reinterpret_cast<const char*>(bytes), size}, bytes_max, random);
  std::memcpy(bytes, changed.data(), changed.size());
  return changed.size();
}
