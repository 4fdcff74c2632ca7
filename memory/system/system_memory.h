// A pool's source of address space and pages: the kernel, behind one interface. Address space gets
// its policy (bound to NumaNodes, huge pages) before anything in it is touched. Populate adds
// pages, Discard releases them; the address space stays. Thread-safe; blocks in the kernel.
// Papers: locality-aware scheduling in Bobox, 5.2; page_leap (why memory may be a file's).
#ifndef ERIS_MEMORY_SYSTEM_MEMORY_H_
#define ERIS_MEMORY_SYSTEM_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "memory/system/failure_point.h"
#include "topology/topology.h"

namespace eris::memory {

enum class PageKind : uint8_t {
  kAnonymous,      // small pages
  kAnonymousHuge,  // huge ones if the kernel has some (madvise), else small ones
  kSharedHuge,     // of a memory file, huge if the kernel has some
  kReservedHuge,   // of a memory file, only from the machine's reserved huge pages
};
// "anonymous", "anonymous, huge pages advised", ...
const char* PageKindName(PageKind kind);

// What the machine offers now: reserved huge pages, huge pages for shared memory, advised ones.
struct PageOffer {
  bool reserved_huge = false;
  bool shared_huge = false;
  bool advised_huge = false;
};
PageOffer FindPageOffer();

// Which NumaNodes pages may come from.
struct PagePolicy {
  std::vector<topology::NumaNode> numa_nodes;  // empty: unbound. More than one: interleaved
};

// Address space for this process only, without memory behind it. nullptr: the system refuses.
[[nodiscard]] std::byte* ReserveAddressSpace(size_t bytes, size_t alignment);
void ReturnAddressSpace(std::byte* memory, size_t bytes);

class SystemMemory {
 public:
  SystemMemory(PageKind kind, PagePolicy policy);
  SystemMemory(const SystemMemory&) = delete;
  SystemMemory& operator=(const SystemMemory&) = delete;

  // Address space without pages, `alignment` a power of two, `bytes` a multiple of huge pages.
  // nullptr: the system refuses.
  [[nodiscard]] std::byte* Map(size_t bytes, size_t alignment);
  // The same at `at`, in reserved address space; false: the system refuses, and nothing has
  // changed.
  [[nodiscard]] bool MapAt(std::byte* at, size_t bytes);
  void Unmap(std::byte* memory, size_t bytes);  // a whole result of Map
  // True: all pages of the range are present. False: none is. Whole huge pages.
  [[nodiscard]] bool Populate(std::byte* memory, size_t bytes);
  // Returns the pages to the system; they read as zero afterwards. False: the system keeps them.
  bool Discard(std::byte* memory, size_t bytes);
  // Moves the pages of anonymous memory, and their policy, to another address, whose own pages go
  // back to the system. `from` stays address space without pages. False: the system refuses, and
  // nothing has changed.
  [[nodiscard]] bool MovePages(std::byte* from, std::byte* to, size_t bytes);

  PageKind kind() const { return kind_; }
  // OK until the kernel refuses to bind once; then the reason, and binding is not tried again.
  absl::Status binding_status() const;

  FailurePoint& map_failures() { return map_failures_; }
  FailurePoint& populate_failures() { return populate_failures_; }
  FailurePoint& move_failures() { return move_failures_; }

 private:
  void Bind(std::byte* memory, size_t bytes);

  // Immutable after construction.
  const PageKind kind_;
  const PagePolicy policy_;

  FailurePoint map_failures_;
  FailurePoint populate_failures_;
  FailurePoint move_failures_;
  mutable base::Mutex mu_;
  absl::Status binding_status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_SYSTEM_MEMORY_H_
