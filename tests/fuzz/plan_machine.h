// Runs bytes as a Substrait plan through the server's reader, and changes plans at random. The
// reader may refuse anything, but what it hands out keeps the rules of query_plan_check.h.
// plan_fuzz.cc brings this to libFuzzer, plan_fuzz_test.cc runs some of it in every build.
#ifndef ERIS_TESTS_FUZZ_PLAN_MACHINE_H_
#define ERIS_TESTS_FUZZ_PLAN_MACHINE_H_

#include <random>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace eris::fuzz {

// Faults that are not in the reader, to see that they are found. kLongFilter: a conjunction of more
// terms than that of TPC-H's query 6 is one.
enum class PlanPlant { kNone = 0, kLongFilter = 1 };

// Errors: Internal (the reader has handed out a plan that breaks a rule, or an error that it must
// not return; the planted fault), with what was wrong.
absl::Status RunPlanBytes(std::string_view bytes, PlanPlant plant = PlanPlant::kNone);

// The plan with up to four changes of its messages: values set, fields removed, and parts copied
// from elsewhere in it. Bytes that are no plan, or whose change has more than `bytes_max`, come
// back unchanged.
std::string ChangedPlan(std::string_view bytes, size_t bytes_max, std::mt19937_64& random);

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_PLAN_MACHINE_H_
