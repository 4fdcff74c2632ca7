// The part of the engine that creates, drops and describes objects.
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/engine_impl.h"

namespace eris::engine {

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
  ObjectInfo info = std::move(Describe(std::vector<ObjectRef>{object}).front());
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
  return Describe(std::vector<ObjectRef>{object}).front();
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

std::vector<ObjectInfo> EngineImpl::List() { return Describe(core_.catalogue.List()); }

std::vector<ObjectInfo> EngineImpl::Describe(const std::vector<ObjectRef>& objects) {
  std::map<ObjectId, ObjectInfo*> by_id;
  std::map<ObjectId, std::vector<std::string>> families;
  for (const ObjectRef& one : core_.catalogue.List()) families[one->family].push_back(one->name);
  std::vector<ObjectInfo> infos(objects.size());
  for (size_t i = 0; i < objects.size(); ++i) {
    const ObjectEntry& object = *objects[i];
    infos[i].name = object.name;
    infos[i].id = object.route.object();
    infos[i].kind = object.kind;
    infos[i].schema = object.schema;
    const std::shared_ptr<const routing::RangeTable> table = object.route.Pin();
    infos[i].partition_starts = table->starts();
    infos[i].partition_owners = table->owners();
    for (const std::string& name : families[object.family]) {
      if (name != object.name) infos[i].beside.push_back(name);
    }
    by_id[infos[i].id] = &infos[i];
  }
  for (const auto& aeu : aeus_) {
    for (const aeu::ObjectLoad& load : aeu->loads().All()) {
      const auto found = by_id.find(load.object);
      if (found == by_id.end()) continue;
      found->second->memory_bytes += load.memory_bytes;
      for (const auto& partition : load.partitions) found->second->keys += partition->rows();
    }
  }
  return infos;
}

}  // namespace eris::engine
