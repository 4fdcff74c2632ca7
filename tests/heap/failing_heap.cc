#include "tests/heap/failing_heap.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace eris::test {
namespace {

thread_local HeapUser acts_as = HeapUser::kEngine;

// kTest: none. All are sequentially consistent; a test that arms them has handed nothing to other
// threads meanwhile but what these count.
std::atomic<HeapUser> fails_for{HeapUser::kTest};
std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> first{0}, last{0};
std::atomic<uint64_t> failed{0};

bool Fails() {
  if (acts_as == HeapUser::kTest || fails_for.load() != acts_as) return false;
  const uint64_t number = ++allocations;
  if (number < first.load() || number > last.load()) return false;
  ++failed;
  return true;
}

void* Allocate(size_t bytes, size_t alignment) {
  if (Fails()) return nullptr;
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* AllocateOrThrow(size_t bytes, size_t alignment) {
  if (void* block = Allocate(bytes, alignment)) return block;
  throw std::bad_alloc();
}

}  // namespace

ActsAs::ActsAs(HeapUser user) : before_(acts_as) { acts_as = user; }
ActsAs::~ActsAs() { acts_as = before_; }

void FailingHeap::FailFrom(HeapUser user, uint64_t nth, uint64_t times) {
  Stop();
  failed = allocations = 0;
  first = nth;
  last = times > kAllOthers - nth ? kAllOthers : nth + times - 1;
  fails_for = user;
}

uint64_t FailingHeap::Stop() {
  fails_for = HeapUser::kTest;
  return failed.load();
}

}  // namespace eris::test

using eris::test::Allocate;
using eris::test::AllocateOrThrow;

void* operator new(size_t bytes) { return AllocateOrThrow(bytes, 1); }
void* operator new[](size_t bytes) { return AllocateOrThrow(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return AllocateOrThrow(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return AllocateOrThrow(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes, 1); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { std::free(block); }
