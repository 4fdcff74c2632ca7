// The access counter: a plugin for qemu's software emulation (plugin interface version 1, qemu 7.2)
// that counts the loads and stores of the guest's user-mode code by cpu and by the NumaNode of the
// memory that was touched, in phases which the program marks (tests/numa/access_marks.h).
//
//   -plugin access_counter.so,cpus=2:2,memory=512:512,out=counts.tsv
//
//   cpus=2:2         cpus of each NumaNode, in the order of their numbers
//   memory=512:512   MiB of each NumaNode
//   out=FILE         written at the end: tab-separated, the first word of a line says what it is
//   cache_kib=256    simulate a private cache of each cpu, and count what misses it (default 0: no)
//   cache_ways=8     its associativity
//   coherence=1      follow which cpus have a valid copy of each line, and count the lines that an
//                    access takes from elsewhere (line_directory.h; default 0: no)
//   false_sharing=1  with coherence=1: also tell the lines that an access takes from another cpu's
//                    cache for nothing (false_sharing.h; default 0: no)
//   acting=1         instead of coherence=1: count the lines that go from one to another of the
//                    NumaNodes that the program says it acts for (acted_directory.h; default 0: no)
//   sites=4096       tell where remote accesses, and transfers of lines between NumaNodes, come
//                    from and go to: up to so many places a cpu
//
// What is an access: what qemu's translation makes one. A load or store of up to 8 bytes is one, a
// wider vector one per 8 bytes, a locked read-modify-write one store, `rep movsb` a load and a
// store per byte. Left out: kernel code, and what the processor itself writes when an interrupt
// comes (its address is in the kernel's half). Instruction fetches are no accesses here.
//
// Each cpu is a thread of qemu, and counts into data of its own. The directory of lines is shared,
// a word for each line. It hears of accesses outside all phases, too: what they leave in a cache is
// what an access in a phase finds there. So it has caches of its own, of the same size; those that
// misses are counted with see only what is counted.
extern "C" {
#include <qemu-plugin.h>
}

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/numa/access_marks.h"
#include "tests/numa/plugin/acted_directory.h"
#include "tests/numa/plugin/cache_model.h"
#include "tests/numa/plugin/false_sharing.h"
#include "tests/numa/plugin/line_directory.h"
#include "tests/numa/plugin/ram_map.h"

extern "C" {
QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
}

