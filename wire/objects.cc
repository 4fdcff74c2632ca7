#include "wire/objects.h"

#include "wire/keys.h"

namespace eris::wire {
// The same numbers on both sides.
static_assert(static_cast<int>(ObjectKind::kIndex) == v1::OBJECT_KIND_INDEX);
static_assert(static_cast<int>(ObjectKind::kHash) == v1::OBJECT_KIND_HASH);
static_assert(static_cast<int>(ObjectKind::kTable) == v1::OBJECT_KIND_TABLE);
static_assert(static_cast<int>(ObjectKind::kHeapTable) == v1::OBJECT_KIND_HEAP_TABLE);
static_assert(static_cast<int>(ColumnType::kUint64) == v1::VALUE_TYPE_UINT64);
static_assert(static_cast<int>(ColumnType::kString) == v1::VALUE_TYPE_BYTES);

void FillObject(const ObjectInfo& info, v1::Object* object) {
  object->set_name(info.name);
  object->set_id(info.id.value);
  object->set_key_type(ToProto(info.key_type.first));
  if (info.key_type.two_parts()) object->set_second_key_type(ToProto(*info.key_type.second));
  object->set_kind(static_cast<v1::ObjectKind>(info.kind));
  object->set_value_type(static_cast<v1::ValueType>(info.value_type));
  object->set_keys(info.keys);
  object->set_memory_bytes(info.memory_bytes);
  for (size_t i = 0; i < info.partition_starts.size(); ++i) {
    v1::Partition* partition = object->add_partitions();
    KeyRange range{.lo = info.partition_starts[i], .hi = std::nullopt};
    if (i + 1 < info.partition_starts.size()) range.hi = info.partition_starts[i + 1];
    FillRange(info.key_type, range, partition->mutable_range());
    if (i < info.partition_owners.size()) partition->set_aeu(info.partition_owners[i].value);
  }
}

ObjectInfo ObjectFrom(const v1::Object& object) {
  ObjectInfo info;
  info.name = object.name();
  info.id = ObjectId{object.id()};
  info.kind = static_cast<ObjectKind>(object.kind());
  info.key_type = KeyTypesFrom(object.key_type(), object.second_key_type()).value_or(KeyTypes());
  if (object.value_type() == v1::VALUE_TYPE_BYTES) info.value_type = ColumnType::kString;
  info.keys = object.keys();
  info.memory_bytes = object.memory_bytes();
  for (const v1::Partition& partition : object.partitions()) {
    info.partition_starts.push_back(RangeStart(info.key_type.first, partition.range()));
    info.partition_owners.push_back(AeuId{partition.aeu()});
  }
  return info;
}

}  // namespace eris::wire
