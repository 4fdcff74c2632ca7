#include "storage/query/pair_filter.h"

#include <map>
#include <utility>

#include "base/status_macros.h"
#include "storage/query/plans/expression_tools.h"

namespace eris::storage {

absl::StatusOr<std::unique_ptr<PairFilter>> PairFilter::Create(
    const StepWorld& world, const Expression& condition, const std::vector<PairColumn>& columns,
    const std::vector<ColumnSchema>& schemas) {
  // Only the columns that it names are gathered.
  std::map<uint32_t, Expression> fields;
  std::vector<PairColumn> used;
  std::vector<ColumnSchema> used_schemas;
  std::vector<EnvelopeColumn> types;
  ForFields(condition, [&](uint32_t field) {
    if (!fields.emplace(field, expressions::Field(static_cast<uint32_t>(used.size()))).second) {
      return;
    }
    used.push_back(columns[field]);
    used_schemas.push_back(schemas[field]);
    types.push_back({schemas[field].type, schemas[field].scale});
  });
  used_schemas.push_back({.name = "position", .type = ColumnType::kInt64});
  types.push_back({ColumnType::kInt64, 0});
  Query query{
      .filter = Replaced(
          condition, [&](uint32_t field) { return fields.at(field); }, &expressions::Subquery)};
  query.columns.push_back({expressions::Field(static_cast<uint32_t>(used.size())), ""});
  ERIS_ASSIGN_OR_RETURN(auto plan, TablePlan::Create(NamedByField(used_schemas), query));
  ERIS_ASSIGN_OR_RETURN(auto run, TableRun::Create(std::move(plan), world.run_memory));
  return std::unique_ptr<PairFilter>(new PairFilter(world, std::move(used), types, std::move(run)));
}

PairFilter::PairFilter(const StepWorld& world, std::vector<PairColumn> columns,
                       const std::vector<EnvelopeColumn>& types, std::unique_ptr<TableRun> run)
    : memory_(world.memory),
      columns_(std::move(columns)),
      writer_(world.memory, types, kEnvelopeBytesMax, kBlockRows),
      run_(std::move(run)) {}

absl::Status PairFilter::Run(const PairRows& pairs, uint16_t* passed, uint32_t& count) {
  count = 0;
  for (uint32_t first = 0; first < pairs.count;) {
    Envelope* const open = writer_.Open();
    if (open == nullptr) return memory_.Refusal("join");
    ResultRows& out = open->out();
    PairRows rest = pairs;
    rest.picks += first;
    if (rest.numbers != nullptr) rest.numbers += first;
    rest.count -= first;
    const uint32_t taken = AppendPairs(rest, columns_, out);
    if (taken == 0) {
      writer_.Widen(kValueBytesMax);
      continue;
    }
    for (uint32_t i = 0; i < taken; ++i) {
      const int64_t position = first + i;
      PutValue(&position, true, out.columns[columns_.size()], i);
    }
    out.rows = taken;
    first += taken;
    Envelope* const block = writer_.Take();
    ResultColumn result{
        .type = ColumnType::kInt64, .values = positions_.data(), .validity = validity_.data()};
    ResultRows found{.columns = {&result, 1}, .capacity = kBlockRows};
    TableRun::Outcome outcome = TableRun::Outcome::kDone;
    if (run_->BeginSegment(block->view())) {
      uint32_t at = 0;
      outcome = run_->RunBlock(at, &found);
    }
    Envelope::Free(block, memory_);
    if (outcome == TableRun::Outcome::kError) return run_->status();
    for (uint32_t i = 0; i < found.rows; ++i) {
      passed[count++] = static_cast<uint16_t>(positions_[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace eris::storage
