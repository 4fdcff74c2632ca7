// Measures the cost of moving a range for the two AEUs, only in storage: one thread, no commands,
// and two caches of one manager, as two AEUs of a NumaNode have them.
//
//   transfer_lab [--keys <millions>] [--rounds 5] [--chunks 4096,16384,65536,262144]
//
// link: a partition of twice the keys gives its upper half to a neighbour: SplitAt, Rehome, Absorb.
// copy: a partition gives all of its keys in chunks: Lend, Ingest, Forget in slices of the chunk's
// rows. The same round also measures the reference for a copy: all rows are read into two arrays,
// and a new tree is built of them at once (rebuild), with memory that has been used before. A row
// has 16 bytes.
//
// leap: a partition goes to a cache of another (synthetic) NumaNode: Rehome, then BringHome in
// pieces of 256 KiB, in which the old owner takes its blocks in. The target's memory has been used
// before, as for a copy.
// leap_half: a partition that was filled in key order gives its upper half to such a cache, as an
// AEU takes it in: a census, superblocks that change hands and get new pages, the rest block by
// block.
//
// Prints one JSON object: medians of the rounds; steps in microseconds of the thread's own time,
// the longest of any round.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/balancer/homecoming_steps.h"
#include "bench/key_order.h"
#include "bench/memory/our_memory.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "storage/home_work.h"
#include "storage/index/index_partition.h"
#include "storage/index/versioned_partition.h"
#include "storage/ordered_partition.h"
#include "storage/tree/tree_scanner.h"