namespace eris::numa_lab {
namespace {

struct Options {
  std::vector<uint64_t> cpus;
  std::vector<uint64_t> memory_mib;
  std::string out = "access_counts.tsv";
  uint64_t cache_kib = 0;
  uint64_t cache_ways = 8;
  uint64_t coherence = 0;
  uint64_t false_sharing = 0;
  uint64_t acting = 0;
  uint64_t sites = 0;
};

struct Counts {
  uint64_t loads = 0;
  uint64_t stores = 0;
  uint64_t load_misses = 0;
  uint64_t store_misses = 0;
};

// Phase, NumaNode of the memory, instruction, virtual page.
using Site = std::tuple<uint8_t, uint8_t, uint64_t, uint64_t>;

struct SiteCounts {
  uint64_t accesses = 0;
  uint64_t misses = 0;
  uint64_t far = 0;  // that moved a line, or took copies, between NumaNodes
};

constexpr uint64_t kPageBytes = 4096;
constexpr int kNothingExpected = -1;

// Owned by the cpu's thread of qemu until the end. A line apart from the next.
struct alignas(128) Cpu {
  int numa_node = 0;
  uint8_t phase = 0;
  uint8_t acts_for = 0;  // a NumaNode, with acting=1
  int expected = kNothingExpected;
  Counts counts[kPhasesMax][kNumaNodesMax];
  uint64_t transfers[kPhasesMax][kNumaNodesMax][kTransfers] = {};
  uint64_t outside = 0;  // counted accesses to no NumaNode's memory
  uint64_t checked[kNumaNodesMax] = {};
  uint64_t wrong = 0;          // reads of a known NumaNode that came out as another
  uint64_t wrong_address = 0;  // of the last of them, as qemu tells it
  int wrong_expected = 0;
  CacheModel cache;   // of counted accesses
  CacheModel copies;  // of all, for the directory
  FalseSharing::Taken taken;
  std::map<Site, SiteCounts> sites;
  uint64_t sites_left_out = 0;  // accesses
};

struct Counter {
  Options options;
  RamMap ram{{}};
  std::unique_ptr<LineDirectory<>> directory;   // none without coherence=1
  std::unique_ptr<FalseSharing> false_sharing;  // none without false_sharing=1
  std::unique_ptr<ActedDirectory<>> acted;      // none without acting=1
  std::vector<Cpu> cpus;
};
Counter* counter = nullptr;  // set once, before the guest runs; lives until qemu ends

bool IsKernelAddress(uint64_t address) { return address >> 63 != 0; }

void CheckExpected(Cpu& cpu, const RamMap::Place& place, uint64_t address) {
  ++cpu.checked[cpu.expected];
  if (place.numa_node == cpu.expected) return;
  ++cpu.wrong;
  cpu.wrong_address = address;
  cpu.wrong_expected = cpu.expected;
}

// An access as the directory and the monitor of false sharing are told of it.
struct Told {
  uint64_t address;
  uint64_t bytes;
  uint64_t instruction;
  bool store;
};

// What the access takes from elsewhere; the cpu has a copy of the line from here.
Transfer Follow(unsigned int cpu_index, Cpu& cpu, const RamMap::Place& place, const Told& access) {
  const uint64_t line = place.flat / CacheModel::kLineBytes;
  const uint64_t evicted = cpu.copies.Touch(line).evicted;
  if (evicted != CacheModel::kNoLine) counter->directory->Evict(cpu_index, evicted);
  const LineAccess moved =
      counter->directory->Access(cpu_index, line, place.numa_node, access.store);
  if (counter->false_sharing != nullptr) {
    counter->false_sharing->Access(cpu_index, cpu.taken, line,
                                   BytesOfLine(access.address, access.bytes), access.store, moved,
                                   {cpu.phase, access.instruction, access.address / kPageBytes});
  }
  return moved.transfer;
}

bool IsFar(Transfer transfer) {
  return transfer != Transfer::kNone && transfer != Transfer::kNear &&
         transfer != Transfer::kUpgradeNear;
}

void CountSite(Cpu& cpu, const Site& site, bool missed, Transfer transfer) {
  auto found = cpu.sites.find(site);
  if (found == cpu.sites.end()) {
    if (cpu.sites.size() == counter->options.sites) {
      ++cpu.sites_left_out;
      return;
    }
    found = cpu.sites.emplace(site, SiteCounts{}).first;
  }
  ++found->second.accesses;
  found->second.misses += missed;
  found->second.far += IsFar(transfer);
}

void OnAccess(unsigned int cpu_index, qemu_plugin_meminfo_t info, uint64_t address, void* pc) {
  Cpu& cpu = counter->cpus[cpu_index];
  const bool expecting = cpu.expected != kNothingExpected;
  const bool follows = counter->directory != nullptr || counter->acted != nullptr;
  if (cpu.phase == 0 && !expecting && !follows) return;
  if (IsKernelAddress(address)) return;
  const qemu_plugin_hwaddr* hardware = qemu_plugin_get_hwaddr(info, address);
  RamMap::Place place;
  uint64_t raw = 0;
  if (hardware != nullptr && !qemu_plugin_hwaddr_is_io(hardware)) {
    raw = qemu_plugin_hwaddr_phys_addr(hardware);
    place = counter->ram.Find(raw);
  }
  const bool store = qemu_plugin_mem_is_store(info);
  Transfer transfer = Transfer::kNone;
  if (counter->acted != nullptr && place.numa_node >= 0) {
    transfer = counter->acted->Access(cpu.acts_for, place.flat / CacheModel::kLineBytes, store);
  } else if (counter->directory != nullptr && place.numa_node >= 0) {
    transfer = Follow(cpu_index, cpu, place,
                      {address, uint64_t{1} << qemu_plugin_mem_size_shift(info),
                       reinterpret_cast<uint64_t>(pc), store});
  }
  if (expecting) return CheckExpected(cpu, place, raw);
  if (cpu.phase == 0) return;
  if (place.numa_node < 0) {
    ++cpu.outside;
    return;
  }
  Counts& counts = cpu.counts[cpu.phase][place.numa_node];
  const bool missed = cpu.cache.Misses(place.flat);
  if (store) {
    ++counts.stores;
    counts.store_misses += missed;
  } else {
    ++counts.loads;
    counts.load_misses += missed;
  }
  ++cpu.transfers[cpu.phase][place.numa_node][static_cast<size_t>(transfer)];
  if (counter->options.sites == 0) return;
  if (place.numa_node == cpu.numa_node && !IsFar(transfer)) return;
  CountSite(cpu,
            {cpu.phase, static_cast<uint8_t>(place.numa_node), reinterpret_cast<uint64_t>(pc),
             address / kPageBytes},
            missed, transfer);
}

void OnMark(unsigned int cpu_index, void* data) {
  Cpu& cpu = counter->cpus[cpu_index];
  const auto word = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(data));
  const auto value = static_cast<uint8_t>(word);
  switch (static_cast<uint8_t>(word >> 8)) {
    case kMarkPhase:
      if (value < kPhasesMax) cpu.phase = value;
      return;
    case kMarkExpect:
      if (value < kNumaNodesMax) cpu.expected = value;
      return;
    case kMarkEnd:
      cpu.expected = kNothingExpected;
      return;
    case kMarkActFor:
      if (value < kActedMax) cpu.acts_for = value;
      return;
  }
}

// The message of a mark; 0: the instruction is none.
uint32_t MarkOf(const qemu_plugin_insn* instruction) {
  static constexpr uint8_t kOpcode[] = {0x0f, 0x1f, 0x84, 0x24};
  if (qemu_plugin_insn_size(instruction) != sizeof kOpcode + sizeof(uint32_t)) return 0;
  const auto* bytes = static_cast<const uint8_t*>(qemu_plugin_insn_data(instruction));
  if (std::memcmp(bytes, kOpcode, sizeof kOpcode) != 0) return 0;
  uint32_t word;
  std::memcpy(&word, bytes + sizeof kOpcode, sizeof word);
  return (word & 0xffff'0000) == kMarkTag ? word : 0;
}

void OnTranslate(qemu_plugin_id_t, qemu_plugin_tb* block) {
  if (IsKernelAddress(qemu_plugin_tb_vaddr(block))) return;
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); ++i) {
    qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(block, i);
    if (const uint32_t mark = MarkOf(instruction)) {
      qemu_plugin_register_vcpu_insn_exec_cb(instruction, OnMark, QEMU_PLUGIN_CB_NO_REGS,
                                             reinterpret_cast<void*>(uintptr_t{mark}));
    } else {
      qemu_plugin_register_vcpu_mem_cb(
          instruction, OnAccess, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
          reinterpret_cast<void*>(qemu_plugin_insn_vaddr(instruction)));
    }
  }
}

