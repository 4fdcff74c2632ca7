#include "engine/query/planner/carried_keys.h"

#include <algorithm>
#include <bitset>
#include <optional>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "storage/query/plans/expression_tools.h"
#include "storage/table/plan/plan_body.h"

namespace eris::engine {
namespace {

// Columns of a node; of a projection those of its input, and then its own.
using Columns = std::bitset<2 * kTableColumnsMax>;
// More of a node are forgotten, so that a hostile plan takes no long time.
constexpr size_t kDependenciesMax = 32;

// Rows with the same values of `from` have the same values of `to`. "The same" is bit by bit, and a
// null is a value: an expression of -0.0 may differ from that of 0.0. Equal values of one type are
// the same, except for doubles.
struct Dependency {
  Columns from{};
  Columns to{};
};

struct NodeFacts {
  // By column, the first one that has the same value in each row. Dependencies name only these.
  std::vector<uint32_t> first{};
  std::vector<Dependency> dependencies{};
};

// By column, what it becomes; nullopt: nothing.
using Places = std::vector<std::optional<uint32_t>>;

bool IsDouble(const ColumnSchema& column) { return column.type == ColumnType::kFloat64; }

// Whether equal values of both determine each other.
bool EqualIsSame(const ColumnSchema& a, const ColumnSchema& b) {
  if (IsTimeType(a.type)) return a.type == b.type;
  const bool alike = storage::ClassOf(a.type) == storage::ClassOf(b.type) && a.scale == b.scale;
  return alike && !IsDouble(a);
}

bool Holds(const Columns& all, const Columns& some) { return (some & ~all).none(); }

Columns One(uint32_t column) { return Columns().set(column); }

// All columns that the known ones determine, themselves included.
Columns DeterminedBy(Columns known, const std::vector<Dependency>& dependencies) {
  for (bool grows = true; grows;) {
    grows = false;
    for (const Dependency& one : dependencies) {
      if (!Holds(known, one.from) || Holds(known, one.to)) continue;
      known |= one.to;
      grows = true;
    }
  }
  return known;
}

// Those of the columns that have a place, there.
Columns Placed(const Columns& columns, const Places& places) {
  Columns placed;
  for (uint32_t column = 0; column < places.size(); ++column) {
    if (columns[column] && places[column]) placed.set(*places[column]);
  }
  return placed;
}

class FactFinder {
 public:
  FactFinder(const QueryPlan& plan, const std::vector<Schema>& schemas, storage::SchemaOf schema_of)
      : plan_(plan), schemas_(schemas), schema_of_(schema_of) {}

  absl::StatusOr<std::vector<CarriedSet>> Run() {
    for (const PlanNode& node : plan_.nodes) {
      carried_.push_back(0);
      ERIS_ASSIGN_OR_RETURN(NodeFacts facts,
                            std::visit([this](const auto& one) { return Of(one); }, node));
      facts_.push_back(std::move(facts));
    }
    return std::move(carried_);
  }

 private:
  absl::StatusOr<NodeFacts> Of(const ReadNode& read) {
    ERIS_ASSIGN_OR_RETURN(const Schema schema, schema_of_(read.object));
    NodeFacts facts;
    Places places(schema.columns.size());
    for (uint32_t i = 0; i < Now().size(); ++i) {
      std::optional<uint32_t>& place = places[read.columns.empty() ? i : read.columns[i]];
      if (!place) place = i;
      facts.first.push_back(*place);
    }
    Dependency row{.to = All()};
    for (const uint32_t column : schema.key) {
      if (!places[column]) return facts;
      row.from.set(*places[column]);
    }
    if (schema.has_key()) Add(row, facts);
    return facts;
  }

  absl::StatusOr<NodeFacts> Of(const ValuesNode&) { return Apart(); }

  // Fewer rows: what holds of any two rows still does.
  absl::StatusOr<NodeFacts> Of(const FilterNode& filter) { return facts_[filter.input]; }
  absl::StatusOr<NodeFacts> Of(const SortNode& sort) { return facts_[sort.input]; }
  absl::StatusOr<NodeFacts> Of(const LimitNode& limit) { return facts_[limit.input]; }

