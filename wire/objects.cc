#include "wire/objects.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "wire/bounds.h"
#include "wire/keys.h"
#include "wire/schema.h"

namespace eris::wire {
// The same numbers on both sides.
static_assert(static_cast<int>(ObjectKind::kIndex) == v1::OBJECT_KIND_INDEX);
static_assert(static_cast<int>(ObjectKind::kHash) == v1::OBJECT_KIND_HASH);
static_assert(static_cast<int>(ObjectKind::kTable) == v1::OBJECT_KIND_TABLE);
static_assert(static_cast<int>(ObjectKind::kHeapTable) == v1::OBJECT_KIND_HEAP_TABLE);

namespace {

absl::StatusOr<ObjectKind> KindFrom(v1::ObjectKind kind) {
  if (kind == v1::OBJECT_KIND_UNSPECIFIED) return ObjectKind::kIndex;
  if (kind >= v1::OBJECT_KIND_INDEX && kind <= v1::OBJECT_KIND_HEAP_TABLE) {
    return static_cast<ObjectKind>(kind);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "kind is ", static_cast<int>(kind), ", must be ", static_cast<int>(v1::OBJECT_KIND_INDEX),
      " to ", static_cast<int>(v1::OBJECT_KIND_HEAP_TABLE),
      " (OBJECT_KIND_INDEX to OBJECT_KIND_HEAP_TABLE) or unset"));
}

// The type in which the bounds of an object's partitions are shown.
ColumnType ShownBounds(ObjectKind kind, const Schema& schema) {
  return IsTable(kind) ? ColumnType::kUint64 : BoundTypeOf(kind, schema).key_type.first;
}

}  // namespace

void FillObject(const ObjectInfo& info, v1::Object* object) {
  object->set_name(info.name);
  object->set_id(info.id.value);
  object->set_kind(static_cast<v1::ObjectKind>(info.kind));
  FillSchema(info.schema, object->mutable_schema());
  object->set_keys(info.keys);
  object->set_memory_bytes(info.memory_bytes);
  for (const std::string& name : info.beside) object->add_beside(name);
  const ColumnType type = ShownBounds(info.kind, info.schema);
  for (size_t i = 0; i < info.partition_starts.size(); ++i) {
    v1::Partition* partition = object->add_partitions();
    KeyRange range{.lo = info.partition_starts[i], .hi = std::nullopt};
    if (i + 1 < info.partition_starts.size()) range.hi = info.partition_starts[i + 1];
    FillRange(type, range, partition->mutable_range());
    if (i < info.partition_owners.size()) partition->set_aeu(info.partition_owners[i].value);
  }
}

absl::StatusOr<ObjectInfo> ObjectFrom(const v1::Object& object) {
  ObjectInfo info;
  info.name = object.name();
  info.id = ObjectId{object.id()};
  info.kind = static_cast<ObjectKind>(object.kind());
  ERIS_ASSIGN_OR_RETURN(info.schema, AnsweredSchemaFrom(object.schema()));
  if (info.schema.columns.empty()) {
    return absl::InternalError(
        absl::StrCat("the server sent object ", info.name, " without a schema: it is older"));
  }
  info.keys = object.keys();
  info.memory_bytes = object.memory_bytes();
  info.beside.assign(object.beside().begin(), object.beside().end());
  const ColumnType type = ShownBounds(info.kind, info.schema);
  for (const v1::Partition& partition : object.partitions()) {
    info.partition_starts.push_back(RangeStart(type, partition.range()));
    info.partition_owners.push_back(AeuId{partition.aeu()});
  }
  return info;
}

absl::StatusOr<CreateOptions> CreateOptionsFrom(const v1::CreateObjectRequest& request) {
  CreateOptions options;
  ERIS_ASSIGN_OR_RETURN(options.kind, KindFrom(request.kind()));
  if (request.has_schema()) {
    ERIS_ASSIGN_OR_RETURN(options.schema, SchemaFrom(request.schema()));
  } else if (IsTable(options.kind)) {
    return absl::InvalidArgumentError("schema is unset: a table needs one");
  }
  options.beside = request.beside();
  if (!request.has_expected() && request.split_keys().empty()) return options;
  if (!options.beside.empty()) {
    return absl::InvalidArgumentError(
        "beside is set, so expected and split_keys must be unset: the bounds are those of the "
        "other object");
  }
  const BoundType type = BoundTypeOf(options.kind, options.schema);
  if (!type.bounded) {
    return absl::InvalidArgumentError(
        "expected or split_keys of an object without a key, which has no ranges: leave them unset");
  }
  if (request.has_expected() && !request.split_keys().empty()) {
    return absl::InvalidArgumentError("expected and split_keys are set, must be one of them");
  }
  ERIS_ASSIGN_OR_RETURN(options.expected, BoundsFrom("expected", type, request.expected()));
  for (const v1::Key& key : request.split_keys()) {
    const std::string name = absl::StrCat("split_keys[", options.split_points.size(), "]");
    ERIS_ASSIGN_OR_RETURN(options.split_points.emplace_back(), BoundFrom(name, type, key));
  }
  return options;
}

absl::Status FillCreateOptions(const CreateOptions& options, v1::CreateObjectRequest* request) {
  request->set_kind(static_cast<v1::ObjectKind>(options.kind));
  FillSchema(options.schema, request->mutable_schema());
  request->set_beside(options.beside);
  const BoundType type = BoundTypeOf(options.kind, options.schema);
  if (options.split_points.empty() && options.expected != KeyRange{}) {
    return SetBounds("expected", type, options.expected, *request->mutable_expected());
  }
  for (const uint64_t point : options.split_points) {
    const std::string name = absl::StrCat("split_points[", request->split_keys_size(), "]");
    ERIS_RETURN_IF_ERROR(SetBound(name, type, point, *request->add_split_keys()));
  }
  return absl::OkStatus();
}

}  // namespace eris::wire
