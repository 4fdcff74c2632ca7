// What a turn of an AEU takes while a range of an object is copied to another AEU and back: the
// whole turn, with the rows that are lent, taken in and forgotten, and what is freed and compacted
// after them. Two AEUs are stepped by one thread, so a turn's time is the CPU time of its own work;
// nobody else uses them.
//
//   copy_turns [--kind index|two_part|bytes|hash|table|heap] [--rows 1000000] [--columns 8]
//              [--string 0] [--old none|updated|erased] [--pause-us 200] [--turns 200] [--rounds 3]
//
// `old`: of indexes, what has become of all rows while a snapshot is held: their versions change
// hands with them, and where they are erased nothing else does.
// `columns`: of tables, numbers. `string`: of byte strings the length of a value; of tables of one
// more column, 0: none. Half of the strings of tables are all different, half are one of eight.
// Each round is of a new object, whose cost nobody knows, and lasts for at least `turns` turns of
// more than a tenth of the pause. Prints one JSON object.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/routing/machine.h"
#include "engine/engine_impl.h"

namespace eris::bench {
namespace {

using engine::EngineImpl;
using nlohmann::json;

struct LabOptions {
  std::string kind = "index";
  uint64_t rows = 1'000'000;
  uint32_t columns = 8;
  uint32_t string = 0;
  std::string old = "none";
  uint32_t pause_us = 200;
  uint64_t turns = 200;
  uint32_t rounds = 3;

  bool is_table() const { return kind == "table" || kind == "heap"; }
};

constexpr char kObject[] = "rows";
constexpr uint64_t kSecondParts = 4;  // rows of a first part

void Must(const absl::Status& status) {
  if (!status.ok()) Die("copy_turns: " + std::string(status.message()));
}

uint64_t ThreadNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Neighbours look alike, and no value is another's.
uint64_t ValueOf(uint64_t row) { return row * 0x9e3779b97f4a7c15; }

class Lab {
 public:
  explicit Lab(const LabOptions& lab) : lab_(lab) {
    Options options;
    options.topology = "numa:1 core:2 pu:1";
    options.aeu_count = 2;
    options.memory_limit_bytes = uint64_t{4} << 30;
    // No keeper thread gives memory back here, and the AEUs' turns shall not do it either.
    options.memory_kept_bytes_max = options.memory_limit_bytes;
    options.version_bytes_max = options.memory_limit_bytes;
    options.balancer.max_pause_us = lab.pause_us;
    options.balancer.enabled = false;
    auto opened = EngineImpl::Open(options, EngineImpl::Threads::kNone);
    Must(opened.status());
    engine_ = *std::move(opened);
    session_ = engine_->NewSession();
  }

  json Run() {
    std::vector<uint64_t> all;
    uint64_t bytes = 0, rows = 0;
    uint32_t longest_pause_us = 0;
    for (uint32_t round = 0; round < lab_.rounds; ++round) {
      turns_.clear();
      Stepping([&] { Round(); });
      all.insert(all.end(), turns_.begin(), turns_.end());
    }
    for (const TransferRecord& one : engine_->TransferHistory()) {
      rows += one.rows;
      bytes += one.bytes;
      longest_pause_us = std::max(longest_pause_us, one.longest_pause_us);
    }
    Stepping([&] { engine_->Close(); });
    if (all.empty()) Die("copy_turns: nothing has moved");
    std::sort(all.begin(), all.end());
    uint64_t sum = 0;
    for (const uint64_t ns : all) sum += ns;
    const auto us = [&](double part) {
      return static_cast<double>(
                 all[static_cast<size_t>(part * static_cast<double>(all.size() - 1))]) *
             1e-3;
    };
    const uint64_t allowed_ns = uint64_t{1000} * lab_.pause_us;
    return {
        {"kind", lab_.kind},
        {"rows", lab_.rows},
        {"columns", lab_.is_table() ? lab_.columns : 0},
        {"string_bytes", lab_.string},
        {"old", lab_.old},
        {"pause_us", lab_.pause_us},
        {"turns", all.size()},
        {"median_us", us(0.5)},
        {"p99_us", us(0.99)},
        {"longest_us", us(1)},
        {"over_allowed", us(1) / lab_.pause_us},
        {"turns_over_allowed",
         std::count_if(all.begin(), all.end(), [&](uint64_t ns) { return ns > allowed_ns; })},
        {"longest_pause_us", longest_pause_us},
        {"rows_moved", rows},
        {"cpu_ns_row", static_cast<double>(sum) / static_cast<double>(std::max<uint64_t>(rows, 1))},
        {"mb_per_cpu_s", static_cast<double>(bytes) * 1e3 / static_cast<double>(sum)}};
  }

