#include "tests/explore/engine.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "tests/explore/fiber_sanitizer.h"

namespace eris::explore {
namespace {

constexpr size_t kStackBytes = 256 * 1024;
constexpr uint32_t kStepsMax = 20'000;  // of an execution: more is a thread that never gets on
// A thread that does not let go: as if it had lost its core at last.
constexpr uint32_t kStepsOfTurnMax = 500;
constexpr size_t kSiteTableSize = 1024;
constexpr size_t kTraceMax = 20'000;

// The main thread's stack, as the address sanitizer knows it.
const void* main_stack = nullptr;
size_t main_stack_bytes = 0;

bool Acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_consume ||
         order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
bool Releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool IsSeqCst(std::memory_order order) { return order == std::memory_order_seq_cst; }

// "TryTake" of a whole signature.
std::string ShortName(const char* signature) {
  const std::string text = signature;
  size_t end = text.find('(');
  if (end == std::string::npos) end = text.size();
  const size_t begin = text.find_last_of(": ", end);
  return text.substr(begin + 1, end - begin - 1);
}

}  // namespace

const char* NameOf(Op op) {
  constexpr const char* kNames[] = {"load",      "store",     "exchange",  "compare_exchange",
                                    "fetch_add", "fetch_sub", "fetch_and", "fetch_or"};
  return kNames[static_cast<size_t>(op)];
}

const char* NameOf(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    default:
      return "seq_cst";
  }
}

void Engine::Start() {
  if (engine_ == nullptr) engine_ = new Engine;
}

Engine::Engine() : site_table_(kSiteTableSize) {
  sites_.reserve(kSiteTableSize / 2);
  for (uint32_t i = 1; i < kThreadsMax; ++i) {
    fibers_[i].stack = std::make_unique<std::byte[]>(kStackBytes);
  }
}

bool Engine::Run(const ScenarioFactory& factory, uint32_t threads, Strategy& strategy, bool trace) {
  ERIS_CHECK(threads >= 1 && threads < kThreadsMax);
  arena_.Reset();
  strategy_ = &strategy;
  threads_ = threads;
  current_ = 0;
  steps_ = 0;
  steps_of_turn_ = 0;
  failed_ = false;
  failure_.clear();
  tracing_ = trace;
  trace_.clear();
  for (Clock& clock : clocks_) clock = Clock();
  clocks_[0].at[0] = 1;

  in_scenario_ = true;
  std::unique_ptr<Scenario> scenario = factory();
  Tick();
  scenario_ = scenario.get();
  enabled_ = 0;
  for (uint32_t i = 1; i <= threads; ++i) {
    Fiber& fiber = fibers_[i];
    fiber.finished = false;
    fiber.waits_on = nullptr;
    clocks_[i] = clocks_[0];
    clocks_[i].at[i] = 1;
    ForgetStack(fiber.stack.get(), kStackBytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Engine::Enter, 0);
    enabled_ |= 1u << i;
  }
  if (!failed_) {
    in_scenario_ = false;
    SwitchTo(strategy_->NextThread({0, enabled_, true}));
    in_scenario_ = true;
  }
  // Here again when all have ended, or one has failed.
  current_ = 0;
  if (failed_) {
    // Its threads stand somewhere in the middle: nothing of it can be destroyed. The arena forgets.
    static_cast<void>(scenario.release());
    in_scenario_ = false;
    return false;
  }
  for (uint32_t i = 1; i <= threads; ++i) clocks_[0].Join(clocks_[i]);
  Tick();
  scenario->Finish();
  scenario.reset();
  in_scenario_ = false;
  if (!failed_ && arena_.live() != 0) {
    Fail("leak: " + std::to_string(arena_.live()) + " allocations are left");
  }
  return !failed_;
}

void Engine::Enter() {
  Engine& self = *engine_;
  const void* from = nullptr;
  size_t from_bytes = 0;
  AfterSwitch(nullptr, &from, &from_bytes);
  if (main_stack == nullptr) {  // the very first one comes from the main thread
    main_stack = from;
    main_stack_bytes = from_bytes;
  }
  self.in_scenario_ = true;
  self.scenario_->Run(self.current_);
  self.in_scenario_ = false;
  self.fibers_[self.current_].finished = true;
  self.enabled_ &= ~(1u << self.current_);
  self.Trace(nullptr, "ends", nullptr, 0);
  bool all_finished = true;
  for (uint32_t i = 1; i <= self.threads_; ++i) all_finished &= self.fibers_[i].finished;
  if (all_finished) self.SwitchTo(0, true);
  self.Schedule(true);  // never comes back
}