// In the order of Transfer, without kNone. Nothing for a phase without any.
void WriteTransfers(FILE* file, size_t index, const Cpu& cpu) {
  for (size_t phase = 1; phase < kPhasesMax; ++phase) {
    for (size_t node = 0; node < counter->ram.numa_nodes(); ++node) {
      const uint64_t* begin = cpu.transfers[phase][node] + 1;
      const uint64_t* end = cpu.transfers[phase][node] + kTransfers;
      if (std::all_of(begin, end, [](uint64_t count) { return count == 0; })) continue;
      std::fprintf(file, "transfers\t%zu\t%zu\t%d\t%zu", phase, index, cpu.numa_node, node);
      for (; begin != end; ++begin) std::fprintf(file, "\t%lu", *begin);
      std::fprintf(file, "\n");
    }
  }
}

void WriteCpu(FILE* file, size_t index, const Cpu& cpu) {
  for (size_t phase = 1; phase < kPhasesMax; ++phase) {
    for (size_t node = 0; node < counter->ram.numa_nodes(); ++node) {
      const Counts& counts = cpu.counts[phase][node];
      if (counts.loads + counts.stores == 0) continue;
      std::fprintf(file, "count\t%zu\t%zu\t%d\t%zu\t%lu\t%lu\t%lu\t%lu\n", phase, index,
                   cpu.numa_node, node, counts.loads, counts.stores, counts.load_misses,
                   counts.store_misses);
    }
  }
  for (const auto& [site, counts] : cpu.sites) {
    const auto& [phase, node, pc, page] = site;
    std::fprintf(file, "site\t%u\t%zu\t%d\t%u\t%#lx\t%#lx\t%lu\t%lu\t%lu\n", phase, index,
                 cpu.numa_node, node, pc, page * kPageBytes, counts.accesses, counts.misses,
                 counts.far);
  }
  if (cpu.sites_left_out > 0) {
    std::fprintf(file, "sites_left_out\t%zu\t%lu\n", index, cpu.sites_left_out);
  }
  if (cpu.outside > 0) std::fprintf(file, "outside\t%zu\t%lu\n", index, cpu.outside);
  if (cpu.wrong > 0) {
    std::fprintf(file, "wrong\t%zu\t%lu\t%d\t%#lx\n", index, cpu.wrong, cpu.wrong_expected,
                 cpu.wrong_address);
  }
}

