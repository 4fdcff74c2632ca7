// Compares an engine's answer to a plan with the oracle's. Pure function, any thread.
#ifndef ERIS_TESTS_SUPPORT_PLAN_PLAN_DIFFERS_H_
#define ERIS_TESTS_SUPPORT_PLAN_PLAN_DIFFERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/plan/plan_interpreter.h"

namespace eris::test {

// Which errors an engine may end with that the answer does not ask for.
enum class AcceptedErrors : uint8_t {
  kAsWritten,   // those of values that the plan names, for the rows that their node gets
  kOutOfOrder,  // also those of an engine that filters early or reorders an `and`
};

// Doubles are equal within this, relatively, and within what the oracle says; NaNs are all equal.
inline constexpr double kRelativeTolerance = 1e-12;

// What is wrong with `actual`; empty: nothing. Rows are compared as bags. With an order, the actual
// rows must be in it. With a limit they must be as many as it says, each one of the oracle's rows,
// and in an order their keys must be the same from row to row. If the answer is not determined,
// only the types of the actual rows are looked at.
std::string Differs(const PlanAnswer& expected, const absl::StatusOr<std::vector<Cells>>& actual,
                    AcceptedErrors accepted = AcceptedErrors::kAsWritten);

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_PLAN_DIFFERS_H_