 private:
  // Runs `call`, which waits for AEUs, on a thread of its own and steps them meanwhile.
  template <class Call>
  void Stepping(Call call) {
    std::atomic<bool> done{false};
    std::thread thread([&] {
      call();
      done.store(true);
    });
    while (!done.load()) {
      bool worked = false;
      for (uint32_t i = 0; i < 2; ++i) {
        const uint64_t begin_ns = ThreadNs();
        const bool busy = engine_->aeu(AeuId{i}).Step({});
        const uint64_t ns = ThreadNs() - begin_ns;
        // Turns that look at nothing are no turns. relaxed: one more or less.
        if (measured_.load(std::memory_order_relaxed) && ns * 10 > uint64_t{1000} * lab_.pause_us) {
          turns_.push_back(ns);
          turns_counted_.fetch_add(1, std::memory_order_relaxed);
        }
        worked |= busy || engine_->aeu(AeuId{i}).HasWork();
      }
      if (!worked) sched_yield();
    }
    thread.join();
  }

  void Round() {
    Create();
    Fill();
    std::shared_ptr<Snapshot> held;
    if (lab_.old != "none") {
      auto snapshot = engine_->TakeSnapshot();
      Must(snapshot.status());
      held = *std::move(snapshot);
      lab_.old == "erased" ? Erase() : Fill();
    }
    absl::SleepFor(absl::Milliseconds(50));
    turns_counted_.store(0);
    measured_.store(true);
    const KeyRange leaving{.lo = lab_.rows / 8 * 2, .hi = lab_.rows / 2};
    for (uint32_t times = 0; turns_counted_.load() < lab_.turns && times < 200; ++times) {
      if (lab_.kind == "heap") {
        if (times == 1) break;
        Must(engine_->Rebalance(kObject, absl::InfiniteFuture(), nullptr).status());
      } else {
        Must(engine_->MoveRange(kObject, leaving, AeuId{1 - times % 2}, TransferKind::kCopy,
                                absl::InfiniteFuture(), nullptr));
      }
      // What has left is freed, and what stays is compacted.
      absl::SleepFor(absl::Milliseconds(100));
    }
    measured_.store(false);
    if (held != nullptr && held->aborted()) Die("copy_turns: the snapshot was given up");
    Must(engine_->Drop(kObject));
  }

  void Create() {
    const std::vector<uint64_t> split_points = {lab_.rows / 2};
    if (!lab_.is_table()) {
      CreateOptions create{.split_points = split_points};
      if (lab_.kind == "hash") create.kind = ObjectKind::kHash;
      if (lab_.kind == "two_part") create.key_type = {ColumnType::kUint64, ColumnType::kUint64};
      if (lab_.kind == "bytes") create.value_type = ColumnType::kString;
      return Must(engine_->Create(kObject, create).status());
    }
    Schema schema{.columns = {{.name = "key", .type = ColumnType::kUint64}}};
    if (lab_.kind == "table") schema.key = {0};
    for (uint32_t i = 1; i < lab_.columns; ++i) {
      schema.columns.push_back({.name = absl::StrCat("c", i), .type = ColumnType::kUint64});
    }
    if (lab_.string > 0) schema.columns.push_back({.name = "text", .type = ColumnType::kString});
    TableOptions table;
    if (lab_.kind == "table") table.split_points = split_points;
    Must(engine_->CreateTable(kObject, schema, table).status());
  }

  void Text(uint64_t row, std::string& text) const {
    const std::string digits =
        absl::StrCat(ValueOf(lab_.is_table() && row % 2 == 0 ? row % 16 : row));
    const size_t end = text.size() + lab_.string;
    while (text.size() < end) text += digits;
    text.resize(end);
  }

  void Fill() {
    const uint64_t row_bytes = (lab_.is_table() ? 8 * lab_.columns : 16) + lab_.string;
    const uint64_t most = std::clamp<uint64_t>((8u << 20) / row_bytes, 1, 65536);
    const uint64_t batch = lab_.kind == "heap" ? std::min<uint64_t>(most, 1024) : most;
    for (uint64_t row = 0; row < lab_.rows; row += batch) {
      const uint64_t end = std::min(lab_.rows, row + batch);
      lab_.is_table() ? FillTable(row, end) : FillIndex(row, end);
    }
  }

