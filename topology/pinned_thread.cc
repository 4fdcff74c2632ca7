#include "topology/pinned_thread.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "topology/binding.h"

namespace eris::topology {
namespace {

// Address space; pages are allocated on first use.
constexpr size_t kStackBytes = 8u << 20;
constexpr size_t kGuardBytes = 64u << 10;

[[noreturn]] void NoThread(const std::string& name, int error) {
  throw std::system_error(error, std::generic_category(),
                          absl::StrCat("the system starts no thread (", name, ")"));
}

}  // namespace

PinnedThread::PinnedThread(const std::string& name, std::span<const uint32_t> cpus,
                           const std::optional<NumaNode>& numa_node, std::function<void()> body)
    : body_(std::move(body)) {
  void* stack = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) NoThread(name, errno);
  stack_ = static_cast<std::byte*>(stack);
  mprotect(stack_, kGuardBytes, PROT_NONE);
  // A refusal is reported by the pools, which bind far more.
  if (numa_node) (void)BindMemory(stack_ + kGuardBytes, kStackBytes, *numa_node);

  int error = Start(cpus);
  if (error != 0 && !cpus.empty()) {
    const std::string message =
        absl::StrCat("cannot pin to cpu ", absl::StrJoin(cpus, ", "), ": ", std::strerror(error));
    binding_status_ =
        error == EPERM ? absl::PermissionDeniedError(message) : absl::InternalError(message);
    error = Start({});
  }
  if (error != 0) {
    munmap(stack_, kStackBytes + kGuardBytes);
    NoThread(name, error);
  }
  // Only to look at: a name that is too long is not an error.
  pthread_setname_np(thread_, name.substr(0, 15).c_str());
}

int PinnedThread::Start(std::span<const uint32_t> cpus) {
  pthread_attr_t attributes;
  ERIS_CHECK(pthread_attr_init(&attributes) == 0);
  int error = pthread_attr_setstack(&attributes, stack_ + kGuardBytes, kStackBytes);
  if (error == 0 && !cpus.empty()) {
    const size_t numbers = size_t{*std::max_element(cpus.begin(), cpus.end())} + 1;
    const size_t bytes = CPU_ALLOC_SIZE(numbers);
    cpu_set_t* set = CPU_ALLOC(numbers);
    ERIS_CHECK(set != nullptr);
    CPU_ZERO_S(bytes, set);
    for (const uint32_t cpu : cpus) CPU_SET_S(cpu, bytes, set);
    error = pthread_attr_setaffinity_np(&attributes, bytes, set);
    CPU_FREE(set);
  }
  if (error == 0) error = pthread_create(&thread_, &attributes, &Run, this);
  pthread_attr_destroy(&attributes);
  return error;
}

PinnedThread::~PinnedThread() { Join(); }

void PinnedThread::Join() {
  if (joined_) return;
  joined_ = true;
  ERIS_CHECK(pthread_join(thread_, nullptr) == 0);
  munmap(stack_, kStackBytes + kGuardBytes);
}

void* PinnedThread::Run(void* self) {
  static_cast<PinnedThread*>(self)->body_();
  return nullptr;
}

}  // namespace eris::topology