namespace eris::bench {
namespace {

using storage::ExchangeChunk;
using storage::Key;
using storage::OrderedPartition;
using storage::Partition;
using storage::Range;
using Json = nlohmann::ordered_json;

constexpr double kBytesPerRow = 16;

void Check(const absl::Status& status) {
  if (!status.ok()) Die(std::string(status.message()));
}

std::vector<uint64_t> SortedKeys(uint64_t count, bool sparse) {
  std::vector<uint64_t> keys(count);
  for (uint64_t i = 0; i < count; ++i) keys[i] = KeyAt(i, sparse);
  if (sparse) std::sort(keys.begin(), keys.end());
  return keys;
}

// As in an AEU: an index partition wrapped for versions.
std::unique_ptr<OrderedPartition> NewPartition(const Range& range, memory::LocalCache& cache) {
  auto rows = storage::IndexPartition::Create(range, cache);
  Check(rows.status());
  auto partition = storage::VersionedPartition::Create(*std::move(rows), cache, {});
  Check(partition.status());
  return *std::move(partition);
}

// Upserts in random order, so that runs and TreeNodes have the state that normal use leaves; or in
// key order.
void Fill(Partition& partition, const std::vector<uint64_t>& keys, memory::LocalCache& cache,
          bool in_order = false) {
  constexpr uint32_t kBatch = 1024;
  std::vector<uint64_t> batch(kBatch);
  std::vector<uint32_t> positions(kBatch);
  std::vector<storage::KeyState> states(kBatch);
  for (uint32_t i = 0; i < kBatch; ++i) positions[i] = i;
  uint64_t walk = 1;
  while (walk < keys.size()) walk *= 2;
  uint32_t count = 0;
  const auto flush = [&] {
    const storage::BatchPart part{.count = count,
                                  .keys = batch.data(),
                                  .values_in = batch.data(),
                                  .positions = positions.data(),
                                  .states_out = states.data()};
    partition.Execute({.operation = storage::Operation::kUpsert, .parts = {&part, 1}});
    OurMemory::EndTurn(cache);
    count = 0;
  };
  for (uint64_t i = 0; i < walk; ++i) {
    const uint64_t at = in_order ? i : PermutedAt(i, walk);
    if (at >= keys.size()) continue;
    batch[count++] = keys[at];
    if (count == kBatch) flush();
  }
  if (count > 0) flush();
  if (partition.size() != keys.size()) Die("no memory");
}

Json Link(const std::vector<uint64_t>& keys, uint32_t rounds) {
  OurMemory memory(2);
  const uint64_t half = keys.size() / 2;
  // The upper half of one AEU's range moves to the other AEU, which has the range above.
  const uint64_t end = keys.back() / 2 + keys[half] / 2;  // about three quarters
  const uint64_t cut = keys[keys.size() / 4];
  auto source = NewPartition(Range{}, memory.cache(0));
  Fill(*source, keys, memory.cache(0));
  std::vector<double> total_us, split_us, absorb_us;
  auto target = *source->SplitAt(Key::FromU64(end));
  Check(target->Rehome(memory.cache(1)));
  uint64_t moved = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    Steps split, absorb;
    const uint64_t begin_ns = ThreadNs();
    std::unique_ptr<OrderedPartition> linked;
    split.Time([&] { linked = *source->SplitAt(Key::FromU64(cut)); });
    moved = linked->size();
    absorb.Time([&] {
      Check(linked->Rehome(memory.cache(1)));
      Check(target->Absorb(*linked));
    });
    total_us.push_back(static_cast<double>(ThreadNs() - begin_ns) * 1e-3);
    split_us.push_back(static_cast<double>(split.ns) * 1e-3);
    absorb_us.push_back(static_cast<double>(absorb.ns) * 1e-3);
    // And back.
    auto back = std::move(target);
    target = *back->SplitAt(Key::FromU64(end));
    Check(back->Rehome(memory.cache(0)));
    Check(source->Absorb(*back));
    OurMemory::EndTurn(memory.cache(0));
    OurMemory::EndTurn(memory.cache(1));
  }
  if (source->size() + target->size() != keys.size()) Die("rows were lost");
  return {{"keys", moved},
          {"us", MedianOf(total_us)},
          {"us_max", *std::max_element(total_us.begin(), total_us.end())},
          {"split_us", MedianOf(split_us)},
          {"rehome_absorb_us", MedianOf(absorb_us)}};
}

// Rows per second of a plain flatten and rebuild. REQUIRES: room for all rows in both columns.
double Rebuild(const storage::PrefixTree& tree, OurMemory& memory, std::vector<uint64_t>& keys,
               std::vector<uint64_t>& values) {
  const uint64_t begin_ns = ThreadNs();
  storage::TreeScanner scanner(tree, 0);
  scanner.Read(~uint64_t{0}, keys.data(), values.data(), static_cast<uint32_t>(keys.size()));
  storage::PrefixTree built(memory.cache(1));
  if (!built.Build(keys.data(), values.data(), keys.size())) Die("no memory");
  const auto ns = static_cast<double>(ThreadNs() - begin_ns);
  return static_cast<double>(keys.size()) * 1e9 / ns;
}

Json Copy(const std::vector<uint64_t>& keys, uint32_t chunk_rows, uint32_t rounds) {
  std::vector<double> copied, rebuilt, ratios, lend_ns, ingest_ns, forget_ns;
  Steps longest_lend, longest_ingest, longest_forget;
  std::vector<uint64_t> flat_keys(keys.size());
  std::vector<uint64_t> flat_values(keys.size());
  for (uint32_t round = 0; round < rounds; ++round) {
    OurMemory memory(2);
    auto source = NewPartition(Range{}, memory.cache(0));
    Fill(*source, keys, memory.cache(0));
    const auto& rows = static_cast<const storage::VersionedPartition&>(*source).rows();
    const auto& tree = static_cast<const storage::IndexPartition&>(rows).tree();
    Rebuild(tree, memory, flat_keys, flat_values);
    rebuilt.push_back(Rebuild(tree, memory, flat_keys, flat_values));
    OurMemory::EndTurn(memory.cache(1));

    auto target = NewPartition(Range{Key{}, Key{}}, memory.cache(1));
    ExchangeChunk chunk;
    Steps lend, ingest, forget;
    const uint64_t begin_ns = ThreadNs();
    while (!source->range().Empty()) {
      lend.Time(
          [&] { Check(source->Lend(source->range(), Partition::End::kLow, chunk_rows, chunk)); });
      ingest.Time([&] { Check(target->Ingest(chunk)); });
      bool more = true;
      while (more) {
        forget.Time([&] {
          more = source->Forget(storage::SnapshotView(), chunk_rows);
          OurMemory::EndTurn(memory.cache(0));
        });
      }
    }
    const auto ns = static_cast<double>(ThreadNs() - begin_ns);
    if (target->size() != keys.size()) Die("rows were lost");
    const auto count = static_cast<double>(keys.size());
    copied.push_back(count * 1e9 / ns);
    ratios.push_back(copied.back() / rebuilt.back());
    lend_ns.push_back(static_cast<double>(lend.ns) / count);
    ingest_ns.push_back(static_cast<double>(ingest.ns) / count);
    forget_ns.push_back(static_cast<double>(forget.ns) / count);
    longest_lend.longest_ns = std::max(longest_lend.longest_ns, lend.longest_ns);
    longest_ingest.longest_ns = std::max(longest_ingest.longest_ns, ingest.longest_ns);
    longest_forget.longest_ns = std::max(longest_forget.longest_ns, forget.longest_ns);
  }
  const auto us = [](const Steps& steps) { return static_cast<double>(steps.longest_ns) * 1e-3; };
  return {{"chunk_rows", chunk_rows},
          {"gb_s", MedianOf(copied) * kBytesPerRow * 1e-9},
          {"rebuild_gb_s", MedianOf(rebuilt) * kBytesPerRow * 1e-9},
          {"ratio", MedianOf(ratios)},
          {"lend_ns_row", MedianOf(lend_ns)},
          {"ingest_ns_row", MedianOf(ingest_ns)},
          {"forget_ns_row", MedianOf(forget_ns)},
          {"lend_us_max", us(longest_lend)},
          {"ingest_us_max", us(longest_ingest)},
          {"forget_us_max", us(longest_forget)}};
}

Json Leap(const std::vector<uint64_t>& keys, uint32_t rounds) {
  constexpr int64_t kPieceBytes = 256 << 10;
  std::vector<double> hand_over_us, home_ns, bytes;
  uint64_t longest_ns = 0;
  std::vector<uint64_t> flat_keys(keys.size());
  std::vector<uint64_t> flat_values(keys.size());
  for (uint32_t round = 0; round < rounds; ++round) {
    OurMemory memory(2, 2);
    auto partition = NewPartition(Range{}, memory.cache(0));
    Fill(*partition, keys, memory.cache(0));
    const auto& rows = static_cast<const storage::VersionedPartition&>(*partition).rows();
    const auto& tree = static_cast<const storage::IndexPartition&>(rows).tree();
    Rebuild(tree, memory, flat_keys, flat_values);
    OurMemory::EndTurn(memory.cache(1));

    Steps hand_over, piece;
    hand_over.Time([&] { Check(partition->Rehome(memory.cache(1))); });
    storage::HomeWork work;
    for (bool complete = false; !complete;) {
      work.bytes_left = kPieceBytes;
      piece.Time([&] {
        complete = partition->BringHome(work);
        memory.cache(1).EndTurn();
      });
      piece.Time([&] { OurMemory::EndTurn(memory.cache(0)); });
    }
    if (work.refused || partition->size() != keys.size()) Die("rows were left");
    hand_over_us.push_back(static_cast<double>(hand_over.ns) * 1e-3);
    home_ns.push_back(static_cast<double>(piece.ns) / static_cast<double>(keys.size()));
    bytes.push_back(static_cast<double>(work.moved_bytes) / static_cast<double>(keys.size()));
    longest_ns = std::max(longest_ns, piece.longest_ns);
  }
  return {{"hand_over_us", MedianOf(hand_over_us)},
          {"home_ns_row", MedianOf(home_ns)},
          {"bytes_row", MedianOf(bytes)},
          {"piece_us_max", static_cast<double>(longest_ns) * 1e-3}};
}

Json LeapHalf(const std::vector<uint64_t>& keys, uint32_t rounds) {
  std::vector<double> home_ns, census_ns, shares, superblock_us;
  for (uint32_t round = 0; round < rounds; ++round) {
    OurMemory memory(2, 2);
    // As much as will come: the target's memory has been used before.
    std::vector<uint64_t> flat_keys(keys.size());
    std::vector<uint64_t> flat_values(keys.size());
    auto whole = NewPartition(Range{}, memory.cache(0));
    Fill(*whole, keys, memory.cache(0), /*in_order=*/true);
    const auto& rows = static_cast<const storage::VersionedPartition&>(*whole).rows();
    const auto& tree = static_cast<const storage::IndexPartition&>(rows).tree();
    Rebuild(tree, memory, flat_keys, flat_values);
    OurMemory::EndTurn(memory.cache(1));
    auto cut = whole->SplitAt(Key{keys[keys.size() / 2]});
    Check(cut.status());
    OrderedPartition& half = **cut;
    Check(half.Rehome(memory.cache(1)));

    const Homecoming home = ComeHome(half, memory);
    const auto count = static_cast<double>(half.size());
    home_ns.push_back(static_cast<double>(home.ns()) / count);
    census_ns.push_back(static_cast<double>(home.census.ns) / count);
    shares.push_back(home.share_by_superblock());
    superblock_us.push_back(static_cast<double>(home.superblocks.longest_ns) * 1e-3);
    half.Abandon();
    whole->Abandon();
  }
  return {{"home_ns_row", MedianOf(home_ns)},
          {"census_ns_row", MedianOf(census_ns)},
          {"share_by_superblock", MedianOf(shares)},
          {"superblock_us_max", *std::max_element(superblock_us.begin(), superblock_us.end())}};
}

int Main(int argc, char** argv) {
  uint32_t rounds = 5;
  std::vector<uint32_t> chunks = {4096, 16384, 65536, 262144};
  double millions = 10;
  ParseFlags(argc, argv,
             {{"--keys", millions, 0.01, 200},
              {"--rounds", rounds, 1, 100},
              {"--chunks", chunks, 1, ~0u}});
  const auto count = static_cast<uint64_t>(millions * 1e6);
  PinTo(0);
  Json out = {{"keys", count}, {"rounds", rounds}};
  for (const bool sparse : {false, true}) {
    const char* const name = sparse ? "sparse" : "dense";
    out[name]["link"] = Link(SortedKeys(2 * count, sparse), 20 * rounds);
    const std::vector<uint64_t> keys = SortedKeys(count, sparse);
    out[name]["leap"] = Leap(keys, rounds);
    out[name]["leap_half"] = LeapHalf(keys, rounds);
    for (const uint32_t chunk_rows : chunks) {
      out[name]["copy"].push_back(Copy(keys, chunk_rows, rounds));
    }
  }
  std::puts(out.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
