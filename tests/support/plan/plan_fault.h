// Mistakes that an engine could make, for tests which show that the oracle of plans sees them.
#ifndef ERIS_TESTS_SUPPORT_PLAN_PLAN_FAULT_H_
#define ERIS_TESTS_SUPPORT_PLAN_PLAN_FAULT_H_

#include <cstdint>

namespace eris::test {

enum class PlanFault : uint8_t {
  kNone,
  // Expressions.
  kUnknownIsFalse,       // `not` of unknown is true
  kNullInListIgnored,    // x in (1, null) is false for other x
  kLikeCountsBytes,      // _ is a byte
  kCaseTakesLastTrue,    // the last condition that is true, instead of the first
  kCastCutsOff,          // instead of rounding
  kOverflowWraps,        // instead of an error
  kEmptySubqueryIsZero,  // instead of null
  // Joins.
  kNullKeysJoin,
  kNanKeysJoin,
  kOuterRowsDropped,     // a left join is an inner one
  kSemiJoinRepeats,      // a row once per partner
  kAntiIgnoresResidual,  // and looks at keys alone
  kFirstKeyAlone,
  // Aggregates, sorts, limits.
  kCountCountsNulls,
  kAverageCountsNulls,
  kMedianIsLower,  // of two in the middle the lower one
  kDistinctIgnored,
  kNoRowWithoutInput,  // of an aggregate without keys
  kNullGroupDropped,
  kZerosAreTwoGroups,
  kNanNeverLargest,  // of minima and maxima
  kNullsSortLast,    // whatever is asked for
  kDescendingIgnored,
  kLimitPerPart,  // each of two halves of the rows has a limit of its own
  kOffsetIgnored,
  kProjectionTurnsRows,  // which are in an order
  kSharedNodeOnce,       // the second user of a node finds it empty
  kUnionIsASet,          // instead of a bag
  kEnd,
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_PLAN_FAULT_H_
