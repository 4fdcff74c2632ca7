// The exit codes of the eris program, for scripts; eris --help documents them.
#ifndef ERIS_CLIENTS_CLI_TEXT_EXIT_CODE_H_
#define ERIS_CLIENTS_CLI_TEXT_EXIT_CODE_H_

#include "absl/status/status.h"

namespace eris::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNotFound = 1;  // no such object; get: a key is missing; put: a condition
                                         // failed; bench: wrong answers
inline constexpr int kExitInvalid = 2;   // usage, or invalid input
inline constexpr int kExitUnavailable = 3;    // server unreachable, stopping, or too slow
inline constexpr int kExitRefused = 4;        // anything else that the server refuses
inline constexpr int kExitMisplaced = 5;      // memory verify: a page is not where it should be
inline constexpr int kExitUnverified = 6;     // memory verify: cannot be determined
inline constexpr int kExitUnwell = 7;         // doctor: a finding is bad
inline constexpr int kExitInterrupted = 130;  // by SIGINT, the usual code of shells; or SIGTERM

int ExitCodeOf(const absl::Status& status);

// Writes "eris: <code>: <message>" to stderr, and "eris: <reason>: <what helps>" if the status has
// a reason (include/eris/errors.h). Returns the exit code.
int Report(const absl::Status& status);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_EXIT_CODE_H_
