#include "engine/query/query_figures.h"

#include <utility>
#include <variant>

namespace eris::engine {

using storage::EnvelopeList;
using storage::RowSet;

void QueryFigures::Begin(const QueryFlow& flow, const QueryFlow::Work& work, uint64_t now_ns) {
  // Only now is it known which set has its rows.
  if (ended_) steps_[*ended_].rows = parts_.RowsOf(flow.RowsOfStep(*ended_));
  if (std::holds_alternative<NoWork>(work)) return;
  const uint32_t step = flow.step();
  under_way_ = step;
  began_ns_ = now_ns;
  StepFigures& figures = steps_[step];
  figures.aeu_ns.resize(parts_.aeus());
  counts_ = true;
  if (std::holds_alternative<ReadWork>(work)) figures.read = true;
  if (std::holds_alternative<ScanWork>(work)) figures.everywhere = true;
  if (const auto* stage = std::get_if<StageWork>(&work)) LookAt(*stage);
}

void QueryFigures::LookAt(const StageWork& work) {
  counts_ = false;
  for (const storage::StageTask& task : work.stage.tasks) {
    // Those are not the step's own work.
    counts_ = counts_ || !(std::holds_alternative<storage::FreeTask>(task) ||
                           std::holds_alternative<storage::FilterTask>(task));
    if (const auto* send = std::get_if<storage::SendTask>(&task)) {
      AddExchange(ExchangeFigures::Kind::kSent, send->from);
    } else if (const auto* share = std::get_if<storage::ShareTask>(&task)) {
      AddExchange(
          work.everywhere ? ExchangeFigures::Kind::kReferred : ExchangeFigures::Kind::kGathered,
          share->from);
    } else if (const auto* filter = std::get_if<storage::FilterTask>(&task)) {
      AddExchange(ExchangeFigures::Kind::kKeys, filter->from);
    } else if (const auto* spread = std::get_if<storage::SpreadTask>(&task)) {
      AddExchange(ExchangeFigures::Kind::kSpread, spread->from);
    }
  }
  if (counts_) {
    (work.everywhere ? steps_[*under_way_].everywhere : steps_[*under_way_].at_home) = true;
  }
}

void QueryFigures::AddExchange(ExchangeFigures::Kind kind, RowSet from) {
  steps_[*under_way_].exchanges.push_back(
      {.kind = kind, .step = QueryFlow::StepOf(from), .rows = parts_.RowsOf(from)});
}

void QueryFigures::End(uint64_t now_ns) {
  if (!under_way_) return;
  const uint32_t step = *std::exchange(under_way_, std::nullopt);
  StepFigures& figures = steps_[step];
  figures.wall_ns += now_ns - began_ns_;
  for (uint32_t aeu = 0; aeu < parts_.aeus(); ++aeu) {
    const storage::PartFigures part = parts_.parts[aeu]->TakeFigures();
    if (part.worked && counts_) figures.aeu_ns[aeu] = figures.aeu_ns[aeu].value_or(0) + part.ns;
    figures.rows_crossed += part.rows_crossed;
    figures.bytes_crossed += part.bytes_crossed;
  }
  ended_ = step;
  figures.bytes_kept = 0;
  for (uint32_t which = 0; which < QueryFlow::kSetsPerStep; ++which) {
    for (const auto& part : parts_.parts) {
      const EnvelopeList* const list = part->list(QueryFlow::SetOf(step, which));
      if (list == nullptr || list->owns() == EnvelopeList::Owns::kNo) continue;
      for (uint32_t e = 0; e < list->size(); ++e) figures.bytes_kept += (*list)[e].bytes();
    }
  }
}

}  // namespace eris::engine
