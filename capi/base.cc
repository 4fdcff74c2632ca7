// Codes, errors and encoded keys.
#include "eris/c/base.h"

#include <cstdlib>
#include <string>

#include "capi/guard.h"
#include "eris/key_encoding.h"

struct eris_error {
  eris_code code = ERIS_OK;
  std::string message{};
};

namespace eris::capi {
namespace {

// Errors for when memory is short. They are never freed.
struct LeanError {
  eris_error no_memory{.code = ERIS_RESOURCE_EXHAUSTED, .message = "no memory"};
  // By code, without a message.
  eris_error bare[ERIS_UNAVAILABLE + 1];

  LeanError() {
    for (eris_code code = 0; code <= ERIS_UNAVAILABLE; ++code) bare[code].code = code;
  }
  bool Has(const eris_error* error) const {
    return error == &no_memory || (error >= bare && error <= &bare[ERIS_UNAVAILABLE]);
  }
};

LeanError& Lean() {
  static LeanError* const lean = new LeanError;  // also at the end of the program
  return *lean;
}
// Made while the library is loaded, when memory is not short.
[[maybe_unused]] LeanError& made_early = Lean();

eris_code CodeOf(const absl::Status& status) {
  const int code = status.raw_code();
  return code >= 0 && code <= ERIS_UNAVAILABLE ? code : ERIS_UNKNOWN;
}

}  // namespace

eris_error* ErrorOf(const absl::Status& status) noexcept {
  const eris_code code = CodeOf(status);
  try {
    const absl::string_view message = status.message();
    return new eris_error{.code = code, .message = std::string(message.data(), message.size())};
  } catch (const std::bad_alloc&) {
    return &Lean().bare[code];
  }
}

eris_code Report(eris_error** error, const absl::Status& status) noexcept {
  if (error != nullptr) *error = ErrorOf(status);
  return CodeOf(status);
}

eris_code ReportNoMemory(eris_error** error) noexcept {
  if (error != nullptr) *error = &Lean().no_memory;
  return ERIS_RESOURCE_EXHAUSTED;
}

char* CopyText(const std::string& text) {
  char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace eris::capi

const char* eris_code_name(eris_code code) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE"};
  static_assert(std::size(kNames) == ERIS_UNAVAILABLE + 1);
  return code >= 0 && code <= ERIS_UNAVAILABLE ? kNames[code] : kNames[ERIS_UNKNOWN];
}

eris_code eris_error_code(const eris_error* error) {
  return error == nullptr ? static_cast<eris_code>(ERIS_OK) : error->code;
}
const char* eris_error_message(const eris_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}
void eris_error_free(eris_error* error) {
  if (error != nullptr && !eris::capi::Lean().Has(error)) delete error;
}

void eris_text_free(char* text) { std::free(text); }

const char* eris_version(void) { return ERIS_CAPI_VERSION; }

uint64_t eris_key_from_int64(int64_t number) { return eris::KeyFromInt64(number); }
int64_t eris_int64_from_key(uint64_t key) { return eris::Int64FromKey(key); }
uint64_t eris_key_from_float64(double number) {
  return eris::IsNan(number) ? ~uint64_t{0} : eris::KeyFromFloat64(number);
}
double eris_float64_from_key(uint64_t key) { return eris::Float64FromKey(key); }
uint64_t eris_key_from_date(int32_t days) { return eris::KeyFromDate(days); }
int32_t eris_date_from_key(uint64_t key) { return eris::DateFromKey(static_cast<uint32_t>(key)); }
