#include "leap/migration.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/copy_area.h"
#include "leap/faults.h"
#include "leap/held_area.h"
#include "topology/page_location.h"

// Newer than the C library's headers.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace eris::leap {
namespace {

constexpr int kMoveOwnPages = 2;  // MPOL_MF_MOVE of <linux/mempolicy.h>
// Between two counts of the process's mappings.
constexpr uint64_t kAreasPerCount = 64;
// A single page that has been dirty so often is held: some writer never pauses.
constexpr uint32_t kDirtyMost = 8;

using Clock = std::chrono::steady_clock;

}  // namespace

const char* MethodName(Method method) {
  switch (method) {
    case Method::kOwner:
      return "owner";
    case Method::kHold:
      return "hold";
    case Method::kRetry:
      return "retry";
    case Method::kKernel:
      return "kernel";
  }
  return "";
}

Migration::Migration(const Range& range, const RangeKind& kind, MemoryPool& pool,
                     const Options& options)
    : range_(range), kind_(kind), pool_(pool), options_(options) {
  // Cut at multiples of the area's size in address space, so that huge pages are not divided.
  auto* begin = static_cast<std::byte*>(range.begin);
  std::byte* const end = begin + range.bytes;
  while (begin < end) {
    const size_t to_next =
        options.area_bytes - reinterpret_cast<uintptr_t>(begin) % options.area_bytes;
    const size_t bytes = std::min<size_t>(to_next, static_cast<size_t>(end - begin));
    areas_.push_back({begin, bytes});
    begin += bytes;
  }
  result_.method = options.method;
  result_.page_bytes = kind.page_bytes;
  result_.progress.left_bytes = range.bytes;
}

absl::Status Migration::Prepare() {
  map_entries_most_ = CountMapEntries().most / 2;
  const bool small_pages = kind_.file && kind_.page_bytes == 4096;
  if (small_pages && options_.method != Method::kKernel) pool_.KeepPages(range_);
  if (options_.method == Method::kRetry) return PrepareFaults();
  if (options_.method != Method::kHold) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Userfault>> userfault = Userfault::Register(range_, kind_);
  if (userfault.ok()) {
    userfault_ = *std::move(userfault);
    result_.how = "userfaultfd";
    return absl::OkStatus();
  }
  result_.how = "mprotect";
  return PrepareFaults();
}

absl::Status Migration::PrepareFaults() {
  const uint64_t thread = options_.blocked_threads_write ? ThreadWithBlockedFaults() : 0;
  if (thread != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("thread ", thread,
                     " has SIGSEGV blocked: a write of it to protected memory would "
                     "end the process. Unblock it (pthread_sigmask), or say that such threads do "
                     "not write (blocked_threads_write)",
                     options_.method == Method::kHold ? ", or allow userfaultfd" : ""));
  }
  return InstallFaultHandler();
}

Result Migration::Run(absl::FunctionRef<void(const Progress&)> progress) {
  while (!areas_.empty()) {
    result_.ended = MayGoOn();
    if (!result_.ended.ok()) break;
    const Area area = areas_.front();
    areas_.pop_front();
    result_.ended = Move(area);
    progress(result_.progress);
    if (!result_.ended.ok()) break;
  }
  if (result_.ended.ok() && result_.progress.left_bytes > 0) {
    result_.ended = absl::UnavailableError(
        absl::StrCat("the kernel left ", result_.progress.left_bytes, " bytes where they were"));
  }
  userfault_.reset();
  if (options_.tell_pages) Locate();
  return std::move(result_);
}

absl::Status Migration::MayGoOn() {
  if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
    return absl::CancelledError("the migration was stopped");
  }
  if (absl::Now() >= options_.deadline) {
    return absl::DeadlineExceededError(
        absl::StrCat("the deadline has passed with ", result_.progress.left_bytes, " bytes left"));
  }
  if (map_entries_most_ == 0 || areas_since_count_++ % kAreasPerCount != 0) return absl::OkStatus();
  const uint64_t now = CountMapEntries().now;
  if (now < map_entries_most_) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the process has ", now,
                   " mappings, which is half of vm.max_map_count: larger "
                   "areas leave fewer"));
}

