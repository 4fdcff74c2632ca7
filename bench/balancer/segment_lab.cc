// Measures what it costs the two AEUs when a heap table's rows go to another NumaNode, only in
// storage: one thread, no commands, and two caches of (synthetic) NumaNodes.
//
//   segment_lab [--rows <millions>] [--rounds 5] [--columns 12] [--string 33] [--chunk 16384]
//
// leap: all whole segments change hands, and their memory follows: superblocks get new pages, the
// rest comes block by block. copy: as many rows by Lend, Ingest and Forget in chunks. A row has
// numbers of eight bytes and a string; all strings differ. The target's memory has been used before
// by as many rows. Prints one JSON object: medians of the rounds, of the thread's own time.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/balancer/homecoming_steps.h"
#include "bench/memory/our_memory.h"
#include "bench/must.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "storage/table/table_partition.h"

namespace eris::bench {
namespace {

using storage::ExchangeChunk;
using storage::Key;
using storage::Partition;
using storage::Range;
using storage::TableLayout;
using storage::TablePartition;
using Json = nlohmann::ordered_json;

constexpr uint32_t kBatch = 4096;

struct LabOptions {
  double millions = 2;
  uint32_t rounds = 5;
  uint32_t columns = 12;
  uint32_t string = 33;
  uint32_t chunk_rows = 16'384;

  uint64_t rows() const { return static_cast<uint64_t>(millions * 1e6) / kBatch * kBatch; }
};

class SegmentLab {
 public:
  explicit SegmentLab(const LabOptions& options) : options_(options) {
    Schema schema;
    for (uint32_t i = 0; i < options.columns; ++i) {
      schema.columns.push_back({.name = "c" + std::to_string(i), .type = ColumnType::kUint64});
    }
    schema.columns.push_back({.name = "text", .type = ColumnType::kString});
    layout_ = Must(TableLayout::Create(schema));
    numbers_.resize(kBatch);
    offsets_.resize(kBatch + 1);
  }

  // ns of both AEUs a row.
  double Copy() {
    OurMemory memory(2, 2);
    const auto source = Part(0, memory.cache(0)), target = Part(1, memory.cache(1));
    Use(memory);
    Fill(*source, memory.cache(0));
    ExchangeChunk chunk;
    Steps steps;
    while (source->size() > 0) {
      steps.Time([&] {
        Must(source->Lend(source->range(), Partition::End::kHigh, options_.chunk_rows, chunk));
      });
      steps.Time([&] {
        Must(target->Ingest(chunk));
        OurMemory::EndTurn(memory.cache(1));
      });
      steps.Time([&] {
        source->Forget(view_, options_.chunk_rows);
        while (source->Maintain(view_, options_.chunk_rows)) {
        }
        OurMemory::EndTurn(memory.cache(0));
      });
    }
    if (target->size() != options_.rows()) Die("rows were lost");
    return static_cast<double>(steps.ns) / static_cast<double>(options_.rows());
  }

  struct Leapt {
    double hand_over_us;
    double home_ns_row;
    double superblocks_ns_row;  // part of it
    double share_by_superblock;
  };
  Leapt Leap() {
    OurMemory memory(2, 2);
    const auto source = Part(0, memory.cache(0)), target = Part(1, memory.cache(1));
    Use(memory);
    Fill(*source, memory.cache(0));
    Steps hand_over;
    hand_over.Time([&] {
      while (source->size() > 0) {
        storage::SegmentsOut segments;
        Must(source->CutSegments(options_.rows(), view_, segments));
        Must(target->TakeSegments(segments));
        source->SegmentsAreGone();
      }
    });
    memory.cache(0).GaveBlocksAway();
    const Homecoming home = ComeHome(*target, memory);
    if (target->size() != options_.rows()) Die("rows were lost");
    return {static_cast<double>(hand_over.ns) * 1e-3,
            static_cast<double>(home.ns()) / static_cast<double>(options_.rows()),
            static_cast<double>(home.superblocks.ns) / static_cast<double>(options_.rows()),
            home.share_by_superblock()};
  }

 private:
  std::unique_ptr<TablePartition> Part(uint64_t number, memory::LocalCache& cache) {
    auto part = Must(
        TablePartition::Create({Key::FromU64(number), Key::FromU64(number + 1)}, cache, layout_));
    part->SetSnapshots(&view_);
    return part;
  }
  void Fill(TablePartition& part, memory::LocalCache& cache) {
    for (uint64_t first = 0; first < options_.rows(); first += kBatch) {
      text_.clear();
      for (uint32_t i = 0; i < kBatch; ++i) {
        numbers_[i] = (first + i) * 0x9e3779b97f4a7c15;
        const std::string number = std::to_string(numbers_[i]);
        const size_t end = text_.size() + options_.string;
        while (text_.size() < end) text_ += number;
        text_.resize(end);
        offsets_[i + 1] = static_cast<uint32_t>(end);
      }
      std::vector<ColumnView> views(options_.columns, ColumnView{.values = numbers_.data()});
      views.push_back({.values = text_.data(), .offsets = offsets_.data()});
      if (!part.Append({kBatch, views}, 0, kBatch, view_)) Die("no memory");
      OurMemory::EndTurn(cache);
    }
  }
  // The target's pages have been there before.
  void Use(OurMemory& memory) {
    Fill(*Part(9, memory.cache(1)), memory.cache(1));
    OurMemory::EndTurn(memory.cache(1));
  }

  const LabOptions options_;
  const storage::SnapshotView view_{};
  std::shared_ptr<const TableLayout> layout_;
  std::vector<uint64_t> numbers_;
  std::string text_;
  std::vector<uint32_t> offsets_;
};

int Main(int argc, char** argv) {
  LabOptions options;
  ParseFlags(argc, argv,
             {{"--rows", options.millions, 0.01, 100},
              {"--rounds", options.rounds, 1, 100},
              {"--columns", options.columns, 1, 255},
              {"--string", options.string, 1, 1000},
              {"--chunk", options.chunk_rows, 1, ~0u}});
  PinTo(0);
  SegmentLab lab(options);
  std::vector<double> copy_ns, home_ns, superblocks_ns, hand_over_us, shares, ratios;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    copy_ns.push_back(lab.Copy());
    const SegmentLab::Leapt leapt = lab.Leap();
    home_ns.push_back(leapt.home_ns_row);
    superblocks_ns.push_back(leapt.superblocks_ns_row);
    hand_over_us.push_back(leapt.hand_over_us);
    shares.push_back(leapt.share_by_superblock);
    ratios.push_back(home_ns.back() / copy_ns.back());
  }
  const Json out = {{"rows", options.rows()},
                    {"row_bytes", 8 * options.columns + options.string},
                    {"copy_ns_row", MedianOf(copy_ns)},
                    {"leap_hand_over_us", MedianOf(hand_over_us)},
                    {"leap_home_ns_row", MedianOf(home_ns)},
                    {"superblocks_ns_row", MedianOf(superblocks_ns)},
                    {"leap_over_copy", MedianOf(ratios)},
                    {"share_by_superblock", MedianOf(shares)}};
  std::puts(out.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
