// Sessions and objects; lookups and writes that wait for their answers.
#include "eris/c/session.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "capi/batches.h"
#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/result.h"

namespace eris::capi {

absl::StatusOr<std::unique_ptr<LookupIn>> LookupIn::Create(const Object& object,
                                                           const eris_lookup_options* given) {
  ERIS_ASSIGN_OR_RETURN(const eris_lookup_options options, ReadSized("options", given));
  auto in = std::make_unique<LookupIn>();
  ERIS_ASSIGN_OR_RETURN(in->names, NamesFrom("columns", options.columns, options.column_count));
  in->answer_bytes_max =
      options.answer_bytes_max == 0 ? kBatchValueBytesMax : options.answer_bytes_max;
  const Schema& schema = object.schema();
  if (in->names.empty()) in->types = OutsideKey(schema);
  for (const std::string& name : in->names) {
    for (const ColumnSchema& column : schema.columns) {
      if (column.name == name) in->types.push_back(column);
    }
  }
  return in;
}

LookupBatch LookupIn::batch(const RowBatch& keys) const {
  return {.keys = keys, .columns = names, .answer_bytes_max = answer_bytes_max};
}

absl::StatusOr<std::unique_ptr<WriteIn>> WriteIn::Create(const Object& object, int32_t mode,
                                                         const eris_rows& rows,
                                                         const eris_rows* expected) {
  ERIS_RETURN_IF_ERROR(CheckNumber("mode", mode, ERIS_INSERT_IF_ABSENT, ERIS_APPEND));
  auto in = std::make_unique<WriteIn>();
  in->mode = static_cast<WriteMode>(mode);
  const std::vector<ColumnSchema> columns = ColumnsOf(object, in->mode);
  ERIS_ASSIGN_OR_RETURN(in->rows.emplace_back(), RowsIn::Create(rows, columns));
  const std::vector<ColumnSchema> value = {object.schema().columns.back()};
  if (expected != nullptr) {
    ERIS_ASSIGN_OR_RETURN(in->rows.emplace_back(), RowsIn::Create(*expected, value));
  }
  in->types = value;
  return in;
}

WriteBatch WriteIn::batch() const {
  WriteBatch batch{.mode = mode, .rows = rows[0].batch()};
  if (rows.size() > 1) batch.expected = rows[1].batch();
  return batch;
}

std::vector<ColumnSchema> ColumnsOf(const Object& object, WriteMode mode) {
  return mode == WriteMode::kErase ? KeyOf(object.schema()) : object.schema().columns;
}

namespace {

// Hands a result out, whatever its status, and returns that.
absl::Status HandOut(BatchResult&& answer, std::unique_ptr<eris_result> result, eris_result** out) {
  absl::Status status = answer.status;
  if (out == nullptr) return status;
  FillResult(std::move(answer), *result);
  *out = result.release();
  return status;
}

absl::Status Lookup(eris_session& session, const Object& object, const RowsIn& keys,
                    const eris_lookup_options* options, int64_t timeout_us, eris_result** out) {
  ERIS_ASSIGN_OR_RETURN(const std::unique_ptr<LookupIn> in, LookupIn::Create(object, options));
  ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, DeadlineOf(timeout_us));
  auto result = NewResult(in->types, true);
  const OneCaller caller(session.busy);
  ERIS_RETURN_IF_ERROR(caller.status());
  return HandOut(session.session->Lookup(object, in->batch(keys.batch()), deadline),
                 std::move(result), out);
}

absl::Status Write(eris_session& session, const Object& object, const WriteBatch& batch,
                   std::vector<ColumnSchema> types, int64_t timeout_us, eris_result** out) {
  ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, DeadlineOf(timeout_us));
  auto result = NewResult(std::move(types), false);
  const OneCaller caller(session.busy);
  ERIS_RETURN_IF_ERROR(caller.status());
  return HandOut(session.session->Write(object, batch, deadline), std::move(result), out);
}

absl::Status NeedKeys(const uint64_t* keys, size_t count) {
  if (count > 0) return Need({{"keys", keys}});
  return absl::InvalidArgumentError("a batch needs at least one row");
}

}  // namespace
}  // namespace eris::capi

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_session_new(eris_engine* engine, eris_session** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"out", out}}));
    *out = new eris_session(*engine, engine->engine->NewSession());
    return absl::OkStatus();
  });
}

eris_code eris_session_new_on(eris_engine* engine, uint32_t numa_node, eris_session** out,
                              eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(std::unique_ptr<eris::Session> session,
                          engine->engine->NewSession(eris::NumaNodeId{numa_node}));
    *out = new eris_session(*engine, std::move(session));
    return absl::OkStatus();
  });
}

uint32_t eris_session_numa_node(const eris_session* session) {
  return session == nullptr ? 0 : session->session->numa_node().value;
}
void eris_session_free(eris_session* session) { delete session; }

eris_code eris_object_open(eris_session* session, const char* name, eris_object** out,
                           eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"name", name}, {"out", out}}));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_ASSIGN_OR_RETURN(eris::Object object, session->session->Open(name));
    *out = new eris_object(session->engine, std::move(object));
    return absl::OkStatus();
  });
}

uint32_t eris_object_id(const eris_object* object) {
  return object == nullptr ? 0 : object->object.id().value;
}
int32_t eris_object_kind(const eris_object* object) {
  return object == nullptr ? 0 : static_cast<int32_t>(object->object.kind());
}
eris_code eris_object_arrow_schema(const eris_object* object, struct ArrowSchema* out,
                                   eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"object", object}, {"out", out}}));
    return eris::capi::ExportSchema(object->object.schema(), out);
  });
}
void eris_object_free(eris_object* object) { delete object; }

