#include "server/data/object_message.h"

#include "server/data/key_messages.h"

namespace eris::server {
namespace {

v1::ObjectKind KindOf(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kIndex:
      return v1::OBJECT_KIND_INDEX;
    case ObjectKind::kHash:
      return v1::OBJECT_KIND_HASH;
    case ObjectKind::kTable:
      return v1::OBJECT_KIND_TABLE;
    case ObjectKind::kHeapTable:
      return v1::OBJECT_KIND_HEAP_TABLE;
  }
  return v1::OBJECT_KIND_UNSPECIFIED;
}

}  // namespace

static_assert(static_cast<int>(ValueType::kUint64) == v1::VALUE_TYPE_UINT64);
static_assert(static_cast<int>(ValueType::kBytes) == v1::VALUE_TYPE_BYTES);

void FillObject(const ObjectInfo& info, v1::Object* object) {
  object->set_name(info.name);
  object->set_id(info.id.value);
  object->set_key_type(ToMessage(info.key_type.first));
  if (info.key_type.two_parts()) object->set_second_key_type(ToMessage(*info.key_type.second));
  object->set_kind(KindOf(info.kind));
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

}  // namespace eris::server
