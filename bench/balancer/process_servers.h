// One process per core, each with an engine of one AEU and an equal range of the keys: what one
// does with engines that know of no NumaNodes, one for each. A client cuts a batch by ranges and
// leaves each piece in a mailbox that it shares with the process; a thread of the process looks it
// up. Threads: each client has its own number.
#ifndef ERIS_BENCH_BALANCER_PROCESS_SERVERS_H_
#define ERIS_BENCH_BALANCER_PROCESS_SERVERS_H_

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "bench/balancer/moving_load.h"
#include "bench/must.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"

namespace eris::bench {

class ProcessServers {
 public:
  static constexpr uint32_t kBatchMax = 4096;

  // Starts the processes, each bound to one of the allowed cpus, and returns when all have their
  // keys. REQUIRES: this process has no other thread.
  ProcessServers(const LoadedKeys& keys, uint32_t processes, uint32_t clients)
      : keys_(keys), processes_(processes), clients_(clients) {
    void* const memory = mmap(nullptr, sizeof(Mailbox) * processes * clients,
                              PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) Die("no memory between processes");
    mailboxes_ = static_cast<Mailbox*>(memory);
    const std::vector<int> cpus = AllowedCpus();
    for (uint32_t p = 0; p < processes; ++p) {
      const pid_t child = fork();
      if (child < 0) Die("no process");
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        PinTo(cpus[p % cpus.size()]);
        Serve(p);
        _exit(0);
      }
      children_.push_back(child);
    }
    for (uint32_t p = 0; p < processes; ++p) {
      for (uint32_t client = 0; client < clients; ++client) Await(Of(p, client), kFree);
    }
  }
  ProcessServers(const ProcessServers&) = delete;
  ProcessServers& operator=(const ProcessServers&) = delete;
  ~ProcessServers() {
    for (uint32_t p = 0; p < processes_; ++p) {
      for (uint32_t client = 0; client < clients_; ++client) Set(Of(p, client), kStop);
    }
    for (const pid_t child : children_) {
      int status = 0;
      if (waitpid(child, &status, 0) != child || status != 0) Die("a process failed");
    }
    munmap(mailboxes_, sizeof(Mailbox) * processes_ * clients_);
  }

  // As Session::Lookup. REQUIRES: at most kBatchMax keys; no other call for this client.
  void Lookup(uint32_t client, absl::Span<const uint64_t> keys, absl::Span<uint64_t> values,
              absl::Span<uint8_t> found) {
    std::vector<std::vector<uint32_t>> places(processes_);
    for (uint32_t i = 0; i < keys.size(); ++i) places[OwnerOf(keys[i])].push_back(i);
    for (uint32_t p = 0; p < processes_; ++p) {
      if (places[p].empty()) continue;
      Mailbox& mailbox = Of(p, client);
      mailbox.count = static_cast<uint32_t>(places[p].size());
      for (uint32_t i = 0; i < mailbox.count; ++i) mailbox.keys[i] = keys[places[p][i]];
      Set(mailbox, kAsked);
    }
    for (uint32_t p = 0; p < processes_; ++p) {
      if (places[p].empty()) continue;
      Mailbox& mailbox = Of(p, client);
      Await(mailbox, kFree);
      for (uint32_t i = 0; i < mailbox.count; ++i) {
        values[places[p][i]] = mailbox.values[i];
        found[places[p][i]] = mailbox.found[i];
      }
    }
  }

 private:
  // As the system makes the memory, a process has not started.
  enum State : uint32_t { kStarting, kFree, kAsked, kStop };
  struct alignas(128) Mailbox {
    std::atomic<uint32_t> state;
    uint32_t count;
    uint64_t keys[kBatchMax];
    uint64_t values[kBatchMax];
    uint8_t found[kBatchMax];
  };
  static_assert(std::atomic<uint32_t>::is_always_lock_free);

  Mailbox& Of(uint32_t process, uint32_t client) { return mailboxes_[process * clients_ + client]; }
  uint64_t FirstOf(uint32_t process) const { return keys_.count() / processes_ * process; }
  uint32_t OwnerOf(uint64_t key) const {
    uint32_t owner = processes_ - 1;
    while (owner > 0 && key < keys_.Border(FirstOf(owner))) --owner;
    return owner;
  }

  // Between processes, so not std::atomic's wait, which knows of one only.
  static void Set(Mailbox& mailbox, State state) {
    // Release: pairs with the acquire in Await, which then reads keys or answers.
    mailbox.state.store(state, std::memory_order_release);
    syscall(SYS_futex, &mailbox.state, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  void Await(Mailbox& mailbox, State wanted) {
    uint32_t seen;
    // Acquire: pairs with the release in Set.
    while ((seen = mailbox.state.load(std::memory_order_acquire)) != wanted) {
      const timespec second{.tv_sec = 1, .tv_nsec = 0};
      if (syscall(SYS_futex, &mailbox.state, FUTEX_WAIT, seen, &second, nullptr, 0) == 0 ||
          errno != ETIMEDOUT) {
        continue;
      }
      for (const pid_t child : children_) {
        if (waitpid(child, nullptr, WNOHANG) != 0) Die("a process failed");
      }
    }
  }

  // In the child.
  void Serve(uint32_t process) {
    children_.clear();
    Options options;
    options.aeu_count = 1;
    const std::unique_ptr<Engine> engine = Must(Engine::Open(options));
    const uint64_t end = process + 1 == processes_ ? keys_.count() : FirstOf(process + 1);
    const Object object = CreateLoaded(*engine, keys_, 1, FirstOf(process), end);
    std::vector<std::thread> threads;
    for (uint32_t client = 0; client < clients_; ++client) {
      threads.emplace_back([&, client] {
        const auto session = engine->NewSession();
        Mailbox& mailbox = Of(process, client);
        for (Set(mailbox, kFree); Asked(mailbox); Set(mailbox, kFree)) {
          Must(session->Lookup(object, {mailbox.keys, mailbox.count},
                               {mailbox.values, mailbox.count}, {mailbox.found, mailbox.count}));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    engine->Close();
  }
  // Blocks; false: there will be no more.
  static bool Asked(Mailbox& mailbox) {
    uint32_t seen;
    // Acquire: pairs with the release in Set.
    while ((seen = mailbox.state.load(std::memory_order_acquire)) == kFree) {
      syscall(SYS_futex, &mailbox.state, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
    return seen == kAsked;
  }

  const LoadedKeys& keys_;
  const uint32_t processes_;
  const uint32_t clients_;
  Mailbox* mailboxes_ = nullptr;
  std::vector<pid_t> children_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_BALANCER_PROCESS_SERVERS_H_
