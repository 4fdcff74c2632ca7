// The blind program's operator new and delete: they count, and leave the rest to malloc and free.
#include <cstdlib>
#include <new>

#include "bench/study/blind/requested_bytes.h"

using eris::bench::study::requested_by_thread;

void* operator new(std::size_t bytes) {
  requested_by_thread.all += bytes;
  ++requested_by_thread.calls;
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) [[likely]]
    return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t bytes) noexcept {
  requested_by_thread.freed += bytes;
  std::free(block);
}
