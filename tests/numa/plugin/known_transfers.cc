// Accesses of which it is known which lines they take from whose caches: what two cpus of one
// NumaNode, or of two, do to the same lines in turn. Prints what the access counter must have
// counted, in the counter's own form; a phase without a line has none. With --evicted other
// scenarios, of more lines than a cache holds, for which counter_test.py knows what must come out.
// With --acting one cpu acts for several NumaNodes, 8 or more apart.
//
// One thread goes from cpu to cpu, so the order of the accesses is known, too; only in the last
// scenario two threads race. Each scenario begins with stores that are not counted: after them it
// is known who has a copy, whatever the pages were before.
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "tests/numa/plugin/known_sweep.h"
#include "tests/numa/plugin/node_memory.h"

namespace eris::numa_lab {
namespace {

constexpr uint64_t kRounds = 40;
constexpr uint64_t kStreamLines = 512;
constexpr uint64_t kRacingAdds = 1'000'000;
constexpr uint64_t kLargeLines = 1 << 16;  // 4 MiB

struct Place {
  uint32_t cpu;
  int numa_node;
};

// Two cpus of the first NumaNode with cpus, and one of the last.
struct Places {
  Place first;
  Place beside;
  Place far;
};

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

void GoTo(const Place& place) {
  if (!Pin(place.cpu)) Die("cannot run on a cpu");
}

Place PlaceOf(uint32_t cpu) {
  const int numa_node = NumaNodeOfCpu(cpu);
  if (numa_node < 0) Die("cannot run on a cpu");
  return {cpu, numa_node};
}

// Lines of one NumaNode's memory, each byte of which `first` has written.
std::byte* Lines(const Place& first, int home, uint64_t lines) {
  GoTo(first);
  std::byte* memory = TouchedOn(static_cast<uint32_t>(home), lines * kLineBytes);
  if (memory == nullptr) Die("no memory");
  for (size_t word = 0; word < kLineBytes; word += 8) StoreLines<0>(memory + word, lines);
  return memory;
}

// As struct Transfer orders them.
struct Expected {
  uint64_t near = 0, far_cache = 0, far_memory = 0, upgrades_near = 0, upgrades_far = 0,
           claims_far = 0;
};

void Expect(int phase, const Place& by, int home, const Expected& what) {
  std::printf("transfers\t%d\t%u\t%d\t%d\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\n", phase, by.cpu,
              by.numa_node, home, what.near, what.far_cache, what.far_memory, what.upgrades_near,
              what.upgrades_far, what.claims_far);
}

// In the counter's form, but for where in the program it was.
void ExpectFalseSharing(int phase, const Place& by, uint64_t lines) {
  std::printf("false_sharing\t%d\t%u\t0\t0\t%lu\n", phase, by.cpu, lines);
}

// Two cpus store to one line in turn, the second one `beside` bytes on: each takes it from the
// other; for nothing if they store to different bytes.
template <uint8_t phase>
void StoreInTurn(const Place& a, const Place& b, size_t beside) {
  std::byte* line = Lines(a, a.numa_node, 1);
  for (uint64_t i = 0; i < kRounds; ++i) {
    GoTo(b);
    StoreLines<phase>(line + beside, 1);
    GoTo(a);
    StoreLines<phase>(line, 1);
  }
  const bool far = a.numa_node != b.numa_node;
  for (const Place& by : {a, b}) {
    Expect(phase, by, a.numa_node,
           far ? Expected{.far_cache = kRounds} : Expected{.near = kRounds});
  }
  if (beside > 0) {
    ExpectFalseSharing(phase, a, kRounds);
    ExpectFalseSharing(phase, b, kRounds - 1);  // at first `a` had written the whole line
  }
}

// They load it before they store: the load makes a second copy, which the store takes away.
template <uint8_t phase>
void LoadAndStoreInTurn(const Place& a, const Place& b) {
  std::byte* line = Lines(a, a.numa_node, 1);
  for (uint64_t i = 0; i < kRounds; ++i) {
    for (const Place& by : {b, a}) {
      GoTo(by);
      LoadLines<phase>(line, 1);
      StoreLines<phase>(line, 1);
    }
  }
  const bool far = a.numa_node != b.numa_node;
  for (const Place& by : {a, b}) {
    Expect(phase, by, a.numa_node,
           far ? Expected{.far_cache = kRounds, .upgrades_far = kRounds}
               : Expected{.near = kRounds, .upgrades_near = kRounds});
  }
}

// Two cpus work on a line each, side by side: nothing moves.
template <uint8_t phase>
void WorkApart(const Place& a, const Place& b) {
  std::byte* lines = Lines(a, a.numa_node, 2);
  GoTo(b);
  StoreLines<0>(lines + kLineBytes, 1);
  for (uint64_t i = 0; i < kRounds; ++i) {
    GoTo(b);
    LoadLines<phase>(lines + kLineBytes, 1);
    StoreLines<phase>(lines + kLineBytes, 1);
    GoTo(a);
    StoreLines<phase>(lines, 1);
    IncrementLines<phase>(lines, 1);
  }
}

// One cpu writes a buffer, another reads it; then once more.
template <uint8_t first_read, uint8_t second_read, uint8_t rewrite, uint8_t reread>
void Stream(const Place& writer, const Place& reader, int home) {
  std::byte* lines = Lines(writer, home, kStreamLines);
  GoTo(reader);
  LoadLines<first_read>(lines, kStreamLines);
  Expect(first_read, reader, home, {.far_cache = kStreamLines});
  LoadLines<second_read>(lines, kStreamLines);  // has them
  GoTo(writer);
  StoreLines<rewrite>(lines, kStreamLines);
  Expect(rewrite, writer, home, {.upgrades_far = kStreamLines});
  GoTo(reader);
  LoadLines<reread>(lines, kStreamLines);
  Expect(reread, reader, home, {.far_cache = kStreamLines});
}

// Clean lines come from memory, and only to the first cpu of a NumaNode; a store by a cpu that has
// no copy takes those of others.
template <uint8_t first_copy, uint8_t claim>
void CleanCopies(const Places& places) {
  const int home = places.first.numa_node;
  std::byte* lines = Lines(places.first, home, kStreamLines);
  GoTo(places.beside);
  LoadLines<0>(lines, kStreamLines);  // clean from here
  GoTo(places.far);
  LoadLines<first_copy>(lines, kStreamLines);
  Expect(first_copy, places.far, home, {.far_memory = kStreamLines});
  GoTo(places.first);
  StoreLines<0>(lines, kStreamLines);
  GoTo(places.far);
  LoadLines<0>(lines, kStreamLines);
  GoTo(places.beside);
  StoreLines<claim>(lines, kStreamLines);
  Expect(claim, places.beside, home, {.claims_far = kStreamLines});
}

// Two threads add to one word at the same time. How often it goes from one to the other nobody
// knows, but it goes there and back: counter_test.py compares the two counts.
template <uint8_t phase>
void Race(const Place& a, const Place& b) {
  std::byte* line = Lines(a, a.numa_node, 1);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  const auto add = [&](const Place& place) {
    GoTo(place);
    pthread_barrier_wait(&barrier);
    IncrementOne<phase>(line, kRacingAdds);
  };
  std::thread other([&] { add(b); });
  add(a);
  other.join();
  uint64_t sum;
  std::memcpy(&sum, line, sizeof sum);
  if (sum != 2 * kRacingAdds + 1) Die("an addition is lost");
}

// Many lines: the writer's cache holds the last of them. Phase 1 reads them where they belong,
// phase 2 from another NumaNode's memory, phase 3 again.
void Evicted(const Places& places) {
  std::byte* lines = Lines(places.first, places.far.numa_node, kLargeLines);
  GoTo(places.far);
  LoadLines<1>(lines, kLargeLines);
  lines = Lines(places.first, places.first.numa_node, kLargeLines);
  GoTo(places.far);
  LoadLines<2>(lines, kLargeLines);
  LoadLines<3>(lines, kLargeLines);
}

// One cpu on behalf of NumaNodes 0, 9 and 63.
void Acting() {
  const Place place = PlaceOf(0);
  std::byte* lines = Lines(place, place.numa_node, kStreamLines);  // for NumaNode 0
  const auto act = [&]<uint8_t phase>(uint32_t numa_node, bool store, const Expected& expected) {
    ActFor(numa_node);
    store ? StoreLines<phase>(lines, kStreamLines) : LoadLines<phase>(lines, kStreamLines);
    ActFor(0);
    if (expected.far_cache + expected.upgrades_far > 0) {
      Expect(phase, place, place.numa_node, expected);
    }
  };
  act.template operator()<1>(9, false, {.far_cache = kStreamLines});
  act.template operator()<2>(9, false, {});
  act.template operator()<3>(63, true, {.far_cache = kStreamLines});
  act.template operator()<4>(63, true, {});
  act.template operator()<5>(9, false, {.far_cache = kStreamLines});
  act.template operator()<6>(63, true, {.upgrades_far = kStreamLines});
  act.template operator()<7>(63, false, {});
  act.template operator()<8>(0, false, {.far_cache = kStreamLines});
}

int Run(const std::string& what) {
  if (const std::string wrong = ReadKnownPages(); !wrong.empty()) Die(wrong.c_str());
  if (what == "--acting") {
    Acting();
    return 0;
  }
  const auto cpus = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  const Places places{PlaceOf(0), PlaceOf(1), PlaceOf(cpus - 1)};
  if (places.first.numa_node != places.beside.numa_node ||
      places.first.numa_node == places.far.numa_node) {
    Die("needs two cpus of a NumaNode and one of another");
  }
  if (what == "--evicted") {
    Evicted(places);
    return 0;
  }
  constexpr size_t kNextWord = 8;
  StoreInTurn<1>(places.first, places.far, 0);
  StoreInTurn<2>(places.first, places.beside, 0);
  LoadAndStoreInTurn<3>(places.first, places.far);
  LoadAndStoreInTurn<4>(places.first, places.beside);
  StoreInTurn<5>(places.first, places.far, kNextWord);
  StoreInTurn<6>(places.first, places.beside, kNextWord);
  WorkApart<7>(places.first, places.far);
  Stream<8, 9, 10, 11>(places.first, places.far, places.far.numa_node);
  CleanCopies<12, 13>(places);
  Race<14>(places.first, places.far);
  return 0;
}

}  // namespace
}  // namespace eris::numa_lab

int main(int argc, char** argv) { return eris::numa_lab::Run(argc > 1 ? argv[1] : ""); }
