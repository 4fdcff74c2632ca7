// Random small tables for random plans: columns of all types, with nulls, NaNs, zeros of both
// signs, numbers at the ends of their types, keys that come often, and texts that begin alike.
#ifndef ERIS_TESTS_SUPPORT_PLAN_TABLE_SAMPLES_H_
#define ERIS_TESTS_SUPPORT_PLAN_TABLE_SAMPLES_H_

#include <cstdint>
#include <random>

#include "tests/support/plan/cell.h"
#include "tests/support/plan/plan_types.h"

namespace eris::test {

using PlanRandom = std::mt19937_64;

inline constexpr uint32_t kSampleTablesMax = 4;
inline constexpr uint32_t kSampleRowsMax = 60;

// A number from 0 to `count` - 1.
uint64_t Below(PlanRandom& random, uint64_t count);
// True once in `count` calls.
bool OneIn(PlanRandom& random, uint64_t count);

// How far numbers reach: near ones meet each other and stay in their types when computed with.
enum class Reach : uint8_t { kNear, kFar, kExtreme };

// Not null.
Cell SampleCell(PlanRandom& random, CellType type, Reach reach);

// One to kSampleTablesMax tables "t0", "t1" and so on, of at most `rows_max` rows; about half have
// a key, the others are heap tables.
PlanTables SampleTables(PlanRandom& random, uint32_t rows_max = kSampleRowsMax);

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_TABLE_SAMPLES_H_
