// ExportArrow: a chunk's columns as a struct array of the Arrow C data interface, without a copy.
// The top level and each child hold their own reference to the chunk, because a consumer may move a
// child out and release it last. Strings are text in UTF-8, "u"; bytes are "z".
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/substitute.h"
#include "eris/query.h"

namespace eris {
namespace {

std::string FormatOf(const ColumnSchema& column) {
  return VisitColumnType(column.type, [&](auto traits) {
    return absl::Substitute(traits.arrow_format, column.scale);
  });
}

struct SchemaData {
  std::string format;
  std::string name;
  // For the top level.
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_list;
};

void ReleaseSchema(ArrowSchema* schema) {
  for (int64_t i = 0; i < schema->n_children; ++i) {
    ArrowSchema* const child = schema->children[i];
    if (child->release != nullptr) child->release(child);
  }
  delete static_cast<SchemaData*>(schema->private_data);
  schema->release = nullptr;
}

void FillSchema(std::unique_ptr<SchemaData> data, bool nullable, ArrowSchema& schema) {
  schema = {};
  schema.format = data->format.c_str();
  schema.name = data->name.c_str();
  schema.flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  schema.n_children = static_cast<int64_t>(data->child_list.size());
  schema.children = data->child_list.data();
  schema.release = &ReleaseSchema;
  schema.private_data = data.release();
}

void MakeSchema(const Schema& table, ArrowSchema& out) {
  auto top = std::make_unique<SchemaData>();
  top->format = "+s";
  top->children.resize(table.columns.size());
  for (ArrowSchema& child : top->children) {
    child = {};
    top->child_list.push_back(&child);
  }
  try {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const ColumnSchema& column = table.columns[i];
      auto data = std::make_unique<SchemaData>();
      data->format = FormatOf(column);
      data->name = column.name;
      FillSchema(std::move(data), column.nullable, top->children[i]);
    }
  } catch (const std::bad_alloc&) {
    for (ArrowSchema& child : top->children) {
      if (child.release != nullptr) child.release(&child);
    }
    throw;
  }
  FillSchema(std::move(top), /*nullable=*/false, out);
}

struct ArrayData {
  std::shared_ptr<const Chunk> chunk;
  std::array<const void*, 3> buffers{};
  // For the top level.
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_list;
};

void ReleaseArray(ArrowArray* array) {
  for (int64_t i = 0; i < array->n_children; ++i) {
    ArrowArray* const child = array->children[i];
    if (child->release != nullptr) child->release(child);
  }
  delete static_cast<ArrayData*>(array->private_data);
  array->release = nullptr;
}

void FillArray(std::unique_ptr<ArrayData> data, int64_t buffers, int64_t null_count,
               ArrowArray& array) {
  array = {};
  array.length = static_cast<int64_t>(data->chunk->rows());
  array.null_count = null_count;
  array.n_buffers = buffers;
  array.buffers = data->buffers.data();
  array.n_children = static_cast<int64_t>(data->child_list.size());
  array.children = data->child_list.data();
  array.release = &ReleaseArray;
  array.private_data = data.release();
}

int64_t NullsOf(const ColumnView& column, uint64_t rows) {
  if (column.validity == nullptr) return 0;
  uint64_t valid = 0;
  for (uint64_t byte = 0; byte < rows / 8; ++byte) {
    valid += static_cast<uint64_t>(std::popcount(column.validity[byte]));
  }
  for (uint64_t i = rows / 8 * 8; i < rows; ++i) valid += column.validity[i >> 3] >> (i & 7) & 1;
  return static_cast<int64_t>(rows - valid);
}

void MakeArray(const std::shared_ptr<const Chunk>& chunk, ArrowArray& out) {
  const auto& columns = chunk->schema().columns;
  auto top = std::make_unique<ArrayData>();
  top->chunk = chunk;
  top->children.resize(columns.size());
  for (ArrowArray& child : top->children) {
    child = {};
    top->child_list.push_back(&child);
  }
  try {
    for (size_t i = 0; i < columns.size(); ++i) {
      const ColumnView column = chunk->column(i);
      auto data = std::make_unique<ArrayData>();
      data->chunk = chunk;
      const bool strings = IsByteString(columns[i].type);
      data->buffers =
          strings ? std::array<const void*, 3>{column.validity, column.offsets, column.values}
                  : std::array<const void*, 3>{column.validity, column.values, nullptr};
      FillArray(std::move(data), strings ? 3 : 2, NullsOf(column, chunk->rows()), top->children[i]);
    }
  } catch (const std::bad_alloc&) {
    for (ArrowArray& child : top->children) {
      if (child.release != nullptr) child.release(&child);
    }
    throw;
  }
  FillArray(std::move(top), /*buffers=*/1, /*null_count=*/0, out);
}

}  // namespace

void ExportArrowSchema(const Schema& schema, ArrowSchema* out) {
  *out = {};
  try {
    MakeSchema(schema, *out);
  } catch (const std::bad_alloc&) {
    *out = {};  // released: nothing has been exported
  }
}

void ExportArrow(std::shared_ptr<const Chunk> chunk, ArrowSchema* schema, ArrowArray* array) {
  *schema = {};
  *array = {};
  try {
    MakeSchema(chunk->schema(), *schema);
    MakeArray(chunk, *array);
  } catch (const std::bad_alloc&) {
    // Released structures mean that nothing has been exported.
    if (schema->release != nullptr) schema->release(schema);
    *schema = {};
    *array = {};
  }
}

}  // namespace eris
