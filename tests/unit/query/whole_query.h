// A query that uses every kind of stage, and its answer computed row by row.
#ifndef ERIS_TESTS_UNIT_QUERY_WHOLE_QUERY_H_
#define ERIS_TESTS_UNIT_QUERY_WHOLE_QUERY_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/query/plans/expression_tools.h"
#include "storage/query/stage.h"
#include "storage/table/plan/table_plan.h"
#include "tests/unit/query/query_lab.h"
#include "tests/unit/query/stage_lab.h"

namespace eris::storage {

// A query that uses every kind of task: a join and groups of what was exchanged, sorted at home.
struct WholeQuery {
  static constexpr int kNullsPercent = 20;
  static constexpr RowSet kLeft = 0, kRight = 1, kSentLeft = 2, kSentRight = 3, kJoined = 4,
                          kMapped = 5, kCopied = 6, kShared = 7, kSorted = 8, kSets = 9;
  // `divided`: all that can be is divided into free tasks.
  explicit WholeQuery(JoinType type = JoinType::kInner, bool divided = false) {
    for (const char* const name : {"a", "b", "c"}) {
      const ColumnType column = name[0] == 'b' ? ColumnType::kString : ColumnType::kInt64;
      schema.columns.push_back({name, column, 0, true});
    }
    JoinTask join{.left_schema = schema,
                  .right_schema = schema,
                  .left = kSentLeft,
                  .right = kSentRight,
                  .to = kJoined};
    join.step.type = type;
    join.step.keys = {{.left = 0, .right = 0}, {.left = 1, .right = 1}};
    const bool both = type == JoinType::kInner || type == JoinType::kLeft;
    join.step.columns = both ? std::vector<uint32_t>{0, 1, 5} : std::vector<uint32_t>{0, 1, 2};
    Query filter;
    using namespace expressions;
    filter.filter = NotEqual(Field(2), Literal(1)) || IsNull(Field(2));
    plan = *TablePlan::Create(NamedByField(schema.columns), filter);
    SortStep sort;
    sort.keys = {{.column = 0}, {.column = 1}, {.column = 2}};
    const Division division = divided ? Division::kEnvelopes : Division::kNone;
    join.division = division;
    const MapTask map{
        .plan = plan, .from = kJoined, .to = kMapped, .division = division, .follows = divided};
    const SendTask left{
        .from = kLeft, .to = kSentLeft, .keys = {0, 1}, .nulls_stay = true, .division = division};
    const SendTask right{
        .from = kRight, .to = kSentRight, .keys = {0, 1}, .nulls_stay = true, .division = division};
    everywhere = {{{left, right}},
                  {{ReceiveTask{kSentLeft}, ReceiveTask{kSentRight}, join, map}},
                  {{FreeTask{{kSentLeft, kSentRight, kJoined}}}}};
    at_home = {{CopyTask{kMapped, kCopied}, ShareTask{kMapped, kShared, kCopied},
                SortTask{.step = sort, .from = kShared, .to = kSorted}}};
  }
  void Fill(StageLab& lab, size_t rows, Random& random) const {
    for (RowSet set = 0; set < kSets; ++set) {
      lab.SetColumns(set, {ColumnType::kInt64, ColumnType::kString, ColumnType::kInt64});
    }
    for (const RowSet set : {kLeft, kRight}) {
      lab.Put(set, RandomRows(lab.all.columns[set], rows, Values::kFew, kNullsPercent, random),
              100);
    }
  }
  absl::Status Run(StageLab& lab) const {
    absl::Status status = lab.Run(everywhere);
    return status.ok() ? lab.Run(at_home, static_cast<int>(lab.aeus() - 1)) : status;
  }

  Schema schema;
  std::shared_ptr<const TablePlan> plan;
  std::vector<Stage> everywhere;
  Stage at_home;
};

// Its rows before they are sorted, computed row by row.
inline std::vector<std::string> JoinedRows(StageLab& lab, JoinType type) {
  const auto& columns = lab.all.columns[0];
  std::multimap<std::string, CellRow> right;
  std::vector<CellRow> answer;
  const auto key_of = [&](const CellRow& row) { return RowText({columns.data(), 2}, row); };
  for (uint32_t aeu = 0; aeu < lab.aeus(); ++aeu) {
    for (const CellRow& row : lab.RowsOf(aeu, WholeQuery::kRight)) {
      if (!row[0].null && !row[1].null) right.emplace(key_of(row), row);
    }
  }
  for (uint32_t aeu = 0; aeu < lab.aeus(); ++aeu) {
    for (const CellRow& row : lab.RowsOf(aeu, WholeQuery::kLeft)) {
      auto [first, last] = right.equal_range(key_of(row));
      if (row[0].null || row[1].null) last = first;
      const bool any = first != last;
      if (type == JoinType::kSemi && any) answer.push_back(row);
      if (type == JoinType::kAnti && !any) answer.push_back(row);
      if (type == JoinType::kLeft && !any) answer.push_back({row[0], row[1], Cell{.null = true}});
      if (type == JoinType::kSemi || type == JoinType::kAnti) continue;
      for (; first != last; ++first) answer.push_back({row[0], row[1], first->second[2]});
    }
  }
  std::erase_if(answer, [](const CellRow& row) { return !row[2].null && row[2].number == 1; });
  return lab.TextsOf(WholeQuery::kMapped, answer);
}

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_QUERY_WHOLE_QUERY_H_
