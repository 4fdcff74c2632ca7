// The AEUs of a query without an engine: their parts, on two NumaNodes, and stages that all of them
// do in pieces, in any order. At its end all AEUs leave, and nothing may be left.
#ifndef ERIS_TESTS_UNIT_QUERY_STAGE_LAB_H_
#define ERIS_TESTS_UNIT_QUERY_STAGE_LAB_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/query/query_part.h"
#include "storage/query/stage_run.h"
#include "tests/unit/query/query_lab.h"
#include "tests/unit/storage/two_numa_nodes.h"

namespace eris::storage {

// Equal for the same values.
inline std::string RowText(std::span<const EnvelopeColumn> columns, const CellRow& row) {
  std::string text;
  for (size_t c = 0; c < columns.size(); ++c) {
    const Cell& cell = row[c];
    if (cell.null) {
      text += "null";
    } else if (IsByteString(columns[c].type)) {
      text += std::to_string(cell.text.size()) + ":" + cell.text;
    } else if (columns[c].type == ColumnType::kFloat64) {
      text.append(reinterpret_cast<const char*>(&cell.real), sizeof cell.real);
    } else {
      text.append(reinterpret_cast<const char*>(&cell.number), sizeof cell.number);
    }
    text += '|';
  }
  return text;
}

class StageLab {
 public:
  StageLab(uint32_t aeus, uint32_t sets, Random& random, uint64_t budget_bytes = uint64_t{1} << 40)
      : budget(budget_bytes), random_(random) {
    all.memory = &budget;
    all.columns.resize(sets);
    // The last one is the engine's.
    for (uint32_t aeu = 0; aeu <= aeus; ++aeu) {
      all.filter_makers.push_back(aeu % 2);
      Node& node = aeu % 2 == 0 ? nodes.source : nodes.target;
      caches.push_back(node.manager.NewCache());
      all.parts.push_back(std::make_unique<QueryPart>(all, aeu, node.manager, sets));
      part(aeu).Enter(*caches.back());
    }
  }
  ~StageLab() {
    for (memory::LocalCache* const cache : caches) cache->ArmFailures(0, kOnce);
    EXPECT_TRUE(Run({{LeaveTask{}}}).ok());
    while (engine().FreeSome()) {
    }
    EXPECT_EQ(budget.used(), 0u);
    int64_t used = 0;
    for (uint32_t i = 0; i < all.parts.size(); ++i) used += part(i).memory().used_bytes();
    EXPECT_EQ(used, 0);
    SendHome();
    EXPECT_EQ(nodes.source.manager.Account().used_bytes, 0u);
    EXPECT_EQ(nodes.target.manager.Account().used_bytes, 0u);
  }

  static constexpr auto kOnce = memory::FailurePoint::Mode::kOnce;

  uint32_t aeus() const { return all.aeus(); }
  QueryPart& part(uint32_t i) { return *all.parts[i]; }
  QueryPart& engine() { return *all.parts.back(); }
  void SetColumns(RowSet set, const std::vector<ColumnType>& types) {
    all.columns[set].clear();
    for (const ColumnType type : types) all.columns[set].push_back({.type = type});
  }

  // Spreads the rows over the first AEUs, at least so many.
  void Put(RowSet set, const std::vector<CellRow>& rows, uint32_t envelope_rows_max = 700,
           uint32_t aeus_least = 1) {
    std::vector<std::vector<CellRow>> shares(aeus());
    const uint64_t used = aeus_least + random_() % (aeus() + 1 - aeus_least);
    for (const CellRow& row : rows) shares[random_() % used].push_back(row);
    for (uint32_t aeu = 0; aeu < aeus(); ++aeu) {
      EnvelopeList& list = part(aeu).Output(set);
      AddRows(part(aeu).memory(), list, shares[aeu], random_, envelope_rows_max);
    }
  }

  // All AEUs do the stage, or only `one`. The first error, which stops the others.
  absl::Status Run(const Stage& stage, int one = -1) {
    std::vector<std::unique_ptr<StageRun>> runs;
    for (uint32_t aeu = 0; aeu < aeus(); ++aeu) {
      if (one >= 0 && aeu != static_cast<uint32_t>(one)) continue;
      runs.push_back(std::make_unique<StageRun>(part(aeu), stage));
    }
    absl::Status status;
    while (!runs.empty() && status.ok()) {
      const auto run = runs.begin() + static_cast<ptrdiff_t>(random_() % runs.size());
      const absl::StatusOr<bool> more = (*run)->Advance();
      ++pieces;
      (*run)->Took(random_() % 2 * 1'000'000);  // pieces of all sizes
      status = more.status();
      if (more.ok() && !*more) runs.erase(run);
    }
    runs.clear();
    SendHome();
    return status;
  }
  absl::Status Run(const std::vector<Stage>& stages) {
    for (const Stage& stage : stages) {
      absl::Status status = Run(stage);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // The rows that one has of a set.
  std::vector<CellRow> RowsOf(uint32_t i, RowSet set) {
    std::vector<CellRow> rows;
    const EnvelopeList* const list = part(i).list(set);
    for (uint32_t e = 0; list != nullptr && e < list->size(); ++e) {
      for (uint32_t r = 0; r < (*list)[e].rows(); ++r) {
        CellRow& row = rows.emplace_back();
        for (uint32_t c = 0; c < list->columns().size(); ++c) {
          row.push_back(CellAt((*list)[e].column(c), r));
        }
      }
    }
    return rows;
  }
  // From all AEUs, sorted.
  std::vector<std::string> TextsOf(RowSet set) {
    std::vector<std::string> texts;
    for (uint32_t aeu = 0; aeu < aeus(); ++aeu) {
      for (const CellRow& row : RowsOf(aeu, set)) texts.push_back(RowText(all.columns[set], row));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  std::vector<std::string> TextsOf(RowSet set, const std::vector<CellRow>& rows) const {
    std::vector<std::string> texts;
    for (const CellRow& row : rows) texts.push_back(RowText(all.columns[set], row));
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  int64_t used_bytes() {
    int64_t used = 0;
    for (const auto& one : all.parts) used += one->memory().used_bytes();
    return used;
  }

  Nodes nodes;
  RunMemory budget;
  std::vector<memory::LocalCache*> caches;  // by part
  QueryParts all;
  uint64_t pieces = 0;

 private:
  void SendHome() {
    for (int round = 0; round < 3; ++round) {
      for (memory::LocalCache* const cache : caches) {
        cache->EndTurn();
        while (cache->Collect()) {
        }
      }
    }
  }

  Random& random_;
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_QUERY_STAGE_LAB_H_
