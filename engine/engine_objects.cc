// The part of the engine that creates, drops and describes objects.
#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/engine_impl.h"

namespace eris::engine {
namespace {

// Without memory and rows. `family`: the names of its family, its own too.
ObjectInfo InfoOf(const ObjectEntry& object, const std::vector<std::string>& family) {
  const std::shared_ptr<const routing::RangeTable> table = object.route.Pin();
  ObjectInfo info{.name = object.name,
                  .id = object.route.object(),
                  .kind = object.kind,
                  .partition_starts = table->starts(),
                  .partition_owners = table->owners(),
                  .schema = object.schema};
  for (const std::string& name : family) {
    if (name != object.name) info.beside.push_back(name);
  }
  return info;
}

}  // namespace

absl::StatusOr<ObjectInfo> EngineImpl::Create(absl::string_view name,
                                              const CreateOptions& options) try {
  ObjectInfo info;
  ERIS_RETURN_IF_ERROR(
      admin_->Create(name, options, [&](const ObjectRef& object) { info = Introduce(object); }));
  return info;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

ObjectInfo EngineImpl::Introduce(const ObjectRef& object) {
  ObjectInfo info = DescribeOne(object);
  BeginSampling(object->route.object());  // last: nothing must be undone then
  return info;
}

absl::Status EngineImpl::Drop(absl::string_view name) try {
  ERIS_ASSIGN_OR_RETURN(const ObjectId object, admin_->Drop(name));
  EndSampling(object);
  return absl::OkStatus();
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status EngineImpl::DropIfWritten(absl::string_view name, ObjectId id, uint64_t rows) try {
  ERIS_RETURN_IF_ERROR(admin_->DropIfWritten(name, id, rows));
  EndSampling(id);
  return absl::OkStatus();
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<ObjectInfo> EngineImpl::Describe(absl::string_view name) try {
  ERIS_ASSIGN_OR_RETURN(const ObjectRef object, core_.catalogue.Find(name));
  return DescribeOne(object);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

std::vector<ObjectInfo> EngineImpl::List() {
  std::vector<aeu::ObjectTotals> of_aeus(aeus_.size());
  return DescribeAll(of_aeus);
}

std::vector<ObjectInfo> EngineImpl::DescribeAll(std::vector<aeu::ObjectTotals>& of_aeus) {
  const std::vector<ObjectRef> objects = core_.catalogue.List();
  std::map<ObjectId, std::vector<std::string>> families;
  for (const ObjectRef& object : objects) families[object->family].push_back(object->name);
  std::vector<ObjectInfo> infos;
  infos.reserve(objects.size());
  for (const ObjectRef& object : objects) {
    infos.push_back(InfoOf(*object, families[object->family]));
  }
  std::vector<ObjectInfo*> by_id;
  by_id.reserve(infos.size());
  for (ObjectInfo& info : infos) by_id.push_back(&info);
  std::sort(by_id.begin(), by_id.end(),
            [](const ObjectInfo* a, const ObjectInfo* b) { return a->id.value < b->id.value; });
  for (size_t i = 0; i < aeus_.size(); ++i) {
    auto next = by_id.begin();  // both lists are sorted by id, so one pass finds all objects
    for (const aeu::ObjectTotals& totals : aeus_[i]->loads().Totals()) {
      of_aeus[i].memory_bytes += totals.memory_bytes;
      of_aeus[i].rows += totals.rows;
      while (next != by_id.end() && (*next)->id.value < totals.object.value) ++next;
      if (next == by_id.end() || (*next)->id != totals.object) continue;  // it comes or goes
      (*next)->memory_bytes += totals.memory_bytes;
      (*next)->keys += totals.rows;
    }
  }
  return infos;
}

ObjectInfo EngineImpl::DescribeOne(const ObjectRef& object) {
  std::vector<std::string> family;
  for (const ObjectRef& one : core_.catalogue.List()) {
    if (one->family == object->family) family.push_back(one->name);
  }
  ObjectInfo info = InfoOf(*object, family);
  for (const auto& aeu : aeus_) {
    const std::optional<aeu::ObjectTotals> totals = aeu->loads().TotalsOf(info.id);
    if (!totals) continue;
    info.memory_bytes += totals->memory_bytes;
    info.keys += totals->rows;
  }
  return info;
}

}  // namespace eris::engine