  // Rows of different inputs have nothing in common.
  absl::StatusOr<NodeFacts> Of(const UnionNode&) { return Apart(); }

  absl::StatusOr<NodeFacts> Of(const ProjectNode& project) {
    NodeFacts wide = facts_[project.input];
    const auto width = static_cast<uint32_t>(wide.first.size());
    NodeFacts facts;
    Places places(width + project.columns.size());
    for (uint32_t i = 0; i < project.columns.size(); ++i) {
      const Expression& column = project.columns[i];
      uint32_t source = width + i;
      if (column.kind == Expression::Kind::kField) {
        source = wide.first[column.number];
      } else {
        // Determined by its columns, doubles among them: here these are known bit by bit. The value
        // of a subquery is the same in all rows.
        Dependency computed{.to = One(source)};
        storage::ForFields(column, [&](uint32_t field) { computed.from.set(wide.first[field]); });
        wide.dependencies.push_back(computed);
      }
      if (!places[source]) places[source] = i;
      facts.first.push_back(*places[source]);
    }
    Keep(wide, places, facts);
    return facts;
  }

  absl::StatusOr<NodeFacts> Of(const JoinNode& join) {
    NodeFacts facts = facts_[join.left];
    if (join.type == JoinType::kSemi || join.type == JoinType::kAnti) return facts;
    const auto width = static_cast<uint32_t>(facts.first.size());
    const NodeFacts& right = facts_[join.right];
    for (const uint32_t column : right.first) facts.first.push_back(width + column);
    const bool left_join = join.type == JoinType::kLeft;
    for (const Dependency& one : right.dependencies) {
      if (left_join && !HasNeverNull(one.from, schemas_[join.right].columns)) continue;
      Add({one.from << width, one.to << width}, facts);
    }
    if (left_join) {
      AddPartners(join, facts);
    } else {
      for (const JoinNode::Key& key : join.keys) {
        if (!IsSame(join, key)) continue;
        Unite(facts.first[key.left], facts.first[width + key.right], facts);
      }
    }
    return facts;
  }

  // Dependencies of the right side and a left join. The rows without a partner have nulls in all
  // columns of the right side. So among these rows each column has one value; among the rows with a
  // partner the dependency holds as it does below. Between one row of each kind it holds if `from`
  // differs, that is, if one of its columns is never null on the right side. Otherwise it may fail:
  // a partner (null, 5) and the nulls of no partner are alike in `from` and differ in `to`. An
  // empty `from`, of a constant, never differs.
  static bool HasNeverNull(const Columns& from, const std::vector<ColumnSchema>& columns) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (from[i] && !columns[i].nullable) return true;
    }
    return false;
  }

  // A left join's equality does not hold in the rows without a partner. But whether a row has a
  // partner depends on nothing but its keys, unless there is a condition. So rows with the same
  // keys either all have the same values in the partners' keys, or all nulls. Not the other way:
  // nulls there say nothing of the left side.
  void AddPartners(const JoinNode& join, NodeFacts& facts) {
    if (join.condition) return;
    const auto width = static_cast<uint32_t>(schemas_[join.left].columns.size());
    Dependency partners;
    for (const JoinNode::Key& key : join.keys) {
      if (!IsSame(join, key)) return;
      partners.from.set(facts.first[key.left]);
      partners.to.set(facts.first[width + key.right]);
    }
    Add(partners, facts);
  }

  // The keys of a grouping below determine all of its columns. Doubles change in it: zeros and NaNs
  // get one spelling each. What they determined before, they no longer do (Add leaves it out); what
  // determined them still does.
  absl::StatusOr<NodeFacts> Of(const AggregateNode& aggregate) {
    const CarriedSet carried = Carried(aggregate);
    carried_.back() = carried;
    const NodeFacts& input = facts_[aggregate.input];
    NodeFacts facts = Apart();
    Places places(input.first.size());
    Dependency row{.to = All()};
    for (uint32_t i = 0; i < aggregate.keys.size(); ++i) {
      std::optional<uint32_t>& place = places[input.first[aggregate.keys[i]]];
      if (!place) place = i;
      facts.first[i] = *place;
      if ((carried >> i & 1) == 0) row.from.set(*place);
    }
    Add(row, facts);
    Keep(input, places, facts);
    return facts;
  }

