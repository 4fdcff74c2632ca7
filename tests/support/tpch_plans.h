// The Substrait plans of the TPC-H queries, which tests/tpch/make_plans.py makes. Targets that read
// them link tpch_plans, which names their folder.
#ifndef ERIS_TESTS_SUPPORT_TPCH_PLANS_H_
#define ERIS_TESTS_SUPPORT_TPCH_PLANS_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace eris::test {

struct TpchPlan {
  std::string name;  // "datafusion/q01.plan"
  std::string bytes;
};

inline std::filesystem::path TpchPlansFolder() { return ERIS_TPCH_PLANS; }

// Empty if there is no such file.
inline std::string ReadTpchPlan(const std::string& name) {
  std::ifstream file(TpchPlansFolder() / name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// All plans of both producers, by name.
inline std::vector<TpchPlan> ReadTpchPlans() {
  std::vector<TpchPlan> plans;
  for (const char* producer : {"datafusion", "duckdb"}) {
    for (const auto& entry : std::filesystem::directory_iterator(TpchPlansFolder() / producer)) {
      const std::string name = producer + ("/" + entry.path().filename().string());
      plans.push_back({name, ReadTpchPlan(name)});
    }
  }
  std::sort(plans.begin(), plans.end(),
            [](const TpchPlan& a, const TpchPlan& b) { return a.name < b.name; });
  return plans;
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_TPCH_PLANS_H_
