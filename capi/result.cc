#include "capi/result.h"

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "capi/columns.h"
#include "capi/guard.h"
#include "eris/query.h"

namespace eris::capi {
namespace {

const uint8_t* BitsOf(const std::string& bits) {
  return bits.empty() ? nullptr : reinterpret_cast<const uint8_t*>(bits.data());
}

ColumnView ViewOf(const ResultData& data, size_t i) {
  const ColumnBuffers& from = data.result.columns[i];
  return {.values = from.values.data(),
          .validity = BitsOf(from.validity),
          .offsets = from.offsets.empty() ? nullptr
                                          : reinterpret_cast<const uint32_t*>(from.offsets.data())};
}

// The columns of a result, for ExportArrow. Rows that were not found are null.
class ResultChunk final : public Chunk {
 public:
  explicit ResultChunk(std::shared_ptr<const ResultData> data) : data_(std::move(data)) {
    schema_.columns = data_->types;
    for (ColumnSchema& column : schema_.columns) column.nullable |= data_->lookup;
  }
  uint64_t rows() const override { return data_->result.count; }
  const Schema& schema() const override { return schema_; }
  ColumnView column(size_t i) const override {
    ColumnView view = ViewOf(*data_, i);
    if (view.validity == nullptr && data_->lookup) view.validity = BitsOf(data_->result.existed);
    return view;
  }
  std::string resume() const override { return {}; }

 private:
  const std::shared_ptr<const ResultData> data_;
  Schema schema_{};
};

}  // namespace

std::unique_ptr<eris_result> NewResult(std::vector<ColumnSchema> types, bool lookup) {
  auto result = std::make_unique<eris_result>();
  result->data->types = std::move(types);
  result->data->lookup = lookup;
  return result;
}

void FillResult(BatchResult&& from, eris_result& result) noexcept {
  ResultData& data = *result.data;
  data.result = std::move(from);
  try {
    const absl::string_view message = data.result.status.message();
    data.message.assign(message.data(), message.size());
  } catch (const std::bad_alloc&) {
    data.message.clear();
  }
  // A write without answers, or a refused batch, has no columns.
  if (data.result.columns.size() != data.types.size()) {
    data.types.clear();
    data.result.columns.clear();
  }
}

}  // namespace eris::capi

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_result_code(const eris_result* result) {
  return result == nullptr ? static_cast<eris_code>(ERIS_INVALID_ARGUMENT)
                           : result->data->result.status.raw_code();
}
const char* eris_result_message(const eris_result* result) {
  return result == nullptr ? "" : result->data->message.c_str();
}
uint64_t eris_result_rows(const eris_result* result) {
  return result == nullptr ? 0 : result->data->result.count;
}
uint64_t eris_result_refused(const eris_result* result) {
  return result == nullptr ? 0 : result->data->result.refused;
}
const uint8_t* eris_result_existed(const eris_result* result) {
  return result == nullptr ? nullptr : eris::capi::BitsOf(result->data->result.existed);
}
const uint8_t* eris_result_applied(const eris_result* result) {
  return result == nullptr ? nullptr : eris::capi::BitsOf(result->data->result.applied);
}
const uint8_t* eris_result_executed(const eris_result* result) {
  return result == nullptr ? nullptr : eris::capi::BitsOf(result->data->result.executed);
}
size_t eris_result_column_count(const eris_result* result) {
  return result == nullptr ? 0 : result->data->types.size();
}

eris_code eris_result_column(const eris_result* result, size_t i, eris_column* column,
                             eris_column_schema* schema, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"result", result}, {"column", column}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckIndex(i, result->data->types.size()));
    eris::capi::ColumnOut(result->data->types[i], eris::capi::ViewOf(*result->data, i), *column,
                          schema);
    return absl::OkStatus();
  });
}

eris_code eris_result_export_arrow(const eris_result* result, struct ArrowSchema* schema,
                                   struct ArrowArray* array, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"result", result}, {"schema", schema}, {"array", array}}));
    if (result->data->types.empty()) {
      return absl::FailedPreconditionError("the answer has no columns");
    }
    eris::ExportArrow(std::make_shared<const eris::capi::ResultChunk>(result->data), schema, array);
    if (schema->release != nullptr) return absl::OkStatus();
    return absl::ResourceExhaustedError("no memory for an ArrowArray");
  });
}

void eris_result_free(eris_result* result) { delete result; }
