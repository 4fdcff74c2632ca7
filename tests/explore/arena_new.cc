// operator new and delete of these test programs: a scenario's memory comes from the arena of the
// execution, so that the explorer sees leaks, double frees and uses after free.
#include <cstdlib>
#include <new>

#include "tests/explore/engine.h"

namespace {

void* New(std::size_t bytes, std::size_t alignment) noexcept {
  if (void* memory = eris::explore::Engine::Allocate(bytes, alignment)) return memory;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes == 0 ? 1 : bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}
void* NewOrDie(std::size_t bytes, std::size_t alignment) {
  void* memory = New(bytes, alignment);
  if (memory == nullptr) std::abort();
  return memory;
}
void Delete(void* memory) noexcept {
  if (memory != nullptr && !eris::explore::Engine::Free(memory)) std::free(memory);
}

constexpr std::size_t kDefault = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t n) { return NewOrDie(n, kDefault); }
void* operator new[](std::size_t n) { return NewOrDie(n, kDefault); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return New(n, kDefault); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return New(n, kDefault); }
void* operator new(std::size_t n, std::align_val_t a) { return NewOrDie(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return NewOrDie(n, std::size_t(a)); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return New(n, std::size_t(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return New(n, std::size_t(a));
}
void operator delete(void* p) noexcept { Delete(p); }
void operator delete[](void* p) noexcept { Delete(p); }
void operator delete(void* p, std::size_t) noexcept { Delete(p); }
void operator delete[](void* p, std::size_t) noexcept { Delete(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { Delete(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { Delete(p); }
void operator delete(void* p, std::align_val_t) noexcept { Delete(p); }
void operator delete[](void* p, std::align_val_t) noexcept { Delete(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { Delete(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { Delete(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { Delete(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { Delete(p); }
