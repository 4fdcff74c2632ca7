// Prefetches a cache line. Use it from functions that do little else.
#ifndef ERIS_BASE_PREFETCH_H_
#define ERIS_BASE_PREFETCH_H_

namespace eris::base {

// `address` need not be readable. g++ thinks that a function with nothing but __builtin_prefetch
// has no effect, and drops calls that it does not inline. The empty asm counts as an effect.
[[gnu::always_inline]] inline void Prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

}  // namespace eris::base

#endif  // ERIS_BASE_PREFETCH_H_