  // Leaves out one key after the other that the rest determine, those first that cost most.
  CarriedSet Carried(const AggregateNode& aggregate) const {
    const NodeFacts& input = facts_[aggregate.input];
    const auto& columns = schemas_[aggregate.input].columns;
    const auto key_count = static_cast<uint32_t>(aggregate.keys.size());
    const auto cost = [&](uint32_t key) {
      const ColumnType type = columns[aggregate.keys[key]].type;
      return IsByteString(type) ? 2 : type == ColumnType::kInt128 ? 1 : 0;
    };
    std::vector<uint32_t> order;
    for (uint32_t key = key_count; key-- > 0;) order.push_back(key);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return cost(a) > cost(b); });
    CarriedSet carried = 0;
    uint32_t left = key_count;
    for (const uint32_t key : order) {
      if (left == 1) break;  // without keys there is a group even of no row
      const auto tried = static_cast<CarriedSet>(carried | 1u << key);
      Columns known;
      for (uint32_t other = 0; other < key_count; ++other) {
        const uint32_t column = aggregate.keys[other];
        // Doubles of one group need not be the same.
        if ((tried >> other & 1) == 0 && !IsDouble(columns[column])) known.set(input.first[column]);
      }
      if (!DeterminedBy(known, input.dependencies)[input.first[aggregate.keys[key]]]) continue;
      carried = tried;
      --left;
    }
    return carried;
  }

  // The node whose facts are found.
  const std::vector<ColumnSchema>& Now() const { return schemas_[facts_.size()].columns; }
  Columns All() const { return ~(~Columns() << Now().size()); }
  NodeFacts Apart() const {
    NodeFacts facts;
    for (uint32_t i = 0; i < Now().size(); ++i) facts.first.push_back(i);
    return facts;
  }

  bool IsSame(const JoinNode& join, const JoinNode::Key& key) const {
    return EqualIsSame(schemas_[join.left].columns[key.left],
                       schemas_[join.right].columns[key.right]);
  }

  // Both columns have the same value in each row. REQUIRES: they are first columns.
  static void Unite(uint32_t a, uint32_t b, NodeFacts& facts) {
    const auto [kept, gone] = std::minmax(a, b);
    if (kept == gone) return;
    std::replace(facts.first.begin(), facts.first.end(), gone, kept);
    for (Dependency& one : facts.dependencies) {
      for (Columns* const columns : {&one.from, &one.to}) {
        if ((*columns)[gone]) columns->reset(gone).set(kept);
      }
    }
  }

  // Adds what is known of the columns that have a place, also by way of those that have none.
  void Keep(const NodeFacts& wide, const Places& places, NodeFacts& facts) const {
    Columns with_place;
    for (uint32_t i = 0; i < places.size(); ++i) with_place[i] = places[i].has_value();
    for (const Dependency& one : wide.dependencies) {
      if (facts.dependencies.size() == kDependenciesMax) return;
      if (!Holds(with_place, one.from)) continue;
      const Columns to = DeterminedBy(one.from, wide.dependencies);
      Add({Placed(one.from, places), Placed(to, places)}, facts);
    }
  }

  // Nothing depends on doubles: equal keys of them need not be the same.
  void Add(const Dependency& one, NodeFacts& facts) const {
    if (Holds(one.from, one.to) || facts.dependencies.size() == kDependenciesMax) return;
    for (uint32_t i = 0; i < Now().size(); ++i) {
      if (one.from[i] && IsDouble(Now()[i])) return;
    }
    facts.dependencies.push_back(one);
  }

  const QueryPlan& plan_;
  const std::vector<Schema>& schemas_;
  const storage::SchemaOf schema_of_;
  std::vector<NodeFacts> facts_;
  std::vector<CarriedSet> carried_;
};

}  // namespace

absl::StatusOr<std::vector<CarriedSet>> CarriedKeys(const QueryPlan& plan,
                                                    const std::vector<Schema>& schemas,
                                                    storage::SchemaOf schema_of) {
  return FactFinder(plan, schemas, schema_of).Run();
}

}  // namespace eris::engine