void Engine::SwitchTo(uint32_t thread, bool for_good) {
  Fiber& from = fibers_[current_];
  Fiber& to = fibers_[thread];
  const bool before = in_scenario_;
  in_scenario_ = false;
  current_ = thread;
  steps_of_turn_ = 0;
  if (thread == 0) {
    BeforeSwitch(for_good ? nullptr : &from.asan_stack, main_stack, main_stack_bytes);
  } else {
    BeforeSwitch(for_good ? nullptr : &from.asan_stack, to.stack.get(), kStackBytes);
  }
  swapcontext(&from.context, &to.context);
  AfterSwitch(from.asan_stack, nullptr, nullptr);
  in_scenario_ = before;
}

void Engine::Schedule(bool give_way) {
  if (enabled_ == 0) Fail("deadlock: everybody sleeps, and nobody is left to wake them");
  const bool before = in_scenario_;
  in_scenario_ = false;
  const uint32_t next = strategy_->NextThread({current_, enabled_, give_way});
  if (next != current_) SwitchTo(next);
  in_scenario_ = before;
}

// No string of a thread's own: it never comes back to free it.
void Engine::Fail(std::string_view what) {
  const bool before = in_scenario_;
  in_scenario_ = false;
  if (!failed_) {
    failed_ = true;
    failure_ = current_ == 0 ? "" : "thread " + std::to_string(current_) + ": ";
    failure_ += what;
  }
  if (current_ != 0) SwitchTo(0, true);
  in_scenario_ = before;
}

void Engine::GiveWay() {
  if (current_ == 0) return;
  if (++steps_ > kStepsMax) Fail("no end after so many steps: a thread waits for ever");
  Schedule(true);
}

void Engine::BeforeAccess(const Location& location) {
  if (current_ != 0) {
    if (++steps_ > kStepsMax) Fail("no end after so many steps: a thread waits for ever");
    Schedule(++steps_of_turn_ > kStepsOfTurnMax);
  }
  // To the detector of races an access to an atomic is a read: it must not meet its construction
  // or its end.
  const char* wrong = arena_.Read(&location, sizeof(uint64_t), current_, Knowledge());
  if (wrong != nullptr) Fail(std::string(wrong) + " (an atomic, " + arena_.Name(&location) + ")");
}

Site& Engine::SiteOf(const std::source_location& where, Op op, std::memory_order order) {
  const auto function = reinterpret_cast<uintptr_t>(where.function_name());
  uint64_t hash = (uint64_t{where.line()} << 20 | where.column() << 8 | static_cast<uint64_t>(op)) +
                  (function << 4) + static_cast<uint64_t>(order);
  hash *= 0x9e3779b97f4a7c15;
  for (size_t at = hash >> 32;; ++at) {
    uint32_t& entry = site_table_[at % kSiteTableSize];
    if (entry != 0) {
      Site& site = sites_[entry - 1];
      if (site.where.line() != where.line() || site.where.column() != where.column() ||
          site.where.function_name() != where.function_name() || site.op != op ||
          site.order != order) {
        continue;
      }
      ++site.uses;
      return site;
    }
    ERIS_CHECK(sites_.size() < sites_.capacity());
    sites_.push_back({where, op, order, order, false, 1});
    entry = static_cast<uint32_t>(sites_.size());
    Weaken(sites_.back());
    return sites_.back();
  }
}

void Engine::Weaken(Site& site) const {
  site.effective = site.order;
  site.split = false;
  for (const Weakening& weakening : weakenings_) {
    if (site.op != weakening.op || site.order != weakening.from) continue;
    if (weakening.line != 0 && weakening.line != site.where.line()) continue;
    if (std::strstr(site.where.function_name(), weakening.function.c_str()) == nullptr) continue;
    site.effective = weakening.to;
    site.split = weakening.split;
  }
}

void Engine::SetWeakenings(std::vector<Weakening> weakenings) {
  weakenings_ = std::move(weakenings);
  for (Site& site : sites_) Weaken(site);
}