eris_code eris_lookup(eris_session* session, const eris_object* object, const eris_rows* keys,
                      const eris_lookup_options* options, int64_t timeout_us, eris_result** out,
                      eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(
        Need({{"session", session}, {"object", object}, {"keys", keys}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(
        const eris::capi::RowsIn rows,
        eris::capi::RowsIn::Create(*keys, eris::capi::KeyOf(object->object.schema())));
    return eris::capi::Lookup(*session, object->object, rows, options, timeout_us, out);
  });
}

eris_code eris_lookup_arrow(eris_session* session, const eris_object* object,
                            const struct ArrowSchema* schema, const struct ArrowArray* array,
                            const eris_lookup_options* options, int64_t timeout_us,
                            eris_result** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session},
                               {"object", object},
                               {"schema", schema},
                               {"array", array},
                               {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(
        const eris::capi::RowsIn rows,
        eris::capi::RowsIn::FromArrow(*schema, *array, eris::capi::KeyOf(object->object.schema())));
    return eris::capi::Lookup(*session, object->object, rows, options, timeout_us, out);
  });
}

eris_code eris_write(eris_session* session, const eris_object* object, int32_t mode,
                     const eris_rows* rows, const eris_rows* expected, int64_t timeout_us,
                     eris_result** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"object", object}, {"rows", rows}}));
    ERIS_ASSIGN_OR_RETURN(const std::unique_ptr<eris::capi::WriteIn> in,
                          eris::capi::WriteIn::Create(object->object, mode, *rows, expected));
    return eris::capi::Write(*session, object->object, in->batch(), in->types, timeout_us, out);
  });
}

eris_code eris_write_arrow(eris_session* session, const eris_object* object, int32_t mode,
                           const struct ArrowSchema* schema, const struct ArrowArray* array,
                           int64_t timeout_us, eris_result** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(
        Need({{"session", session}, {"object", object}, {"schema", schema}, {"array", array}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckNumber("mode", mode, ERIS_INSERT_IF_ABSENT, ERIS_APPEND));
    const auto its_mode = static_cast<eris::WriteMode>(mode);
    ERIS_ASSIGN_OR_RETURN(const eris::capi::RowsIn rows,
                          eris::capi::RowsIn::FromArrow(
                              *schema, *array, eris::capi::ColumnsOf(object->object, its_mode)));
    const eris::WriteBatch batch{.mode = its_mode, .rows = rows.batch()};
    return eris::capi::Write(*session, object->object, batch,
                             {object->object.schema().columns.back()}, timeout_us, out);
  });
}

eris_code eris_lookup_u64(eris_session* session, const eris_object* object, const uint64_t* keys,
                          size_t count, uint64_t* values, uint8_t* found, int64_t timeout_us,
                          eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(
        Need({{"session", session}, {"object", object}, {"values", values}, {"found", found}}));
    ERIS_RETURN_IF_ERROR(eris::capi::NeedKeys(keys, count));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    return session->session->Lookup(object->object, eris::KeyColumns(keys, count), {values, count},
                                    {found, count}, deadline);
  });
}

eris_code eris_write_u64(eris_session* session, const eris_object* object, int32_t mode,
                         const uint64_t* keys, const uint64_t* values, const uint64_t* expected,
                         size_t count, uint8_t* applied, uint64_t* answers, int64_t timeout_us,
                         eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"object", object}}));
    ERIS_RETURN_IF_ERROR(eris::capi::NeedKeys(keys, count));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckNumber("mode", mode, ERIS_INSERT_IF_ABSENT, ERIS_APPEND));
    if (mode != ERIS_ERASE) ERIS_RETURN_IF_ERROR(Need({{"values", values}}));
    if (mode == ERIS_COMPARE_AND_SET) ERIS_RETURN_IF_ERROR(Need({{"expected", expected}}));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    const auto span = [count](auto* data, bool wanted) {
      return absl::MakeSpan(data, wanted ? count : 0);
    };
    const eris::WriteColumns columns{.applied = span(applied, applied != nullptr),
                                     .values = span(answers, answers != nullptr)};
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    return session->session->Write(object->object, static_cast<eris::WriteMode>(mode),
                                   eris::KeyColumns(keys, count), span(values, mode != ERIS_ERASE),
                                   span(expected, expected != nullptr), columns, deadline);
  });
}

eris_code eris_upsert_u64(eris_session* session, const eris_object* object, const uint64_t* keys,
                          const uint64_t* values, size_t count, uint8_t* existed,
                          int64_t timeout_us, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"object", object}, {"values", values}}));
    ERIS_RETURN_IF_ERROR(eris::capi::NeedKeys(keys, count));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    return session->session->Upsert(object->object, eris::KeyColumns(keys, count), {values, count},
                                    absl::MakeSpan(existed, existed == nullptr ? 0 : count),
                                    deadline);
  });
}

eris_code eris_erase_u64(eris_session* session, const eris_object* object, const uint64_t* keys,
                         size_t count, uint8_t* existed, int64_t timeout_us, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"object", object}}));
    ERIS_RETURN_IF_ERROR(eris::capi::NeedKeys(keys, count));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    return session->session->Erase(object->object, eris::KeyColumns(keys, count),
                                   absl::MakeSpan(existed, existed == nullptr ? 0 : count),
                                   deadline);
  });
}