  void Erase() {
    constexpr uint64_t kBatch = 65536;
    for (uint64_t row = 0; row < lab_.rows; row += kBatch) {
      std::vector<uint64_t> keys, seconds;
      for (uint64_t i = row; i < std::min(lab_.rows, row + kBatch); ++i) {
        keys.push_back(lab_.kind == "two_part" ? i / kSecondParts * kSecondParts : i);
        seconds.push_back(i % kSecondParts);
      }
      Must(session_->Erase(kObject,
                           lab_.kind == "two_part" ? KeyColumns{keys, seconds} : KeyColumns{keys}));
    }
  }

  void FillIndex(uint64_t row, uint64_t end) {
    std::vector<uint64_t> keys, seconds, values;
    std::vector<std::string> texts;
    for (; row < end; ++row) {
      keys.push_back(lab_.kind == "two_part" ? row / kSecondParts * kSecondParts : row);
      seconds.push_back(row % kSecondParts);
      values.push_back(ValueOf(row));
      if (lab_.kind == "bytes") Text(row, texts.emplace_back());
    }
    if (lab_.kind == "bytes") {
      const std::vector<absl::string_view> views(texts.begin(), texts.end());
      return Must(session_->UpsertBytes(kObject, keys, views));
    }
    const KeyColumns columns =
        lab_.kind == "two_part" ? KeyColumns{keys, seconds} : KeyColumns{keys};
    Must(session_->Upsert(kObject, columns, values));
  }

  void FillTable(uint64_t row, uint64_t end) {
    std::vector<uint64_t> keys, numbers;
    std::vector<uint32_t> offsets{0};
    std::string text;
    for (; row < end; ++row) {
      keys.push_back(row);
      numbers.push_back(ValueOf(row));
      if (lab_.string > 0) Text(row, text);
      offsets.push_back(static_cast<uint32_t>(text.size()));
    }
    std::vector<ColumnView> columns{{.values = keys.data()}};
    columns.resize(lab_.columns, {.values = numbers.data()});
    if (lab_.string > 0) columns.push_back({.values = text.data(), .offsets = offsets.data()});
    if (lab_.kind == "table") {
      return Must(session_->UpsertRows(kObject, RowBatch{keys.size(), columns}));
    }
    // Each append is a piece, and the AEUs take turns: all but single rows go to one of them.
    Must(session_->AppendRows(kObject, RowBatch{keys.size(), columns}));
    Must(session_->AppendRows(kObject, RowBatch{1, columns}));
  }

  const LabOptions& lab_;
  std::unique_ptr<EngineImpl> engine_;
  std::unique_ptr<Session> session_;
  std::vector<uint64_t> turns_;  // CPU time of each
  // Shared: written by the thread that moves, read by the one that steps; and the other way round.
  std::atomic<bool> measured_{false};
  std::atomic<uint64_t> turns_counted_{0};
};

LabOptions Parse(int argc, char** argv) {
  LabOptions lab;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    const auto number = std::strtoull(value.c_str(), nullptr, 0);
    if (flag == "--kind") {
      lab.kind = value;
    } else if (flag == "--rows") {
      lab.rows = number;
    } else if (flag == "--columns") {
      lab.columns = static_cast<uint32_t>(number);
    } else if (flag == "--string") {
      lab.string = static_cast<uint32_t>(number);
    } else if (flag == "--old") {
      lab.old = value;
    } else if (flag == "--pause-us") {
      lab.pause_us = static_cast<uint32_t>(number);
    } else if (flag == "--turns") {
      lab.turns = number;
    } else if (flag == "--rounds") {
      lab.rounds = static_cast<uint32_t>(number);
    } else {
      Die("copy_turns: no flag " + flag);
    }
  }
  if (argc % 2 == 0) Die("copy_turns: " + std::string(argv[argc - 1]) + " wants a value");
  const std::vector<std::string> kinds = {"index", "two_part", "bytes", "hash", "table", "heap"};
  if (std::find(kinds.begin(), kinds.end(), lab.kind) == kinds.end()) {
    Die("copy_turns: no kind " + lab.kind);
  }
  const bool no_index = lab.is_table() || lab.kind == "hash";
  if (lab.old != "none" && (no_index || (lab.old != "updated" && lab.old != "erased"))) {
    Die("copy_turns: no old rows that are " + lab.old + " in " + lab.kind);
  }
  if (lab.rows < 64 || lab.columns < 2) Die("copy_turns: 64 rows, two columns at least");
  return lab;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  const eris::bench::LabOptions options = eris::bench::Parse(argc, argv);
  eris::bench::Lab lab(options);
  std::cout << lab.Run().dump() << std::endl;
  return 0;
}
