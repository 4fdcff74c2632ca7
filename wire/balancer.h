// What the balancer is told and tells, as messages; and what the bounds of an object's ranges are
// in them. Any thread, no state.
#ifndef ERIS_WIRE_BALANCER_H_
#define ERIS_WIRE_BALANCER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/balancer.h"
#include "eris/schema.h"
#include "eris/types.h"
#include "eris/v1/balancer.pb.h"

namespace eris::wire {

// The bounds of an object's ranges: keys, first parts of keys, or values of a table's first key
// column.
struct BoundType {
  KeyTypes key_type{};  // of what stands in messages; a second part only to be refused by name
  bool narrow = false;  // a column of four bytes, which stand at the top of the engine's word
  bool int32 = false;   // of narrow ones: no date
  bool bounded = true;  // false: a heap table, whose ranges say nothing
};
// `schema`: of a clustered table; else nullptr.
BoundType BoundTypeOf(const ObjectInfo& info, const Schema* schema);

// Errors: as wire/keys.h; a second part; empty; an i64 that is no INT32.
absl::StatusOr<KeyRange> MovedRangeFrom(const BoundType& type, const v1::KeyRange& message);
// Bounds of a narrow column lose what follows in the key.
void FillMovedRange(const BoundType& type, const KeyRange& range, v1::KeyRange* message);

// Changes what is set. Errors: InvalidArgument (nothing is set, a value outside its limits; both
// named); `options` is then as it was.
absl::Status ChangeOptions(const v1::BalancerOptions& message, BalancerOptions* options);
void FillOptions(const BalancerOptions& options, v1::BalancerOptions* message);
BalancerOptions OptionsFrom(const v1::BalancerOptions& message);

// Unset: as can be. Errors: InvalidArgument.
absl::StatusOr<std::optional<TransferKind>> TransferKindFrom(v1::TransferKind kind);

// Of an object by name.
using BoundTypes = std::function<BoundType(absl::string_view object)>;

void FillTransfer(const TransferRecord& record, const BoundTypes& types, v1::Transfer* message);
void FillPlan(const BalancePlan& plan, const BoundTypes& types, v1::BalancePlan* message);
void FillBalancer(const BalancerStatus& status, const BoundTypes& types,
                  v1::GetBalancerResponse* response);

// The other way. `bounds`: what the bounds of the ranges are, which messages say by their fields;
// as it was where no range has one.
TransferRecord TransferFrom(const v1::Transfer& message, ColumnType* bounds);
BalancePlan PlanFrom(const v1::BalancePlan& message, ColumnType* bounds);
// `running_bounds` gets one for each of the transfers that run.
BalancerStatus BalancerFrom(const v1::GetBalancerResponse& message,
                            std::vector<ColumnType>* running_bounds);

}  // namespace eris::wire

#endif  // ERIS_WIRE_BALANCER_H_