void Engine::ClearUses() {
  for (Site& site : sites_) site.uses = 0;
}

uint32_t Engine::OldestVisible(Location& location, bool seq_cst) {
  const uint32_t kept =
      location.count > Location::kStoresKept ? location.count - Location::kStoresKept : 0;
  const Clock& clock = Knowledge();
  uint32_t index = location.count - 1;
  for (; index > kept; --index) {
    const Clock& seen = location.At(index).seen;
    bool known = false;
    for (uint32_t i = 0; i < kThreadsMax; ++i) {
      known |= seen.at[i] != 0 && seen.at[i] <= clock.at[i];
    }
    if (known) break;
  }
  return seq_cst ? std::max(index, location.seq_cst_newest) : index;
}

uint64_t Engine::Read(Location& location, uint32_t index, std::memory_order order) {
  Location::Store& store = location.At(index);
  Clock& clock = Knowledge();
  if (store.seen.at[current_] == 0) store.seen.at[current_] = clock.at[current_];
  if (Acquires(order)) clock.Join(store.release);
  if (IsSeqCst(order)) location.seq_cst_newest = std::max(location.seq_cst_newest, index);
  return store.value;
}

void Engine::Append(Location& location, uint64_t value, const Clock& carried,
                    std::memory_order order) {
  const uint32_t index = location.count++;
  Location::Store& store = location.At(index);
  const Clock& clock = Knowledge();
  store.value = value;
  store.release = carried;  // `carried` may be that of the store before, not of this slot
  if (Releases(order)) store.release.Join(clock);
  store.seen = Clock();
  store.seen.at[current_] = clock.at[current_];
  if (IsSeqCst(order)) location.seq_cst_newest = index;
}

void Engine::Construct(Location& location, uint64_t value) {
  const char* wrong = arena_.Write(&location, sizeof(uint64_t), current_, Knowledge());
  if (wrong != nullptr) Fail(std::string(wrong) + " (construction of an atomic)");
  location.count = 0;
  location.seq_cst_newest = 0;
  Append(location, value, Clock(), std::memory_order_relaxed);
}

uint64_t Engine::Load(Location& location, std::memory_order order,
                      const std::source_location& where) {
  BeforeAccess(location);
  const Site& site = SiteOf(where, Op::kLoad, order);
  const uint32_t newest = location.count - 1;
  const uint32_t choices = newest - OldestVisible(location, IsSeqCst(site.effective)) + 1;
  const uint32_t older = choices == 1 ? 0 : strategy_->Store(choices, current_);
  const uint64_t value = Read(location, newest - older, site.effective);
  if (tracing_) Trace(&site, older == 0 ? "gives" : "gives the older", &location, value);
  Tick();
  return value;
}

void Engine::Store(Location& location, uint64_t value, std::memory_order order,
                   const std::source_location& where) {
  BeforeAccess(location);
  const Site& site = SiteOf(where, Op::kStore, order);
  Append(location, value, Clock(), site.effective);
  if (tracing_) Trace(&site, "of", &location, value);
  Tick();
}

uint64_t Engine::Modify(Location& location, Op op, uint64_t operand, uint64_t mask,
                        std::memory_order order, const std::source_location& where) {
  BeforeAccess(location);
  const Site& site = SiteOf(where, op, order);
  const uint64_t before = Read(location, location.count - 1, site.effective);
  uint64_t after = operand;
  switch (op) {
    case Op::kFetchAdd:
      after = before + operand;
      break;
    case Op::kFetchSub:
      after = before - operand;
      break;
    case Op::kFetchAnd:
      after = before & operand;
      break;
    case Op::kFetchOr:
      after = before | operand;
      break;
    default:
      break;
  }
  if (site.split) {
    Tick();
    BeforeAccess(location);
  }
  Append(location, after & mask, site.split ? Clock() : Clock(location.Newest().release),
         site.effective);
  if (tracing_) Trace(&site, "makes it", &location, after & mask);
  Tick();
  return before;
}

