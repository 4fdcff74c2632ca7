// The allocators that allocator_lab compares, with one interface:
//
//   void* Allocate(uint32_t size_class, void* last)   a block of the class, or nullptr
//   void Free(void* block, uint32_t size_class)
//
// `last` is the previous block of the slot; only NoAllocator uses it.
// A preloaded library is the process's malloc, so a peer is Malloc, or one of its own calls that
// skip some of malloc's work. Each is used by the thread that owns it.
#ifndef ERIS_BENCH_MEMORY_ALLOCATORS_H_
#define ERIS_BENCH_MEMORY_ALLOCATORS_H_

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "bench/memory/our_memory.h"
#include "bench/memory/trace.h"

namespace eris::bench {

using ClassBytes = std::array<uint32_t, kTraceClassesMax>;

// The floor: each slot already has its block, as from a perfect allocator at no cost.
class NoAllocator {
 public:
  void* Allocate(uint32_t, void* last) const { return last; }
  void Free(void*, uint32_t) const {}
};

// malloc and free, or replacements with the same arguments.
class Malloc {
 public:
  Malloc(const ClassBytes& bytes, const std::string& allocate, const std::string& free)
      : bytes_(bytes),
        allocate_(reinterpret_cast<void* (*)(size_t)>(Find(allocate))),
        free_(reinterpret_cast<void (*)(void*)>(Find(free))) {}

  void* Allocate(uint32_t size_class, void*) const { return allocate_(bytes_[size_class]); }
  void Free(void* block, uint32_t) const { free_(block); }

  static void* Find(const std::string& name) {
    void* found = dlsym(RTLD_DEFAULT, name.c_str());
    if (found == nullptr) Die("the preloaded library has no " + name);
    return found;
  }

 private:
  const ClassBytes bytes_;
  void* (*const allocate_)(size_t);
  void (*const free_)(void*);
};

// The caller passes the size again when it frees: mi_free_size, tc_free_sized.
class SizedMalloc {
 public:
  SizedMalloc(const ClassBytes& bytes, const std::string& allocate, const std::string& free)
      : bytes_(bytes),
        allocate_(reinterpret_cast<void* (*)(size_t)>(Malloc::Find(allocate))),
        free_(reinterpret_cast<void (*)(void*, size_t)>(Malloc::Find(free))) {}

  void* Allocate(uint32_t size_class, void*) const { return allocate_(bytes_[size_class]); }
  void Free(void* block, uint32_t size_class) const { free_(block, bytes_[size_class]); }

 private:
  const ClassBytes bytes_;
  void* (*const allocate_)(size_t);
  void (*const free_)(void*, size_t);
};

// jemalloc's sdallocx, with its flags.
class SdallocxMalloc {
 public:
  explicit SdallocxMalloc(const ClassBytes& bytes)
      : bytes_(bytes),
        allocate_(reinterpret_cast<void* (*)(size_t)>(Malloc::Find("malloc"))),
        free_(reinterpret_cast<void (*)(void*, size_t, int)>(Malloc::Find("sdallocx"))) {}

  void* Allocate(uint32_t size_class, void*) const { return allocate_(bytes_[size_class]); }
  void Free(void* block, uint32_t size_class) const { free_(block, bytes_[size_class], 0); }

 private:
  const ClassBytes bytes_;
  void* (*const allocate_)(size_t);
  void (*const free_)(void*, size_t, int);
};

// An AEU's cache. The size is not a constant, as in the tree, whose runs have a variable number of
// lines.
class Cache {
 public:
  Cache(const ClassBytes& bytes, memory::LocalCache& cache) : bytes_(bytes), cache_(cache) {}

  void* Allocate(uint32_t size_class, void*) { return cache_.Allocate(bytes_[size_class]); }
  void Free(void* block, uint32_t size_class) { cache_.Free(block, bytes_[size_class]); }

 private:
  const ClassBytes bytes_;
  memory::LocalCache& cache_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_ALLOCATORS_H_
