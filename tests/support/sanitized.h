// Sanitizers take ten times as long: with them a test that repeats itself does it less often. What
// it tries must not depend on it.
#ifndef ERIS_TESTS_SUPPORT_SANITIZED_H_
#define ERIS_TESTS_SUPPORT_SANITIZED_H_

namespace eris::test {

#if defined(ERIS_ASAN) || defined(ERIS_TSAN)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

template <class T>
constexpr T Fewer(T plain, T sanitized) {
  return kSanitized ? sanitized : plain;
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_SANITIZED_H_