absl::Status Migration::Move(const Area& area) {
  if (options_.method == Method::kKernel) return AskKernel(area);
  std::byte* const target = pool_.Take(area.bytes, area.begin);
  if (target == nullptr) {
    // What is free may lie in smaller pieces.
    if (area.bytes > kind_.page_bytes) {
      PutBack(area);
      return absl::OkStatus();
    }
    return absl::ResourceExhaustedError(absl::StrCat("the pool has no page left, with ",
                                                     result_.progress.left_bytes, " bytes to go"));
  }
  if (absl::Status status = Populate(area); !status.ok()) {
    pool_.Give(target, area.bytes);
    return status;
  }
  result_.progress.copied_bytes += area.bytes;
  switch (options_.method) {
    case Method::kOwner:
      base::CopyArea(target, area.begin, area.bytes);
      if (Remap(area, target)) return absl::OkStatus();
      return Refused(area, target);
    case Method::kHold:
      return Hold(area, target);
    case Method::kRetry:
      return area.bytes == kind_.page_bytes && area.dirty >= kDirtyMost
                 ? HoldByProtection(area, target)
                 : Retry(area, target);
    case Method::kKernel:
      break;
  }
  ERIS_CHECK(false);  // above
  return absl::OkStatus();
}

absl::Status Migration::Populate(const Area& area) {
  if (madvise(area.begin, area.bytes, MADV_POPULATE_READ) == 0) return absl::OkStatus();
  if (errno == EINVAL) {  // a kernel before 5.14: touch them
    for (size_t at = 0; at < area.bytes; at += kind_.page_bytes) {
      // volatile: the load is the point.
      [[maybe_unused]] const std::byte one = *static_cast<volatile std::byte*>(area.begin + at);
    }
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("the ", area.bytes, " bytes at ",
                                             absl::Hex(reinterpret_cast<uintptr_t>(area.begin)),
                                             " cannot be read: ", std::strerror(errno),
                                             " (behind the end of a file, or damaged memory?)"));
}

absl::Status Migration::Hold(const Area& area, std::byte* target) {
  if (userfault_ == nullptr) return HoldByProtection(area, target);
  const SignalsBlocked blocked;
  const Clock::time_point begin = Clock::now();
  if (absl::Status status = userfault_->Protect(area.begin, area.bytes); !status.ok()) {
    pool_.Give(target, area.bytes);
    return status;
  }
  base::CopyArea(target, area.begin, area.bytes);
  const bool remapped = Remap(area, target);
  if (remapped) {
    userfault_->Wake(area.begin, area.bytes);
  } else {
    userfault_->Unprotect(area.begin, area.bytes);
  }
  NoteHold(Clock::now() - begin);
  return remapped ? absl::OkStatus() : Refused(area, target);
}

absl::Status Migration::HoldByProtection(const Area& area, std::byte* target) {
  const SignalsBlocked blocked;
  const Clock::time_point begin = Clock::now();
  absl::StatusOr<HeldArea> held = HeldArea::Protect(area.begin, area.bytes, Catch::kWait);
  if (!held.ok()) {
    pool_.Give(target, area.bytes);
    return held.status();
  }
  base::CopyArea(target, area.begin, area.bytes);
  const bool remapped = held->Finish([&] { return Remap(area, target); });
  NoteHold(Clock::now() - begin);
  return remapped ? absl::OkStatus() : Refused(area, target);
}

absl::Status Migration::Retry(const Area& area, std::byte* target) {
  const SignalsBlocked blocked;
  absl::StatusOr<HeldArea> held = HeldArea::Protect(area.begin, area.bytes, Catch::kNote);
  if (!held.ok()) {
    pool_.Give(target, area.bytes);
    return held.status();
  }
  base::CopyArea(target, area.begin, area.bytes);
  bool refused = false;
  const bool remapped = held->Finish([&] {
    refused = !Remap(area, target);
    return !refused;
  });
  if (remapped) return absl::OkStatus();
  if (refused) return Refused(area, target);
  pool_.Give(target, area.bytes);
  PutBack(area);
  return absl::OkStatus();
}

absl::Status Migration::Refused(const Area& area, std::byte* target) {
  pool_.Give(target, area.bytes);
  return absl::ResourceExhaustedError("the kernel refuses to change the mapping");
}

void Migration::PutBack(const Area& area) {
  if (area.bytes == kind_.page_bytes) {
    areas_.push_back({area.begin, area.bytes, area.dirty + 1});
    return;
  }
  ++result_.splits;
  const size_t pages = area.bytes / kind_.page_bytes;
  const size_t part = std::max<size_t>(1, pages / options_.split) * kind_.page_bytes;
  for (size_t at = 0; at < area.bytes; at += part) {
    areas_.push_back({area.begin + at, std::min(part, area.bytes - at)});
  }
}

void Migration::NoteHold(std::chrono::nanoseconds time) {
  result_.longest_hold = std::max(result_.longest_hold, absl::FromChrono(time));
}

bool Migration::Remap(const Area& area, std::byte* target) {
  if (InjectedFaults().remap.Fires()) return false;
  void* const there =
      mremap(target, area.bytes, area.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, area.begin);
  if (there == area.begin) {
    Count(area);
    return true;
  }
  // The kernel counts mappings before it unmaps the old memory, and refuses for little else. If the
  // old memory is gone, data are lost: nothing can go on.
  ERIS_CHECK(msync(area.begin, area.bytes, MS_ASYNC) == 0);
  return false;
}

