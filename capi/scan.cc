// Snapshots, scans, their chunks, joins and aggregates.
#include "eris/c/scan.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/lean_status.h"
#include "base/status_macros.h"
#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/queries.h"
#include "eris/query.h"

namespace eris::capi {
namespace {

// A chunk that has been exported, for the array's release.
struct ExportedChunk {
  ExportedChunk(HandleCounts& counts, std::shared_ptr<const Chunk> its_chunk)
      : use(counts, HandleKind::kArrow), chunk(std::move(its_chunk)) {}

  const Use use;
  const std::shared_ptr<const Chunk> chunk;
};

// Hands a chunk out; none at the end of the scan. Sets `lost` if there is no memory for it.
absl::Status FillChunk(Scan::NextResult next, std::unique_ptr<eris_chunk>& chunk, bool& lost) {
  if (!next.ok()) {
    chunk.reset();
    return next.status();
  }
  if (*next == nullptr) {
    chunk.reset();
    return absl::OkStatus();
  }
  chunk->chunk = *std::move(next);
  try {
    chunk->resume = chunk->chunk->resume();
  } catch (const std::bad_alloc&) {
    chunk.reset();  // without a resume position its reader could not go on after it
    lost = true;
    return base::NoMemory();
  }
  return absl::OkStatus();
}

// The chunks after a lost one would look like the whole rest. Errors: ResourceExhausted.
absl::Status CheckWhole(const eris_scan::Calls& calls) {
  if (!calls.lost) return absl::OkStatus();
  return base::NoMemory("the system had no memory for a chunk of the scan: open it again");
}

absl::StatusOr<JoinOptions> JoinFrom(const eris_range* range, const eris_range* inner_values) {
  JoinOptions options;
  if (range != nullptr) {
    ERIS_ASSIGN_OR_RETURN(options.range, RangeFrom(*range));
  }
  if (inner_values != nullptr) {
    ERIS_ASSIGN_OR_RETURN(options.inner_values, RangeFrom(*inner_values));
  }
  return options;
}

// What a callback needs; it may run after the scan has been freed.
struct NextCall {
  eris_chunk_callback done;
  void* user;
  std::shared_ptr<eris_scan::Calls> calls;
  std::unique_ptr<eris_chunk> chunk;  // made before

  void Deliver(Scan::NextResult next) {
    const absl::Status status = FillChunk(std::move(next), chunk, calls->lost);
    // release: pairs with the acquire of the next call's OneCaller.
    calls->busy.store(false, std::memory_order_release);
    const CallbackScope scope;
    done(user, chunk.release(), status.ok() ? nullptr : ErrorOf(status));
  }
};

}  // namespace
}  // namespace eris::capi

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_snapshot_take(eris_engine* engine, eris_snapshot** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(std::shared_ptr<eris::Snapshot> snapshot, engine->engine->TakeSnapshot());
    *out = new eris_snapshot(*engine, std::move(snapshot));
    return absl::OkStatus();
  });
}
int32_t eris_snapshot_aborted(const eris_snapshot* snapshot) {
  return snapshot != nullptr && snapshot->snapshot->aborted() ? 1 : 0;
}
uint64_t eris_snapshot_epoch(const eris_snapshot* snapshot) {
  return snapshot == nullptr ? 0 : snapshot->snapshot->epoch();
}
void eris_snapshot_free(eris_snapshot* snapshot) { delete snapshot; }

eris_code eris_scan_open(eris_session* session, const eris_object* object, const eris_query* query,
                         eris_scan** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"object", object}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(const eris::Query its_query, eris::capi::QueryFrom(query));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_ASSIGN_OR_RETURN(std::unique_ptr<eris::Scan> scan,
                          session->session->OpenScan(object->object, its_query));
    *out = new eris_scan(session->engine, std::move(scan));
    return absl::OkStatus();
  });
}

eris_code eris_answer_schema(eris_session* session, const eris_object* object,
                             const eris_query* query, struct ArrowSchema* out, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"object", object}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(const eris::Query its_query, eris::capi::QueryFrom(query));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_ASSIGN_OR_RETURN(const eris::Schema schema,
                          session->session->AnswerSchema(object->object, its_query));
    return eris::capi::ExportSchema(schema, out);
  });
}

eris_code eris_scan_schema(const eris_scan* scan, struct ArrowSchema* out, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"scan", scan}, {"out", out}}));
    return eris::capi::ExportSchema(scan->scan->schema(), out);
  });
}

eris_code eris_scan_next(eris_scan* scan, int64_t timeout_us, eris_chunk** out,
                         eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"scan", scan}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    auto chunk = std::make_unique<eris_chunk>(scan->engine);
    const eris::capi::OneCaller caller(scan->calls->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_RETURN_IF_ERROR(eris::capi::CheckWhole(*scan->calls));
    ERIS_RETURN_IF_ERROR(
        eris::capi::FillChunk(scan->scan->Next(deadline), chunk, scan->calls->lost));
    *out = chunk.release();
    return absl::OkStatus();
  });
}

