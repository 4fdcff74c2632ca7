// What a session checks of a batch before it makes a request of it. Pure functions; any thread.
#ifndef ERIS_ENGINE_SESSIONS_BATCH_CHECKS_H_
#define ERIS_ENGINE_SESSIONS_BATCH_CHECKS_H_

#include <cstddef>
#include <new>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/lean_status.h"
#include "engine/objects/object_entry.h"
#include "eris/engine.h"
#include "eris/types.h"
#include "routing/data_command.h"

namespace eris::engine {

inline absl::Status CheckEqual(absl::string_view what, size_t got, size_t keys) {
  if (got == keys) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("as many ", what, " as keys are needed: ", got, " for ", keys, " keys"));
}

// Columns for answers may be left out.
inline absl::Status CheckOutput(absl::string_view what, size_t got, size_t keys) {
  return got == 0 ? absl::OkStatus() : CheckEqual(what, got, keys);
}

inline absl::Status NoMemoryFor(size_t keys) noexcept {
  try {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system has no memory for the reply columns of ", keys, " keys"));
  } catch (const std::bad_alloc&) {
    return base::NoMemory("");
  }
}

// Errors: InvalidArgument.
inline absl::StatusOr<routing::CommandType> TypeOf(WriteMode mode) {
  switch (mode) {
    case WriteMode::kInsertIfAbsent:
      return routing::CommandType::kInsertIfAbsent;
    case WriteMode::kReplaceIfPresent:
      return routing::CommandType::kReplaceIfPresent;
    case WriteMode::kCompareAndSet:
      return routing::CommandType::kCompareAndSet;
    case WriteMode::kAdd:
      return routing::CommandType::kAdd;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("write mode ", static_cast<int>(mode), " is none of 1 to 4"));
}

inline absl::string_view NameOf(ColumnType type) {
  return type == ColumnType::kString ? "byte strings" : "u64";
}

// Errors: FailedPrecondition unless the object's values are what the call is for.
inline absl::Status CheckForm(const ObjectEntry& object, ColumnType form) {
  if (object.value_type == form) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("values of object \"", object.name, "\" are ",
                                                    NameOf(object.value_type),
                                                    ", this call is for ", NameOf(form)));
}

// Errors: InvalidArgument unless the batch's keys have as many parts as the object's.
inline absl::Status CheckParts(const ObjectEntry& object, const KeyColumns& keys) {
  const bool two_parts = object.key_types.two_parts();
  if (keys.two_parts() == two_parts) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("keys of object \"", object.name, "\" have ",
                                                 two_parts ? "two parts" : "one part",
                                                 ", the batch has ", two_parts ? "one" : "two"));
}

// `what` is a range of keys. Errors: InvalidArgument (inverted; the second part of no bound).
inline absl::Status CheckRange(absl::string_view what, const KeyRange& range) {
  if (!range.hi && range.hi_second != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " without hi: hi_second is ", range.hi_second, ", must be 0"));
  }
  if (!range.Inverted()) return absl::OkStatus();
  if (*range.hi != range.lo) {
    return absl::InvalidArgumentError(
        absl::StrCat("inverted ", what, ": hi ", *range.hi, " is below lo ", range.lo));
  }
  return absl::InvalidArgumentError(absl::StrCat("inverted ", what, ": lo and hi are both ",
                                                 range.lo, ", hi_second ", range.hi_second,
                                                 " is below lo_second ", range.lo_second));
}

// Errors: InvalidArgument (bounds with second parts, of keys that have none).
inline absl::Status CheckParts(const ObjectEntry& object, const KeyRange& range) {
  if (object.key_types.two_parts() || (range.lo_second == 0 && range.hi_second == 0)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "keys of object \"", object.name, "\" have one part, the range has second parts: lo_second ",
      range.lo_second, ", hi_second ", range.hi_second));
}

}  // namespace eris::engine

#endif  // ERIS_ENGINE_SESSIONS_BATCH_CHECKS_H_
