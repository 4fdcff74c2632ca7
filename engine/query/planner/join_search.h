// Searches for a cheap order of joins. Inputs, the columns that are equal and the conditions are
// numbers here: join_order.h makes them of a plan. Pure functions.
#ifndef ERIS_ENGINE_QUERY_PLANNER_JOIN_SEARCH_H_
#define ERIS_ENGINE_QUERY_PLANNER_JOIN_SEARCH_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace eris::engine {

using InputSet = uint64_t;  // bit i: input i

struct JoinProblem {
  static constexpr uint32_t kInputsMax = 64;
  static constexpr uint32_t kClassesMax = 64;

  struct Input {
    double rows = 0;
    bool one_row = false;  // at most one row for certain: it may be joined without keys
  };
  // Columns that are equal in all rows of the answer.
  struct Class {
    InputSet inputs = 0;
    std::vector<double> distinct{};  // by input, the values of its column; 0: it has none
  };
  // What drops rows once all of these inputs are together.
  struct Filter {
    InputSet inputs = 0;
    double share = 1;  // of rows that it keeps
  };
  // A unique key of an input whose columns are all in classes.
  struct UniqueKey {
    uint64_t classes = 0;  // bit i: class i
    double values = 0;
    uint32_t input = 0;
  };
  std::vector<Input> inputs{};
  std::vector<Class> classes{};
  std::vector<Filter> filters{};
  std::vector<UniqueKey> unique{};
};

// Pairs that are joined one after the other. The numbers up to the number of inputs are these, the
// k-th pair has the k-th number after them.
using JoinOrder = std::vector<std::pair<uint32_t, uint32_t>>;

struct JoinCost {
  double cost = 0;  // rows that the joins hand out, and rows that go into their tables
  double rows = 0;  // that the last join hands out
};
JoinCost CostOf(const JoinProblem& problem, const JoinOrder& order);

// Up to so many inputs all orders are looked at, beyond the next join is always the one with the
// fewest rows.
inline constexpr uint32_t kAllOrdersInputsMax = 10;
// A guess is not worth a change for less.
inline constexpr double kWorthwhileCost = 0.9;

// An order that costs less than kWorthwhileCost of `text`, or `text`. It joins nothing without a
// class of columns in common, except inputs of one row. REQUIRES: so does `text`; kInputsMax,
// kClassesMax.
JoinOrder BestOrder(const JoinProblem& problem, const JoinOrder& text);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_JOIN_SEARCH_H_