eris_code eris_scan_next_async(eris_scan* scan, eris_chunk_callback done, void* user,
                               eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"scan", scan}}));
    if (done == nullptr) return absl::InvalidArgumentError("`done` is NULL");
    auto call = std::make_unique<eris::capi::NextCall>(
        eris::capi::NextCall{done, user, scan->calls, std::make_unique<eris_chunk>(scan->engine)});
    eris::capi::OneCaller caller(scan->calls->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_RETURN_IF_ERROR(eris::capi::CheckWhole(*scan->calls));
    eris::Scan::Callback callback = [call = std::move(call)](eris::Scan::NextResult next) {
      call->Deliver(std::move(next));
    };
    caller.Keep();
    scan->scan->NextAsync(std::move(callback));
    return absl::OkStatus();
  });
}

void eris_scan_cancel(eris_scan* scan) {
  if (scan == nullptr) return;
  Guard(nullptr, [&] {
    scan->scan->Cancel();
    return absl::OkStatus();
  });
}
void eris_scan_free(eris_scan* scan) { delete scan; }

eris_code eris_scan_export_stream(eris_scan* scan, struct ArrowArrayStream* out,
                                  eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"scan", scan}, {"out", out}}));
    *out = {};
    {
      const eris::capi::OneCaller caller(scan->calls->busy);
      ERIS_RETURN_IF_ERROR(caller.status());
    }
    const std::unique_ptr<eris_scan> freed(scan);
    ERIS_RETURN_IF_ERROR(eris::capi::CheckWhole(*scan->calls));
    auto use = std::make_shared<const eris::capi::Use>(scan->engine.counts,
                                                       eris::capi::HandleKind::kArrow);
    eris::ExportArrowStream(std::move(scan->scan), out, std::move(use));
    return absl::OkStatus();
  });
}

uint64_t eris_chunk_rows(const eris_chunk* chunk) {
  return chunk == nullptr ? 0 : chunk->chunk->rows();
}
size_t eris_chunk_column_count(const eris_chunk* chunk) {
  return chunk == nullptr ? 0 : chunk->chunk->schema().columns.size();
}

eris_code eris_chunk_column(const eris_chunk* chunk, size_t i, eris_column* column,
                            eris_column_schema* schema, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"chunk", chunk}, {"column", column}}));
    const std::vector<eris::ColumnSchema>& columns = chunk->chunk->schema().columns;
    ERIS_RETURN_IF_ERROR(eris::capi::CheckIndex(i, columns.size()));
    eris::capi::ColumnOut(columns[i], chunk->chunk->column(i), *column, schema);
    return absl::OkStatus();
  });
}

const void* eris_chunk_resume(const eris_chunk* chunk, size_t* bytes) {
  const size_t count = chunk == nullptr ? 0 : chunk->resume.size();
  if (bytes != nullptr) *bytes = count;
  return count == 0 ? nullptr : chunk->resume.data();
}

eris_code eris_chunk_export_arrow(const eris_chunk* chunk, struct ArrowSchema* schema,
                                  struct ArrowArray* array, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"chunk", chunk}, {"schema", schema}, {"array", array}}));
    const auto held =
        std::make_shared<const eris::capi::ExportedChunk>(chunk->engine.counts, chunk->chunk);
    eris::ExportArrow(std::shared_ptr<const eris::Chunk>(held, held->chunk.get()), schema, array);
    if (schema->release != nullptr) return absl::OkStatus();
    return absl::ResourceExhaustedError("no memory for an ArrowArray");
  });
}

void eris_chunk_free(eris_chunk* chunk) { delete chunk; }

eris_code eris_aggregate(eris_session* session, const eris_object* index,
                         const eris_aggregate_options* options, int64_t timeout_us,
                         eris_aggregate_result* result, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"index", index}, {"result", result}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckStructSize("result", result->struct_size));
    ERIS_ASSIGN_OR_RETURN(const eris::AggregateOptions its_options,
                          eris::capi::AggregateFrom(options));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_ASSIGN_OR_RETURN(const eris::RangeAggregate got,
                          session->session->Aggregate(index->object, its_options, deadline));
    return eris::capi::WriteSized("result", eris::capi::AggregateOut(got), result);
  });
}

eris_code eris_join_open(eris_session* session, const eris_object* outer, const eris_object* inner,
                         const eris_range* range, const eris_range* inner_values, eris_scan** out,
                         eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(
        Need({{"session", session}, {"outer", outer}, {"inner", inner}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(const eris::JoinOptions options,
                          eris::capi::JoinFrom(range, inner_values));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_ASSIGN_OR_RETURN(std::unique_ptr<eris::Scan> scan,
                          session->session->OpenJoin(outer->object, inner->object, options));
    *out = new eris_scan(session->engine, std::move(scan));
    return absl::OkStatus();
  });
}

eris_code eris_scan_into(eris_session* session, const eris_object* table, const eris_query* query,
                         const eris_object* target, int64_t timeout_us, uint64_t* rows,
                         eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"table", table}, {"target", target}}));
    ERIS_ASSIGN_OR_RETURN(const eris::Query its_query, eris::capi::QueryFrom(query));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_ASSIGN_OR_RETURN(
        const uint64_t written,
        session->session->ScanInto(table->object, its_query, target->object, deadline));
    if (rows != nullptr) *rows = written;
    return absl::OkStatus();
  });
}