// Outside all phases nothing is told.
void WriteFalseSharing(FILE* file, size_t index, const Cpu& cpu) {
  for (const auto& [place, count] : cpu.taken.CountFalse()) {
    const auto& [phase, pc, page] = place;
    if (phase == 0) continue;
    std::fprintf(file, "false_sharing\t%u\t%zu\t%#lx\t%#lx\t%lu\n", phase, index, pc,
                 page * kPageBytes, count);
  }
}

void WriteAll(FILE* file) {
  std::fprintf(
      file,
      "# count: phase, cpu, its NumaNode, NumaNode of the memory, loads, stores, "
      "load misses, store misses\n"
      "# transfers: phase, cpu, its NumaNode, NumaNode of the memory, lines from the own "
      "NumaNode's caches, from a cache of another NumaNode, from its memory, upgrades near "
      "and far, far claims\n"
      "# site: phase, cpu, its NumaNode, NumaNode of the memory, instruction, page, "
      "accesses, misses, transfers between NumaNodes\n"
      "# false_sharing: phase, cpu, instruction, page, lines taken for nothing\n"
      "# checked: NumaNode, reads of memory known to be there\n"
      "# wrong: cpu, how many of them came out as another, the last one's NumaNode and "
      "qemu's address\n");
  for (size_t i = 0; i < counter->cpus.size(); ++i) {
    WriteCpu(file, i, counter->cpus[i]);
    WriteTransfers(file, i, counter->cpus[i]);
    WriteFalseSharing(file, i, counter->cpus[i]);
  }
  const bool follows = counter->directory != nullptr || counter->acted != nullptr;
  std::fprintf(file, "coherence\t%d\n", follows ? 1 : 0);
  std::fprintf(file, "followed_false_sharing\t%d\n", counter->false_sharing != nullptr ? 1 : 0);
  for (size_t node = 0; node < counter->ram.numa_nodes(); ++node) {
    uint64_t checked = 0;
    for (const Cpu& cpu : counter->cpus) checked += cpu.checked[node];
    if (checked > 0) std::fprintf(file, "checked\t%zu\t%lu\n", node, checked);
  }
  std::fprintf(file, "end\n");
}

// The guest has ended: its threads in qemu count no more.
void OnExit(qemu_plugin_id_t, void*) {
  FILE* file = std::fopen(counter->options.out.c_str(), "w");
  if (file == nullptr) {
    std::perror(counter->options.out.c_str());
    return;
  }
  WriteAll(file);
  if (std::fclose(file) != 0) std::perror(counter->options.out.c_str());
}

