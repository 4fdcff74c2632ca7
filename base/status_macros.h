// Early return on an absl::Status. Debian 12's Abseil (20220623) has no macros of its own for it.
#ifndef ERIS_BASE_STATUS_MACROS_H_
#define ERIS_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define ERIS_RETURN_IF_ERROR(expression)                                           \
  do {                                                                             \
    if (absl::Status eris_status_ = (expression); !eris_status_.ok()) [[unlikely]] \
      return eris_status_;                                                         \
  } while (false)

#define ERIS_CONCAT_INNER_(a, b) a##b
#define ERIS_CONCAT_(a, b) ERIS_CONCAT_INNER_(a, b)

// ERIS_ASSIGN_OR_RETURN(auto plan, Plan(topology, options));
#define ERIS_ASSIGN_OR_RETURN(target, expression) \
  ERIS_ASSIGN_OR_RETURN_IMPL_(ERIS_CONCAT_(eris_statusor_, __LINE__), target, expression)
#define ERIS_ASSIGN_OR_RETURN_IMPL_(variable, target, expression) \
  auto variable = (expression);                                   \
  if (!variable.ok()) [[unlikely]]                                \
    return std::move(variable).status();                          \
  target = *std::move(variable)

#endif  // ERIS_BASE_STATUS_MACROS_H_
