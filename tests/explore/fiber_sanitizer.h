// Tells the address sanitizer when a fiber's stack is entered and left.
#ifndef ERIS_TESTS_EXPLORE_FIBER_SANITIZER_H_
#define ERIS_TESTS_EXPLORE_FIBER_SANITIZER_H_

#include <cstddef>

#if defined(ERIS_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace eris::explore {

#if defined(ERIS_ASAN)
inline void BeforeSwitch(void** own, const void* stack, size_t bytes) {
  __sanitizer_start_switch_fiber(own, stack, bytes);
}
inline void AfterSwitch(void* own, const void** from, size_t* bytes) {
  __sanitizer_finish_switch_fiber(own, from, bytes);
}
// What an execution that was given up has left on the stack.
inline void ForgetStack(const void* stack, size_t bytes) {
  __asan_unpoison_memory_region(stack, bytes);
}
#else
inline void BeforeSwitch(void**, const void*, size_t) {}
inline void AfterSwitch(void*, const void**, size_t*) {}
inline void ForgetStack(const void*, size_t) {}
#endif

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_FIBER_SANITIZER_H_
