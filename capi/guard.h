// What every function of the C interface begins with: no C++ exception leaves it, a status becomes
// a code and an error, arguments are checked. Any thread.
#ifndef ERIS_CAPI_GUARD_H_
#define ERIS_CAPI_GUARD_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "eris/c/base.h"

namespace eris::capi {

// Stores the status as an error, unless `error` is nullptr, and returns its code.
eris_code Report(eris_error** error, const absl::Status& status) noexcept;
// The same for a failed allocation: an error that takes no memory.
eris_code ReportNoMemory(eris_error** error) noexcept;
// Without memory for a message: an error of the code alone.
eris_error* ErrorOf(const absl::Status& status) noexcept;

// Runs `function`, which returns a status and may throw.
template <class Function>
eris_code Guard(eris_error** error, Function&& function) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const absl::Status status = std::forward<Function>(function)();
    return status.ok() ? ERIS_OK : Report(error, status);
  } catch (const std::bad_alloc&) {
    return ReportNoMemory(error);
  } catch (const std::exception& exception) {
    return Report(error, absl::Status(absl::StatusCode::kInternal, exception.what()));
  } catch (...) {
    return Report(error, absl::Status(absl::StatusCode::kInternal, "an unknown exception"));
  }
}

// While it exists, this thread runs a program's callback.
class CallbackScope {
 public:
  CallbackScope() { ++depth_; }
  ~CallbackScope() { --depth_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  static bool Inside() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

struct Argument {
  const char* name;
  const void* pointer;
};
// Errors: InvalidArgument, with the name of the first one that is NULL.
inline absl::Status Need(std::initializer_list<Argument> arguments) {
  for (const Argument& one : arguments) {
    if (one.pointer == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("`", one.name, "` is NULL"));
    }
  }
  return absl::OkStatus();
}

// Errors: InvalidArgument (below 0).
inline absl::StatusOr<absl::Time> DeadlineOf(int64_t timeout_us) {
  if (timeout_us < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`timeout_us` is ", timeout_us, ", below 0: for a call without time limit it is 0"));
  }
  return timeout_us == 0 ? absl::InfiniteFuture() : absl::Now() + absl::Microseconds(timeout_us);
}

// Errors: InvalidArgument (not between `min` and `max`).
inline absl::Status CheckNumber(const char* name, int64_t number, int64_t min, int64_t max) {
  if (number >= min && number <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("`", name, "` is ", number, ", which is not between ", min, " and ", max));
}

// No structure of this interface is longer, in any version.
inline constexpr size_t kStructBytesMax = 4096;

// Errors: InvalidArgument.
inline absl::Status CheckStructSize(const char* name, size_t struct_size) {
  // A multiple of the alignment, as each sizeof is: elements of arrays are read at this distance.
  if (struct_size >= sizeof(size_t) && struct_size <= kStructBytesMax &&
      struct_size % alignof(size_t) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("`", name, "` has a struct_size of ", struct_size,
                   ": it must be the structure's sizeof, and its other members 0 or set"));
}

// Options of any version of the structure; `given` may be nullptr. Members that the program does
// not know are 0. Errors: InvalidArgument (a size that cannot be; a member is set that this library
// does not know).
template <class T>
absl::StatusOr<T> ReadSized(const char* name, const T* given) {
  T options{};
  if (given == nullptr) return options;
  const size_t bytes = given->struct_size;
  if (absl::Status fits = CheckStructSize(name, bytes); !fits.ok()) return fits;
  const auto* const raw = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < bytes; ++i) {
    if (raw[i] != 0) {
      return absl::InvalidArgumentError(absl::StrCat("`", name, "` has a member at byte ", i,
                                                     " that this version of the library, with ",
                                                     sizeof(T), " bytes, does not know"));
    }
  }
  std::memcpy(&options, raw, bytes < sizeof(T) ? bytes : sizeof(T));
  return options;
}

// The other way: fills what the program knows of an answer. Errors: InvalidArgument.
template <class T>
absl::Status WriteSized(const char* name, T value, T* out) {
  const size_t bytes = out->struct_size;
  if (absl::Status fits = CheckStructSize(name, bytes); !fits.ok()) return fits;
  value.struct_size = bytes;
  std::memcpy(reinterpret_cast<unsigned char*>(out), &value, bytes < sizeof(T) ? bytes : sizeof(T));
  if (bytes > sizeof(T)) {
    std::memset(reinterpret_cast<unsigned char*>(out) + sizeof(T), 0, bytes - sizeof(T));
  }
  return absl::OkStatus();
}

// Errors: OutOfRange.
inline absl::Status CheckIndex(size_t i, size_t count) {
  if (i < count) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("there is no number ", i, ": there are ", count));
}

// A copy of a text that eris_text_free frees. Throws std::bad_alloc.
char* CopyText(const std::string& text);

}  // namespace eris::capi

#endif  // ERIS_CAPI_GUARD_H_
