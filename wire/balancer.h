// Options, plans, state and history of the balancer, as messages. Any thread, no state.
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
#include "eris/types.h"
#include "eris/v1/balancer.pb.h"
#include "wire/bounds.h"

namespace eris::wire {

// Errors: as BoundsFrom, and an empty range.
absl::StatusOr<KeyRange> MovedRangeFrom(const BoundType& type, const v1::KeyRange& message);

// Changes the options that are set. Errors: InvalidArgument (nothing is set, a value outside its
// limits; both named); `options` is then unchanged.
absl::Status ChangeOptions(const v1::BalancerOptions& message, BalancerOptions* options);
void FillOptions(const BalancerOptions& options, v1::BalancerOptions* message);
BalancerOptions OptionsFrom(const v1::BalancerOptions& message);

// Unset: the best possible one. Errors: InvalidArgument.
absl::StatusOr<std::optional<TransferKind>> TransferKindFrom(v1::TransferKind kind);

// The type for an object's name.
using BoundTypes = std::function<BoundType(absl::string_view object)>;

void FillTransfer(const TransferRecord& record, const BoundTypes& types, v1::Transfer* message);
void FillPlan(const BalancePlan& plan, const BoundTypes& types, v1::BalancePlan* message);
void FillBalancer(const BalancerStatus& status, const BoundTypes& types,
                  v1::GetBalancerResponse* response);

void FillHotRanges(const HotRanges& ranges, const BoundType& type,
                   v1::GetHotRangesResponse* response);

// The opposite direction. `bounds`: the type of the ranges' bounds, which the messages' fields
// tell; unchanged if no range has one.
TransferRecord TransferFrom(const v1::Transfer& message, ColumnType* bounds);
BalancePlan PlanFrom(const v1::BalancePlan& message, ColumnType* bounds);
// `running_bounds` gets one for each running transfer.
BalancerStatus BalancerFrom(const v1::GetBalancerResponse& message,
                            std::vector<ColumnType>* running_bounds);
HotRanges HotRangesFrom(const v1::GetHotRangesResponse& message, ColumnType* bounds);

}  // namespace eris::wire

#endif  // ERIS_WIRE_BALANCER_H_
