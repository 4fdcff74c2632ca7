#include "engine/objects/family.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "balancer/transfer_plan.h"
#include "routing/ranges/range_table.h"

namespace eris::engine {
namespace {

constexpr uint64_t kHalfWord = uint64_t{1} << 32;

std::string TypeText(const ColumnSchema& column) {
  if (column.type != ColumnType::kDecimal) return ColumnTypeName(column.type);
  return absl::StrCat(ColumnTypeName(column.type), "(", column.scale, ")");
}

const ColumnSchema& FirstKeyColumn(const Schema& schema) { return schema.columns[schema.key[0]]; }

// A table packs the columns of its key one after the other; otherwise a word is one column.
std::vector<ColumnType> FirstWord(ObjectKind kind, const Schema& schema) {
  std::vector<ColumnType> types;
  uint32_t bytes = 0;
  for (size_t i = 0; i < schema.key.size() && bytes < sizeof(uint64_t); ++i) {
    const ColumnType type = schema.columns[schema.key[i]].type;
    types.push_back(type);
    bytes += kind == ObjectKind::kTable ? ColumnValueBytes(type) : uint32_t{sizeof(uint64_t)};
  }
  return types;
}

uint64_t GrainOf(const std::vector<ColumnType>& one, const std::vector<ColumnType>& other) {
  return one == other ? 1 : kHalfWord;
}

absl::Status CheckBeside(absl::string_view name, ObjectKind kind, const Schema& schema,
                         const ObjectEntry& other) {
  const std::string refused =
      absl::StrCat("object \"", name, "\" cannot lie beside \"", other.name, "\": ");
  if (!schema.has_key() || !other.schema.has_key()) {
    return absl::InvalidArgumentError(
        absl::StrCat(refused, "\"", schema.has_key() ? absl::string_view(other.name) : name,
                     "\" has no key by which it could be cut"));
  }
  const ColumnSchema& own = FirstKeyColumn(schema);
  const ColumnSchema& others = FirstKeyColumn(other.schema);
  if (own.type != others.type || own.scale != others.scale) {
    return absl::InvalidArgumentError(absl::StrCat(refused, "its keys begin with ", TypeText(own),
                                                   ", those of \"", other.name, "\" with ",
                                                   TypeText(others), "; give both the same type"));
  }
  const bool narrow = ColumnValueBytes(own.type) < sizeof(uint64_t);
  if (narrow && (kind == ObjectKind::kTable) != other.is_table()) {
    return absl::InvalidArgumentError(
        absl::StrCat(refused, "keys that begin with ", TypeText(own),
                     " are cut otherwise in a table than in an index or a hash; make both tables, "
                     "or neither of them"));
  }
  return absl::OkStatus();
}

}  // namespace

Family FamilyOf(const Catalogue& catalogue, ObjectId family) {
  Family members = catalogue.List();
  std::erase_if(members, [&](const ObjectRef& one) { return one->family != family; });
  OldestFirst(members);
  return members;
}

void OldestFirst(Family& members) {
  std::sort(members.begin(), members.end(), [](const ObjectRef& a, const ObjectRef& b) {
    return a->route.object() < b->route.object();
  });
}

uint64_t GrainOf(const Family& family) {
  uint64_t grain = 1;
  for (size_t i = 1; i < family.size(); ++i) {
    grain = std::max(grain, GrainOf(FirstWord(family[0]->kind, family[0]->schema),
                                    FirstWord(family[i]->kind, family[i]->schema)));
  }
  return grain;
}

balancer::Partitioning CutsOf(const ObjectEntry& object) {
  const std::shared_ptr<const routing::RangeTable> table = object.route.Pin();
  balancer::Partitioning cuts{.starts = {}, .owners = table->owners()};
  for (const uint64_t start : table->starts()) {
    cuts.starts.push_back(storage::Key::FromU64(start));
  }
  return cuts;
}

bool InLine(const Family& family) {
  if (family.size() < 2) return true;
  Family members = family;
  std::erase_if(members, [](const ObjectRef& one) { return one->dropped(); });
  if (members.size() < 2) return true;
  const balancer::Partitioning wanted =
      balancer::OnGrain(CutsOf(*members.front()), GrainOf(members));
  return std::all_of(members.begin(), members.end(), [&](const ObjectRef& one) {
    return balancer::DifferingRanges(CutsOf(*one), wanted, balancer::kEndOfKeys).empty();
  });
}

absl::StatusOr<balancer::Partitioning> CutsBeside(absl::string_view name, ObjectKind kind,
                                                  const Schema& schema, const ObjectEntry& other) {
  if (absl::Status alike = CheckBeside(name, kind, schema, other); !alike.ok()) return alike;
  const uint64_t grain = GrainOf(FirstWord(kind, schema), FirstWord(other.kind, other.schema));
  return balancer::OnGrain(CutsOf(other), grain);
}

}  // namespace eris::engine