bool Engine::CompareExchange(Location& location, uint64_t& expected, uint64_t desired,
                             std::memory_order success, std::memory_order failure, bool weak,
                             const std::source_location& where) {
  BeforeAccess(location);
  const Site& site = SiteOf(where, Op::kCompareExchange, success);
  const uint32_t newest = location.count - 1;
  // One that fails is a load, and may do so on an older store.
  const uint32_t choices = newest - OldestVisible(location, IsSeqCst(failure)) + 1;
  uint32_t index = newest;
  if (choices > 1) {
    index = newest - strategy_->Store(choices, current_);
    if (location.At(index).value == expected) index = newest;
  }
  const bool equal = location.At(index).value == expected;
  if (!equal || (weak && strategy_->Spurious())) {
    expected = Read(location, index, failure);
    if (tracing_) Trace(&site, "fails on", &location, expected);
    Tick();
    return false;
  }
  Read(location, newest, site.effective);
  if (site.split) {
    Tick();
    BeforeAccess(location);
  }
  Append(location, desired, site.split ? Clock() : Clock(location.Newest().release),
         site.effective);
  if (tracing_) Trace(&site, "makes it", &location, desired);
  Tick();
  return true;
}

void Engine::FutexWait(Location& location, uint64_t expected) {
  BeforeAccess(location);
  // The kernel's look at the word and its going to sleep are one step, after all stores before.
  if (location.Newest().value != expected || strategy_->Spurious()) return;
  Trace(nullptr, "sleeps on", &location, expected);
  Tick();
  fibers_[current_].waits_on = &location;
  enabled_ &= ~(1u << current_);
  Schedule(true);
}

void Engine::FutexWakeAll(Location& location) {
  BeforeAccess(location);
  Trace(nullptr, "wakes all on", &location, location.Newest().value);
  for (uint32_t i = 1; i <= threads_; ++i) {
    if (fibers_[i].waits_on != &location) continue;
    fibers_[i].waits_on = nullptr;
    enabled_ |= 1u << i;
  }
  Tick();
}

void Engine::PlainRead(const void* memory, size_t bytes, const std::source_location& where) {
  if (tracing_) Trace(nullptr, "reads", memory, bytes);
  const char* wrong = arena_.Read(memory, bytes, current_, Knowledge());
  if (wrong != nullptr) {
    Fail(std::string(wrong) + " in " + ShortName(where.function_name()) + ", near " +
         arena_.Name(memory));
  }
}

void Engine::PlainWrite(const void* memory, size_t bytes, const std::source_location& where) {
  if (tracing_) Trace(nullptr, "writes", memory, bytes);
  const char* wrong = arena_.Write(memory, bytes, current_, Knowledge());
  if (wrong != nullptr) {
    Fail(std::string(wrong) + " in " + ShortName(where.function_name()) + ", near " +
         arena_.Name(memory));
  }
}

void Engine::Trace(const Site* site, const char* what, const void* memory, uint64_t value) {
  if (!tracing_ || trace_.size() >= kTraceMax) return;
  HostMemory host;
  char number[32];
  std::snprintf(number, sizeof number, "%#llx", static_cast<unsigned long long>(value));
  std::string line = "thread " + std::to_string(current_) + ": ";
  if (site != nullptr) {
    const char* file = std::strrchr(site->where.file_name(), '/');
    line += ShortName(site->where.function_name()) + " (" +
            (file == nullptr ? site->where.file_name() : file + 1) + ":" +
            std::to_string(site->where.line()) + ") " + NameOf(site->op) + " " +
            NameOf(site->effective) + " ";
  }
  line += what;
  if (memory != nullptr) line += std::string(" ") + number + "; " + arena_.Name(memory);
  trace_.push_back(line);
}

void* Engine::Allocate(size_t bytes, size_t alignment) noexcept {
  Engine* self = engine_;
  if (self == nullptr || !self->in_scenario_) return nullptr;
  void* memory = self->arena_.Allocate(bytes, alignment, self->current_, self->Knowledge());
  if (memory == nullptr) self->Fail("the arena is full");
  return memory;
}

bool Engine::Free(void* memory) noexcept {
  Engine* self = engine_;
  if (self == nullptr || !self->arena_.Contains(memory)) return false;
  const char* wrong = self->arena_.Free(memory, self->current_, self->Knowledge());
  if (wrong != nullptr && self->in_scenario_) {
    self->Fail(std::string(wrong) + " (free of " + self->arena_.Name(memory) + ")");
  }
  return true;
}

}  // namespace eris::explore
