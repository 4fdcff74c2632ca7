// Invariant checks. ERIS_CHECK is always on and guards the control plane and the boundaries between
// folders; ERIS_DCHECK guards the hot path and is compiled out of the release preset.
// Neither may test what a client, a file or the machine controls: that is an absl::Status.
#ifndef ERIS_BASE_CHECK_H_
#define ERIS_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace eris::base {

[[noreturn]] inline void CheckFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace eris::base

#define ERIS_CHECK(condition)                                    \
  do {                                                           \
    if (!(condition)) [[unlikely]]                               \
      ::eris::base::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)

#ifdef ERIS_DCHECKS
#define ERIS_DCHECK(condition) ERIS_CHECK(condition)
#else
// The operand is still compiled, so that a check does not rot in the builds that leave it out.
#define ERIS_DCHECK(condition) \
  do {                         \
    if (false) {               \
      (void)(condition);       \
    }                          \
  } while (false)
#endif

#endif  // ERIS_BASE_CHECK_H_
