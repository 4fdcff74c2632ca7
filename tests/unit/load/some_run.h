// A plan and a result as a load run might have had them: 100 lookups and 100 upserts in two
// seconds.
#ifndef ERIS_TESTS_UNIT_LOAD_SOME_RUN_H_
#define ERIS_TESTS_UNIT_LOAD_SOME_RUN_H_

#include "clients/load/plan.h"
#include "clients/load/run.h"

namespace eris::load {

inline Plan SomePlan(double rate) {
  Plan plan;
  plan.workload = *FindWorkload("a");
  plan.rate = rate;
  plan.seed = 42;
  plan.verify = true;
  return plan;
}

inline RunResult SomeResult() {
  RunResult result;
  for (const Operation operation : {Operation::kLookup, Operation::kUpsert}) {
    OperationTally& one = result.tally.operations[static_cast<size_t>(operation)];
    one.answered = 100;
    one.keys = 1000;
    for (uint64_t i = 1; i <= 100; ++i) {
      one.latency.Add(i * 1000);
      one.service.Add(i * 500);
    }
  }
  result.requests = 200;
  result.seconds = 2;
  result.cpu = {0.5};
  result.series = {{.to_s = 1, .requests = 90, .keys = 900}, {.from_s = 1, .to_s = 2}};
  return result;
}

}  // namespace eris::load

#endif  // ERIS_TESTS_UNIT_LOAD_SOME_RUN_H_
