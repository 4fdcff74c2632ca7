// Asks for a cache line ahead of its use, from functions that do little else.
#ifndef ERIS_BASE_PREFETCH_H_
#define ERIS_BASE_PREFETCH_H_

namespace eris::base {

// The line of `address`, which need not be readable. A function that does nothing but
// __builtin_prefetch has no effect in g++'s eyes: where it is not inlined its calls are dropped.
// The empty asm is the effect.
[[gnu::always_inline]] inline void Prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

}  // namespace eris::base

#endif  // ERIS_BASE_PREFETCH_H_
