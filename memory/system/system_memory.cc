#include "memory/system/system_memory.h"

#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <new>
#include <string>
#include <utility>

#include "base/cache_line.h"
#include "base/check.h"
#include "topology/binding.h"

// Newer than the C library's headers.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

namespace eris::memory {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr const char* kReservedPages = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";

bool IsFileBacked(PageKind kind) {
  return kind == PageKind::kSharedHuge || kind == PageKind::kReservedHuge;
}

// An unnamed file of `bytes`; the mapping keeps it alive. -1: refused.
int NewMemoryFile(PageKind kind, size_t bytes) {
  const unsigned flags =
      MFD_CLOEXEC | (kind == PageKind::kReservedHuge ? MFD_HUGETLB | MFD_HUGE_2MB : 0u);
  const int file = memfd_create("eris", flags);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

// The word in brackets of a kernel switch such as "always [madvise] never".
std::string Chosen(const char* path) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (word.front() == '[' && word.back() == ']') return word.substr(1, word.size() - 2);
  }
  return "";
}

}  // namespace

const char* PageKindName(PageKind kind) {
  switch (kind) {
    case PageKind::kAnonymous:
      return "anonymous";
    case PageKind::kAnonymousHuge:
      return "anonymous, huge pages advised";
    case PageKind::kSharedHuge:
      return "memory file, huge pages advised";
    case PageKind::kReservedHuge:
      return "memory file, reserved huge pages";
  }
  return "";
}

PageOffer FindPageOffer() {
  PageOffer offer;
  uint64_t reserved = 0;
  offer.reserved_huge =
      static_cast<bool>(std::ifstream(kReservedPages) >> reserved) && reserved > 0;
  const std::string advised = Chosen("/sys/kernel/mm/transparent_hugepage/enabled");
  offer.advised_huge = advised == "madvise" || advised == "always";
  const std::string shared = Chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  offer.shared_huge =
      offer.advised_huge && !shared.empty() && shared != "never" && shared != "deny";
  return offer;
}

// Cut out of a larger reservation.
std::byte* ReserveAddressSpace(size_t bytes, size_t alignment) {
  if (bytes + alignment < bytes) return nullptr;
  void* wide = mmap(nullptr, bytes + alignment, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (wide == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(wide);
  const size_t head = base::RoundUp(reinterpret_cast<uintptr_t>(begin), alignment) -
                      reinterpret_cast<uintptr_t>(begin);
  if (head > 0) munmap(begin, head);
  if (head < alignment) munmap(begin + head + bytes, alignment - head);
  return begin + head;
}

void ReturnAddressSpace(std::byte* memory, size_t bytes) { munmap(memory, bytes); }

SystemMemory::SystemMemory(PageKind kind, PagePolicy policy)
    : kind_(kind), policy_(std::move(policy)) {}

std::byte* SystemMemory::Map(size_t bytes, size_t alignment) {
  std::byte* memory = ReserveAddressSpace(bytes, alignment);
  if (memory == nullptr) return nullptr;
  if (MapAt(memory, bytes)) return memory;
  ReturnAddressSpace(memory, bytes);
  return nullptr;
}

bool SystemMemory::MapAt(std::byte* at, size_t bytes) {
  if (map_failures_.Fires()) return false;
  const int file = IsFileBacked(kind_) ? NewMemoryFile(kind_, bytes) : -1;
  if (IsFileBacked(kind_) && file < 0) return false;
  // Without a reservation: only Populate really takes memory.
  const int flags =
      (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_NORESERVE | MAP_FIXED;
  const bool mapped = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, 0) != MAP_FAILED;
  if (file >= 0) close(file);
  if (!mapped) return false;
  // Advice only: without huge pages everything works, but a random load costs 1.7 times as much.
  if (kind_ == PageKind::kAnonymousHuge || kind_ == PageKind::kSharedHuge) {
    madvise(at, bytes, MADV_HUGEPAGE);
  } else if (kind_ == PageKind::kAnonymous) {
    madvise(at, bytes, MADV_NOHUGEPAGE);
  }
  try {
    Bind(at, bytes);
  } catch (const std::bad_alloc&) {  // the general heap reports "no memory"
    Discard(at, bytes);              // unbound pages are no use, and none has been touched
    return false;
  }
  return true;
}

void SystemMemory::Bind(std::byte* memory, size_t bytes) {
  if (policy_.numa_nodes.empty() || !binding_status().ok()) return;
  const absl::Status status = policy_.numa_nodes.size() == 1
                                  ? topology::BindMemory(memory, bytes, policy_.numa_nodes.front())
                                  : topology::InterleaveMemory(memory, bytes, policy_.numa_nodes);
  if (status.ok()) return;
  base::MutexLock lock(&mu_);
  if (binding_status_.ok()) binding_status_ = status;
}

void SystemMemory::Unmap(std::byte* memory, size_t bytes) {
  if (munmap(memory, bytes) == 0) return;
  // A hole in a mapping needs one more map entry, and the system limits their number. The address
  // space is then lost, its pages are not.
  Discard(memory, bytes);
}

bool SystemMemory::Populate(std::byte* memory, size_t bytes) {
  if (populate_failures_.Fires()) return false;
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno == EINVAL) {                                 // a kernel before 5.14: touch them
    if (kind_ == PageKind::kReservedHuge) return false;  // a refusal would be a signal
    for (size_t offset = 0; offset < bytes; offset += kPageBytes) {
      // volatile: the store is the point.
      *static_cast<volatile std::byte*>(memory + offset) = std::byte{0};
    }
    return true;
  }
  Discard(memory, bytes);
  return false;
}

bool SystemMemory::Discard(std::byte* memory, size_t bytes) {
  return madvise(memory, bytes, IsFileBacked(kind_) ? MADV_REMOVE : MADV_DONTNEED) == 0;
}

bool SystemMemory::MovePages(std::byte* from, std::byte* to, size_t bytes) {
  if (move_failures_.Fires()) return false;
  void* const there =
      mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to);
  if (there == to) return true;
  // The kernel counts mappings before it unmaps the old memory, and refuses for little else. If the
  // old memory is gone, data are lost: nothing can go on.
  ERIS_CHECK(msync(to, bytes, MS_ASYNC) == 0);
  return false;
}

absl::Status SystemMemory::binding_status() const {
  base::MutexLock lock(&mu_);
  return binding_status_;
}

}  // namespace eris::memory