void Migration::Count(const Area& area) {
  ++result_.areas;
  result_.progress.home_bytes += area.bytes;
  result_.progress.left_bytes -= area.bytes;
}

absl::Status Migration::AskKernel(const Area& area) {
  const size_t pages = area.bytes / kind_.page_bytes;
  std::vector<void*> at(pages);
  for (size_t i = 0; i < pages; ++i) at[i] = area.begin + i * kind_.page_bytes;
  const std::vector<int> wanted(pages, static_cast<int>(pool_.options().os_numa_node));
  // The kernel leaves out the pages of a batch in which one stayed.
  std::vector<int> found(pages, -EBUSY);
  if (syscall(SYS_move_pages, 0, pages, at.data(), wanted.data(), found.data(), kMoveOwnPages) <
      0) {
    return absl::UnavailableError(absl::StrCat("move_pages: ", std::strerror(errno), ", with ",
                                               result_.progress.left_bytes, " bytes left"));
  }
  result_.progress.copied_bytes += area.bytes;
  const auto stays = [&](int node) { return node != wanted.front() && node != -ENOENT; };
  if (std::any_of(found.begin(), found.end(), stays)) {
    // A huge page moves with the first of its pages, and the kernel may call others of it busy. So
    // where they are now is what counts. If it does not say, its first answer is used.
    std::vector<int32_t> now(pages);
    if (topology::LocatePages(at, now).ok()) {
      std::transform(now.begin(), now.end(), found.begin(), [](int32_t node) {
        return node == topology::kPageNotPresent ? -ENOENT : node;
      });
    }
  }
  const auto stayed = static_cast<size_t>(std::count_if(found.begin(), found.end(), stays));
  Count(area);
  result_.progress.home_bytes -= stayed * kind_.page_bytes;
  result_.progress.left_bytes += stayed * kind_.page_bytes;
  return absl::OkStatus();
}

void Migration::Locate() {
  const size_t pages = range_.bytes / kind_.page_bytes;
  std::vector<void*> at(pages);
  for (size_t i = 0; i < pages; ++i) {
    at[i] = static_cast<std::byte*>(range_.begin) + i * kind_.page_bytes;
  }
  result_.os_numa_nodes.assign(pages, topology::kPageNotPresent);
  // Where the kernel does not say, all stay unknown.
  (void)topology::LocatePages(at, result_.os_numa_nodes);
}

namespace {

absl::Status CheckOptions(const Options& options, const RangeKind& kind) {
  if (options.area_bytes == 0 || options.area_bytes % kind.page_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat("area_bytes is ", options.area_bytes,
                                                   ", which is no multiple of pages of ",
                                                   kind.page_bytes, " bytes"));
  }
  if (options.split < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("split is ", options.split, ": a dirty area is cut into 2 or more"));
  }
  return absl::OkStatus();
}

absl::Status CheckPool(const Range& range, const RangeKind& kind, const MemoryPool& pool) {
  const Pages pages = pool.options().pages;
  const bool file = pages == Pages::kFile || pages == Pages::kReservedHuge;
  const bool reserved = pages == Pages::kReservedHuge;
  if (file != kind.file || reserved != (kind.page_bytes > 4096)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the range is ", kind.file ? "of a memory file" : "private anonymous memory",
        " with pages of ", kind.page_bytes, " bytes, the pool is not: it needs pages of ",
        !kind.file               ? "kAnonymous or kAnonymousHuge"
        : kind.page_bytes > 4096 ? "kReservedHuge"
                                 : "kFile"));
  }
  if (pool.free_bytes() < range.bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the range has ", range.bytes, " bytes, the pool ", pool.free_bytes(), " free ones"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Result> Migrate(const Range& range, Pool& pool, const Options& options,
                               absl::FunctionRef<void(const Progress&)> progress) {
  auto& memory = static_cast<MemoryPool&>(pool);  // Pool has no other
  const absl::StatusOr<RangeKind> kind = CheckRange(range);
  if (!kind.ok()) return kind.status();
  if (absl::Status status = CheckOptions(options, *kind); !status.ok()) return status;
  if (options.method != Method::kKernel) {
    if (absl::Status status = CheckPool(range, *kind, memory); !status.ok()) return status;
  }
  Migration migration(range, *kind, memory, options);
  if (absl::Status status = migration.Prepare(); !status.ok()) return status;
  return migration.Run(progress);
}

absl::StatusOr<Result> Migrate(const Range& range, Pool& pool, const Options& options) {
  return Migrate(range, pool, options, [](const Progress&) {});
}

}  // namespace eris::leap
