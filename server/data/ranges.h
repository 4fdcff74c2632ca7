// Ranges of values and directions of messages, checked, beside the ranges of keys in
// key_messages.h. Any thread, no state. Errors: InvalidArgument.
#ifndef ERIS_SERVER_DATA_RANGES_H_
#define ERIS_SERVER_DATA_RANGES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "eris/types.h"
#include "eris/v1/data.pb.h"

namespace eris::server {

inline absl::StatusOr<ValueRange> ValuesOf(const v1::ValueRange& message) {
  ValueRange values{.lo = message.lo()};
  if (message.has_last()) values.last = message.last();
  if (!values.Inverted()) return values;
  return absl::InvalidArgumentError(
      absl::StrCat("values is inverted: last ", values.last, " is below lo ", values.lo));
}

inline absl::StatusOr<ScanDirection> DirectionOf(v1::ScanDirection direction) {
  switch (direction) {
    case v1::SCAN_DIRECTION_UNSPECIFIED:
    case v1::SCAN_DIRECTION_FORWARD:
      return ScanDirection::kForward;
    case v1::SCAN_DIRECTION_BACKWARD:
      return ScanDirection::kBackward;
    default:
      return absl::InvalidArgumentError(absl::StrCat("direction is ", static_cast<int>(direction),
                                                     ", must be 0 to 2 (forward, backward)"));
  }
}

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_RANGES_H_
