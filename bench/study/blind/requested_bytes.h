// How many bytes the blind program asks its allocator for. The program's operator new and delete
// (counting_new.cc) and its large arrays count, then call malloc, calloc and free, which a
// preloaded allocator replaces. So all allocators are asked for the same.
//
// A thread counts in variables of its own, and adds them up when it calls TellRequested.
#ifndef ERIS_BENCH_STUDY_BLIND_REQUESTED_BYTES_H_
#define ERIS_BENCH_STUDY_BLIND_REQUESTED_BYTES_H_

#include <cstdint>

namespace eris::bench::study {

struct RequestedBytes {
  uint64_t all = 0;    // since the program began
  uint64_t freed = 0;  // part of `all`
  uint64_t calls = 0;  // allocations

  uint64_t live() const { return all - freed; }
};

// What the thread has requested since its last call of TellRequested.
inline thread_local constinit RequestedBytes requested_by_thread;

// The calling thread's counts since its last call are in Requested() from here.
void TellRequested();
// What all threads have told.
RequestedBytes Requested();

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_REQUESTED_BYTES_H_