bool ParseNumber(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Numbers separated by ':'.
bool ParseNumbers(std::string_view text, std::vector<uint64_t>& numbers) {
  for (;;) {
    const size_t colon = text.find(':');
    if (!ParseNumber(text.substr(0, colon), numbers.emplace_back())) return false;
    if (colon == std::string_view::npos) return true;
    text.remove_prefix(colon + 1);
  }
}

bool ParseOption(std::string_view name, std::string_view value, Options& options) {
  if (name == "cpus") return ParseNumbers(value, options.cpus);
  if (name == "memory") return ParseNumbers(value, options.memory_mib);
  if (name == "cache_kib") return ParseNumber(value, options.cache_kib);
  if (name == "cache_ways") return ParseNumber(value, options.cache_ways);
  if (name == "coherence") return ParseNumber(value, options.coherence);
  if (name == "false_sharing") return ParseNumber(value, options.false_sharing);
  if (name == "acting") return ParseNumber(value, options.acting);
  if (name == "sites") return ParseNumber(value, options.sites);
  if (name != "out") return false;
  options.out = value;
  return true;
}

// What is wrong with the options; empty: nothing.
std::string Check(const Options& options, const qemu_info_t& machine) {
  if (!machine.system_emulation) return "counts whole machines only, not single programs";
  if (options.cpus.empty() || options.cpus.size() != options.memory_mib.size()) {
    return "cpus= and memory= need one number per NumaNode each";
  }
  if (options.cpus.size() > kNumaNodesMax) {
    return "at most " + std::to_string(kNumaNodesMax) + " NumaNodes";
  }
  uint64_t cpus = 0;
  for (const uint64_t of_node : options.cpus) cpus += of_node;
  if (cpus != static_cast<uint64_t>(machine.system.max_vcpus)) {
    return "cpus= adds up to " + std::to_string(cpus) + ", the machine has " +
           std::to_string(machine.system.max_vcpus);
  }
  if (options.coherence > 0 && cpus > LineDirectory<>::kCpusMax) {
    return "coherence=1 follows at most " + std::to_string(LineDirectory<>::kCpusMax) + " cpus";
  }
  if (options.false_sharing > 0 && options.coherence == 0) {
    return "false_sharing=1 needs coherence=1";
  }
  if (options.acting > 0 && options.coherence > 0) {
    return "acting=1 and coherence=1 exclude each other";
  }
  if (options.cache_kib > 0 &&
      (options.cache_ways == 0 ||
       options.cache_kib * 1024 % (options.cache_ways * CacheModel::kLineBytes) != 0)) {
    return "cache_kib= is no multiple of cache_ways= lines";
  }
  return "";
}

void Prepare(Options options) {
  std::vector<uint64_t> bytes;
  for (const uint64_t mib : options.memory_mib) bytes.push_back(mib << 20);
  counter = new Counter{.options = std::move(options),
                        .ram = RamMap(bytes),
                        .directory = nullptr,
                        .false_sharing = nullptr,
                        .acted = nullptr,
                        .cpus = {}};
  const Options& chosen = counter->options;
  std::vector<int> numa_nodes;
  for (size_t node = 0; node < chosen.cpus.size(); ++node) {
    for (uint64_t i = 0; i < chosen.cpus[node]; ++i) {
      Cpu& cpu = counter->cpus.emplace_back();
      cpu.numa_node = numa_nodes.emplace_back(static_cast<int>(node));
      if (chosen.cache_kib > 0) {
        cpu.cache = cpu.copies = CacheModel(chosen.cache_kib << 10, chosen.cache_ways);
      }
    }
  }
  const uint64_t all = std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
  if (chosen.acting > 0) {
    counter->acted = std::make_unique<ActedDirectory<>>(all / CacheModel::kLineBytes);
  }
  if (chosen.coherence > 0) {
    counter->directory =
        std::make_unique<LineDirectory<>>(all / CacheModel::kLineBytes, numa_nodes);
    if (chosen.false_sharing > 0) {
      counter->false_sharing = std::make_unique<FalseSharing>(all / CacheModel::kLineBytes);
    }
  }
}

}  // namespace
}  // namespace eris::numa_lab

extern "C" QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
                                                      const qemu_info_t* machine, int argc,
                                                      char** argv) {
  eris::numa_lab::Options options;
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const size_t equals = argument.find('=');
    if (equals == std::string_view::npos ||
        !eris::numa_lab::ParseOption(argument.substr(0, equals), argument.substr(equals + 1),
                                     options)) {
      std::fprintf(stderr, "access_counter: cannot use '%s'\n", argv[i]);
      return -1;
    }
  }
  if (const std::string wrong = eris::numa_lab::Check(options, *machine); !wrong.empty()) {
    std::fprintf(stderr, "access_counter: %s\n", wrong.c_str());
    return -1;
  }
  eris::numa_lab::Prepare(std::move(options));
  qemu_plugin_register_vcpu_tb_trans_cb(id, eris::numa_lab::OnTranslate);
  qemu_plugin_register_atexit_cb(id, eris::numa_lab::OnExit, nullptr);
  return 0;
}
