// The nodes of the plan in the making: their numbers, widths and limits, and the answer's node.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"
#include "eris/schema.h"
#include "server/substrait/plan_translator.h"

namespace eris::server::plans {
namespace {

// The sort and the limits above it that order the answer, and the projects above those: copies of
// the end of a plan from node `begin` on, each list from the input up.
struct OrderedEnd {
  size_t begin = 0;
  std::vector<PlanNode> order;
  std::vector<ProjectNode> projects;
};

// nullopt if the plan does not end with projects above a sort, or has other nodes between those.
std::optional<OrderedEnd> OrderedEndOf(const std::vector<PlanNode>& nodes) {
  size_t at = nodes.size() - 1;
  bool adjacent = true;
  const auto descend = [&](uint32_t input) {
    adjacent = adjacent && input + 1 == at;
    at = input;
  };
  while (const auto* project = std::get_if<ProjectNode>(&nodes[at])) descend(project->input);
  const size_t last_of_order = at;
  while (const auto* limit = std::get_if<LimitNode>(&nodes[at])) descend(limit->input);
  const bool ordered =
      last_of_order + 1 < nodes.size() && std::holds_alternative<SortNode>(nodes[at]);
  if (!ordered || !adjacent) return std::nullopt;
  OrderedEnd end{.begin = at};
  for (size_t i = at; i < nodes.size(); ++i) {
    if (i <= last_of_order) {
      end.order.push_back(nodes[i]);
    } else {
      end.projects.push_back(std::get<ProjectNode>(nodes[i]));
    }
  }
  return end;
}

// The column of `project` that is column `number` of its input; nullopt if none is.
std::optional<uint32_t> ColumnWith(const ProjectNode& project, uint32_t number) {
  const Expression field = expressions::Field(number);
  const auto found = std::find(project.columns.begin(), project.columns.end(), field);
  if (found == project.columns.end()) return std::nullopt;
  return static_cast<uint32_t>(found - project.columns.begin());
}

// Moves the projects at the end of the plan below the sort, which then sorts no column that nobody
// needs. Where they leave a sort key out, the plan stays as it is.
void SortLast(std::vector<PlanNode>& nodes) {
  std::optional<OrderedEnd> found = OrderedEndOf(nodes);
  if (!found.has_value()) return;
  OrderedEnd& end = *found;
  auto& sort = std::get<SortNode>(end.order.front());
  for (size_t i = 0; i < end.projects.size(); ++i) {
    ProjectNode& project = end.projects[i];
    for (SortKey& key : sort.keys) {
      std::optional<uint32_t> column = ColumnWith(project, key.column);
      if (!column.has_value()) {
        if (i + 1 == end.projects.size() || project.columns.size() == kTableColumnsMax) return;
        column = static_cast<uint32_t>(project.columns.size());
        project.columns.push_back(expressions::Field(key.column));
      }
      key.column = *column;
    }
  }
  nodes.resize(end.begin);
  uint32_t input = sort.input;
  for (ProjectNode& project : end.projects) {
    project.input = std::exchange(input, static_cast<uint32_t>(nodes.size()));
    nodes.push_back(std::move(project));
  }
  sort.input = input;
  for (PlanNode& node : end.order) {
    if (auto* limit = std::get_if<LimitNode>(&node)) limit->input = input;
    input = static_cast<uint32_t>(nodes.size());
    nodes.push_back(std::move(node));
  }
}

}  // namespace

absl::StatusOr<uint32_t> PlanTranslator::Append(PlanNode node, size_t width, const Place& place) {
  if (plan_.nodes.size() == kPlanNodesMax) {
    return Malformed(place, "the plan has more than ", kPlanNodesMax, " nodes");
  }
  if (width > kTableColumnsMax) {
    return Malformed(place, "a relation of ", width, " columns, must have at most ",
                     kTableColumnsMax);
  }
  plan_.nodes.push_back(std::move(node));
  widths_.push_back(static_cast<uint32_t>(width));
  return static_cast<uint32_t>(plan_.nodes.size() - 1);
}

absl::StatusOr<uint32_t> PlanTranslator::AppendColumns(uint32_t node, std::vector<Expression> extra,
                                                       const Place& place) {
  if (extra.empty()) return node;
  ProjectNode project{.input = node};
  for (uint32_t column = 0; column < widths_[node]; ++column) {
    project.columns.push_back(expressions::Field(column));
  }
  for (Expression& expression : extra) project.columns.push_back(std::move(expression));
  ERIS_RETURN_IF_ERROR(CountParts(widths_[node], place));  // the values are counted already
  const size_t width = project.columns.size();
  return Append(std::move(project), width, place);
}

absl::StatusOr<std::vector<uint32_t>> PlanTranslator::AsColumns(uint32_t& node,
                                                                std::vector<Part> parts,
                                                                const Place& place) {
  std::vector<uint32_t> columns;
  std::vector<Expression> extra;
  for (Part& part : parts) {
    if (part.expression.kind == Expression::Kind::kField) {
      columns.push_back(part.expression.number);
    } else {
      columns.push_back(widths_[node] + static_cast<uint32_t>(extra.size()));
      extra.push_back(std::move(part.expression));
    }
  }
  ERIS_ASSIGN_OR_RETURN(node, AppendColumns(node, std::move(extra), place));
  return columns;
}

absl::StatusOr<uint32_t> PlanTranslator::AsNode(const Relation& relation, const Place& place) {
  bool same = relation.fields.size() == widths_[relation.node];
  ProjectNode project{.input = relation.node};
  for (size_t i = 0; i < relation.fields.size(); ++i) {
    same = same && relation.fields[i].column == i;
    project.columns.push_back(expressions::Field(relation.fields[i].column));
  }
  if (same) return relation.node;
  const size_t width = project.columns.size();
  ERIS_RETURN_IF_ERROR(CountParts(static_cast<uint32_t>(width), place));
  return Append(std::move(project), width, place);
}

absl::Status PlanTranslator::Narrow(Relation& relation, const Place& place) {
  if (relation.fields.empty()) return absl::OkStatus();  // a node has a column at least
  ERIS_ASSIGN_OR_RETURN(relation.node, AsNode(relation, place));
  for (size_t i = 0; i < relation.fields.size(); ++i) {
    relation.fields[i].column = static_cast<uint32_t>(i);
  }
  return absl::OkStatus();
}

absl::Status PlanTranslator::CountParts(uint32_t parts, const Place& place) {
  parts_ += parts;  // cannot wrap: an expression and a node have far fewer parts
  if (parts_ <= kPlanPartsMax) return absl::OkStatus();
  return Malformed(place, "the plan's expressions have more than ", kPlanPartsMax, " parts");
}

absl::StatusOr<QueryPlan> PlanTranslator::Finish(const Relation& relation, const Place& place) {
  if (relation.fields.empty()) return Malformed(place, "the answer has no column");
  ERIS_ASSIGN_OR_RETURN(const uint32_t node, AsNode(relation, place));
  // Subqueries whose value nothing uses may follow the answer's node.
  if (node + 1 != plan_.nodes.size()) {
    ProjectNode last{.input = node};
    for (uint32_t i = 0; i < widths_[node]; ++i) last.columns.push_back(expressions::Field(i));
    ERIS_RETURN_IF_ERROR(Append(std::move(last), widths_[node], place).status());
  }
  SortLast(plan_.nodes);
  return std::move(plan_);
}

}  // namespace eris::server::plans
