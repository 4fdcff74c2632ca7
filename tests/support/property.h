// Properties that RapidCheck tries with generated values, as GoogleTest failures. What fails is
// shrunk first, and reported with the seed: ERIS_SEED runs it again, ERIS_PROPERTY_CASES tries so
// many times as many cases.
#ifndef ERIS_TESTS_SUPPORT_PROPERTY_H_
#define ERIS_TESTS_SUPPORT_PROPERTY_H_

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>

#include "tests/support/seed.h"

namespace eris::test {

struct PropertyOptions {
  int cases = 100;
  int size = 100;  // of the largest values: elements of a container
  uint64_t seed = Seed();
};

inline int CasesFactor() {
  const char* text = std::getenv("ERIS_PROPERTY_CASES");
  return text == nullptr ? 1 : std::atoi(text);
}

// Says nothing: what is to be told is the result.
class QuietListener final : public rc::detail::TestListener {
 public:
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

// Tries `property`, a function of no arguments that takes its values by `*generator` and fails by
// RC_ASSERT or RC_FAIL. The shrunk counterexample and how to run it again; empty when it holds.
template <class Property>
std::string Counterexample(const PropertyOptions& options, Property property) {
  rc::detail::TestParams params;
  params.seed = options.seed;
  params.maxSuccess = options.cases * CasesFactor();
  params.maxSize = options.size;
  QuietListener listener;
  const rc::detail::TestResult result =
      rc::detail::checkTestable(std::move(property), rc::detail::TestMetadata(), params, listener,
                                std::unordered_map<std::string, rc::detail::Reproduce>());
  if (result.is<rc::detail::SuccessResult>()) return {};
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  text << "\n" << SeedText(options.seed);
  return text.str();
}

template <class Property>
void ExpectHolds(const PropertyOptions& options, Property property) {
  const std::string found = Counterexample(options, std::move(property));
  if (!found.empty()) ADD_FAILURE() << found;
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PROPERTY_H_
