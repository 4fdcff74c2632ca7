// Moves memory to another NumaNode while its addresses stay, and while other threads read and write
// it: pages are copied into memory of the target that was made ready before, and the mapping is
// changed in one step. For any memory of a program, not only the engine's. Paper: page_leap 4.
//
//   auto pool = eris::leap::Pool::Create({.os_numa_node = 1, .bytes = 1 << 30});
//   auto done = eris::leap::Migrate({array, bytes}, **pool);
//
// What a method needs, and what it does to writers:
//
//   kOwner   nobody but the calling thread writes the range meanwhile; others may read. No faults.
//   kHold    anybody may write. A write to the area that is being copied waits until it has moved.
//   kRetry   anybody may write. A write goes through and the area is copied again, in halves.
//   kKernel  move_pages(2): no pool, small areas of its own choosing; may leave pages behind.
//
// No write is lost by any of them, and no read waits for a copy; a change of the mapping keeps
// page faults of the process waiting, for 60 us (16 MiB of huge pages) to 4 ms (of small ones).
//
// While memory moves
// - nobody unmaps, frees, protects or advises (madvise) a part of it. An allocator may do so with
//   its own memory: migrate what one has mapped oneself, or a block that stays allocated;
// - the kernel does not write to it: buffers of read(2), io_uring, futex words, stacks of threads
// and
//   of signals. With kHold and kRetry such a call fails with EFAULT, with kOwner, or into pages
//   that were pinned before, its write is lost.
// Afterwards pages that had never been touched are there, and memory of a file is this range's
// alone: the file, other processes, later mappings of it do not see what is written from then on.
#ifndef ERIS_LEAP_H_
#define ERIS_LEAP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace eris::leap {

enum class Method : uint8_t { kOwner, kHold, kRetry, kKernel };
const char* MethodName(Method method);  // "owner", "hold", "retry", "kernel"

// Pages must be of the range's kind: private anonymous memory needs one of the first two, a memory
// file one of the others.
enum class Pages : uint8_t {
  kAnonymous,      // small ones
  kAnonymousHuge,  // 2 MiB where the kernel has some (madvise), else small ones
  kFile,           // of a memory file, huge if the kernel has some for shared memory
  kReservedHuge,   // of a memory file, only from the machine's reserved huge pages
};

struct PoolOptions {
  uint32_t os_numa_node = 0;  // the operating system's number
  size_t bytes = 0;           // rounded up to huge pages
  Pages pages = Pages::kAnonymousHuge;
  bool bind = true;  // false: wherever the kernel takes it from, for machines without NUMA
};

// Memory of one NumaNode, with all pages present. Thread-safe. Outlives the calls that use it, not
// the memory that has moved: that is the range's from then on. Pages of a memory file are freed
// when all that has moved from the pool is unmapped, and the range's old ones, if nobody else has
// the file, when the pool ends: to free small pages takes as long as to copy them.
class Pool {
 public:
  // Blocks until all pages are there. Errors: InvalidArgument (no bytes, or a NumaNode that the
  // machine does not have: names the ones there are), PermissionDenied and Unimplemented (the
  // kernel does not bind memory, or, before 5.16, does not remap reserved huge pages),
  // ResourceExhausted (the NumaNode, or the system, has too little memory of that kind).
  static absl::StatusOr<std::unique_ptr<Pool>> Create(const PoolOptions& options);
  virtual ~Pool() = default;

  // Not used so far.
  virtual size_t free_bytes() const = 0;
  virtual const PoolOptions& options() const = 0;

 protected:
  Pool() = default;
};

struct Range {
  void* begin = nullptr;
  size_t bytes = 0;
};

// How far a migration has come. Bytes of the range, but for copied_bytes.
struct Progress {
  uint64_t home_bytes = 0;    // moved
  uint64_t left_bytes = 0;    // still to be moved
  uint64_t copied_bytes = 0;  // with what was copied again
};

struct Options {
  // Unset: kHold. Owner cannot be chosen for somebody, kRetry copies more, kKernel may leave pages.
  Method method = Method::kHold;
  // What is copied and remapped at once: a multiple of the page size. Larger ones need fewer
  // changes of the mapping, and hold writers for longer: some 100 us for each 1 MiB of huge pages,
  // and up to 3 ms of small ones.
  size_t area_bytes = size_t{16} << 20;
  // kRetry: a dirty area is cut into so many, 2 or more, down to single pages; pieces that moved
  // without a write in between are not merged with others.
  uint32_t split = 2;
  absl::Time deadline = absl::InfiniteFuture();
  // Whether threads that have SIGSEGV blocked may write the range. Then the ways that use mprotect
  // are refused while there is one. False: the caller knows that those never do.
  bool blocked_threads_write = true;
  // Fill Result::os_numa_nodes. With small pages the question takes half as long as the copy.
  bool tell_pages = true;
  // Set by any thread: the call ends between two areas.
  const std::atomic<bool>* stop = nullptr;
};

struct Result {
  Method method = Method::kHold;
  std::string how;  // of kHold: "userfaultfd" or "mprotect"
  Progress progress;
  uint64_t areas = 0;             // remapped, or given to the kernel
  uint64_t splits = 0;            // dirty areas, or no piece of the pool was that long
  absl::Duration longest_hold{};  // kHold: of an area; the longest that a write can have waited
  // With Options::tell_pages, for each page of the range, from its begin on, the operating system's
  // number of its NumaNode; -1: not present, or the kernel does not say.
  std::vector<int32_t> os_numa_nodes;
  size_t page_bytes = 0;  // 4 KiB, or 2 MiB of reserved huge pages
  // OK: all has moved. Else why not: DeadlineExceeded, Cancelled, ResourceExhausted (the pool is
  // empty, or the mapping has too many pieces), Unavailable (kKernel: pages that stayed). Every
  // page is wholly here or there, and stays writable.
  absl::Status ended;
};

// Moves the range. Blocks; any thread, but one call at a time for a range. `progress`, if given, is
// called after each area, on the calling thread.
// Errors, before anything has moved: InvalidArgument (the range or area is not aligned to pages;
// names the alignment), FailedPrecondition (a part of it is not mapped, not writable, executable,
// locked, of a file, mapped elsewhere, too, not of the pool's kind, or has properties that a remap
// loses: names the addresses and what it is; or the way is mprotect, and a thread has SIGSEGV
// blocked), ResourceExhausted (the pool has less room
// than the range; names both), Unimplemented (the kernel offers no way for the method; says what it
// answered).
absl::StatusOr<Result> Migrate(const Range& range, Pool& pool, const Options& options = {});
absl::StatusOr<Result> Migrate(const Range& range, Pool& pool, const Options& options,
                               absl::FunctionRef<void(const Progress&)> progress);

}  // namespace eris::leap

#endif  // ERIS_LEAP_H_
