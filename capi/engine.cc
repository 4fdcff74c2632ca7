// Engines: opened, closed, and their catalogue.
#include "eris/c/engine.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "capi/balancer_options.h"
#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "eris/engine.h"
#include "eris/key_encoding.h"

namespace eris::capi {
namespace {

// Sets an option that is not 0.
template <class To, class From>
void Take(From from, To& to) {
  if (from != 0) to = static_cast<To>(from);
}

absl::Status TakeMemory(const eris_engine_options& from, Options& to) {
  ERIS_RETURN_IF_ERROR(CheckNumber("memory_placement", from.memory_placement, 0,
                                   static_cast<int>(MemoryPlacement::kOneNumaNode)));
  ERIS_RETURN_IF_ERROR(
      CheckNumber("huge_pages", from.huge_pages, 0, static_cast<int>(HugePages::kNone)));
  to.process_memory_bytes = from.process_memory_bytes;
  to.memory_limit_bytes = from.memory_limit_bytes;
  to.caller_bytes = from.caller_bytes;
  to.memory_placement = static_cast<MemoryPlacement>(from.memory_placement);
  to.memory_numa_node = from.memory_numa_node;
  to.memory_spill = from.memory_spill != 0;
  to.huge_pages = static_cast<HugePages>(from.huge_pages);
  Take(from.superblock_bytes, to.superblock_bytes);
  Take(from.memory_decay_ms, to.memory_decay_ms);
  Take(from.memory_kept_bytes_max, to.memory_kept_bytes_max);
  Take(from.memory_ready_bytes_max, to.memory_ready_bytes_max);
  Take(from.incoming_buffer_bytes, to.incoming_buffer_bytes);
  Take(from.outgoing_buffer_bytes, to.outgoing_buffer_bytes);
  Take(from.port_buffers_bytes_max, to.port_buffers_bytes_max);
  Take(from.session_in_flight_bytes_max, to.session_in_flight_bytes_max);
  Take(from.version_bytes_max, to.version_bytes_max);
  Take(from.query_bytes_max, to.query_bytes_max);
  return absl::OkStatus();
}

absl::StatusOr<Options> OptionsFrom(const eris_engine_options* given) {
  ERIS_ASSIGN_OR_RETURN(const eris_engine_options from, ReadSized("options", given));
  Options to;
  if (from.topology != nullptr) to.topology = from.topology;
  ERIS_RETURN_IF_ERROR(
      CheckNumber("placement", from.placement, 0, static_cast<int>(Placement::kNone)));
  to.aeu_count = from.aeu_count;
  to.placement = static_cast<Placement>(from.placement);
  to.aeu_per_hardware_thread = from.aeu_per_hardware_thread != 0;
  to.network_cores = from.network_cores;
  if (from.aeu_cpu_count > 0) {
    constexpr int64_t kCpusMax = 1 << 16;
    ERIS_RETURN_IF_ERROR(Need({{"aeu_cpus", from.aeu_cpus}}));
    ERIS_RETURN_IF_ERROR(
        CheckNumber("aeu_cpu_count", static_cast<int64_t>(from.aeu_cpu_count), 0, kCpusMax));
    to.aeu_cpus.assign(from.aeu_cpus, from.aeu_cpus + from.aeu_cpu_count);
  }
  ERIS_RETURN_IF_ERROR(TakeMemory(from, to));
  Take(from.send_wait_ms_max, to.send_wait_ms_max);
  to.scan_chunks_max = from.scan_chunks_max;
  ERIS_ASSIGN_OR_RETURN(to.task_scheduling, SchedulingFrom(from.task_scheduling));
  Take(from.snapshot_age_ms_max, to.snapshot_age_ms_max);
  Take(from.scan_slice_us, to.scan_slice_us);
  ERIS_ASSIGN_OR_RETURN(to.balancer, BalancerFrom(from.balancer));
  return to;
}

// "2 sessions, 1 scan"; empty: no handle.
std::string OpenHandles(const eris_engine& engine) {
  static constexpr const char* kNames[kHandleKinds] = {
      "session", "object", "scan", "chunk", "snapshot", "call", "Arrow structure"};
  std::vector<std::string> open;
  for (size_t kind = 0; kind < kHandleKinds; ++kind) {
    // acquire: pairs with the release in ~Use.
    const int64_t count = engine.counts[kind].load(std::memory_order_acquire);
    if (count != 0) open.push_back(absl::StrCat(count, " ", kNames[kind], count == 1 ? "" : "s"));
  }
  return absl::StrJoin(open, ", ");
}

absl::StatusOr<Schema> SchemaFrom(const eris_create_options& from) {
  const auto type_of = [](int32_t type) {
    return type == 0 ? ColumnType::kUint64 : static_cast<ColumnType>(type);
  };
  for (const auto& [name, type] :
       {std::pair("key_type", from.key_type), std::pair("second_key_type", from.second_key_type),
        std::pair("value_type", from.value_type)}) {
    ERIS_RETURN_IF_ERROR(CheckNumber(name, type, 0, ERIS_TYPE_TIMESTAMP));
  }
  const bool typed = (from.key_type | from.second_key_type | from.value_type) != 0;
  if (from.column_count == 0 && from.arrow_schema == nullptr) {
    if (from.key_count > 0) {
      return absl::InvalidArgumentError("`key` names columns, and there are none: give `columns`");
    }
    KeyTypes key(type_of(from.key_type));
    if (from.second_key_type != 0) key.second = type_of(from.second_key_type);
    return KeyValueSchema(key, type_of(from.value_type));
  }
  if (typed || (from.column_count > 0 && from.arrow_schema != nullptr)) {
    return absl::InvalidArgumentError(
        "give one of `columns`, `arrow_schema`, and the types of key and value");
  }
  Schema schema;
  if (from.arrow_schema != nullptr) {
    ERIS_ASSIGN_OR_RETURN(schema.columns, ColumnsFromArrow(*from.arrow_schema));
  } else {
    ERIS_ASSIGN_OR_RETURN(schema.columns, ColumnsFrom(from.columns, from.column_count));
  }
  ERIS_RETURN_IF_ERROR(
      CheckNumber("key_count", static_cast<int64_t>(from.key_count), 0, kTableKeyColumnsMax));
  if (from.key_count > 0) ERIS_RETURN_IF_ERROR(Need({{"key", from.key}}));
  for (size_t i = 0; i < from.key_count; ++i) {
    ERIS_RETURN_IF_ERROR(
        CheckNumber("key", from.key[i], 0, static_cast<int64_t>(schema.columns.size()) - 1));
    schema.key.push_back(from.key[i]);
  }
  return schema;
}

absl::StatusOr<CreateOptions> CreateFrom(const eris_create_options* given) {
  ERIS_ASSIGN_OR_RETURN(const eris_create_options from, ReadSized("options", given));
  ERIS_RETURN_IF_ERROR(CheckNumber("kind", from.kind, 0, ERIS_KIND_HEAP_TABLE));
  CreateOptions to;
  if (from.kind != 0) to.kind = static_cast<ObjectKind>(from.kind);
  ERIS_ASSIGN_OR_RETURN(to.schema, SchemaFrom(from));
  ERIS_ASSIGN_OR_RETURN(to.expected, RangeFrom(from.expected));
  if (from.split_point_count > 0) {
    constexpr int64_t kPointsMax = 1 << 20;
    ERIS_RETURN_IF_ERROR(Need({{"split_points", from.split_points}}));
    ERIS_RETURN_IF_ERROR(CheckNumber("split_point_count",
                                     static_cast<int64_t>(from.split_point_count), 0, kPointsMax));
    to.split_points.assign(from.split_points, from.split_points + from.split_point_count);
  }
  if (from.beside != nullptr) to.beside = from.beside;
  return to;
}

}  // namespace

// A catalogue's entry with arrays as C has them. Not movable: they point into it.
struct CatalogueEntry {
  explicit CatalogueEntry(ObjectInfo its_info) : info(std::move(its_info)) {
    for (const ColumnSchema& column : info.schema.columns) {
      eris_column values;
      ColumnOut(column, {}, values, &columns.emplace_back());
    }
    for (const AeuId owner : info.partition_owners) owners.push_back(owner.value);
    for (const std::string& name : info.beside) beside.push_back(name.c_str());
  }
  CatalogueEntry(const CatalogueEntry&) = delete;
  CatalogueEntry& operator=(const CatalogueEntry&) = delete;

  const ObjectInfo info;
  std::vector<eris_column_schema> columns{};
  std::vector<uint32_t> owners{};
  std::vector<const char*> beside{};
};

}  // namespace eris::capi

struct eris_catalogue {
  std::vector<std::unique_ptr<eris::capi::CatalogueEntry>> entries;
};

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_engine_open(const eris_engine_options* options, eris_engine** out,
                           eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"out", out}}));
    ERIS_ASSIGN_OR_RETURN(const eris::Options its_options, eris::capi::OptionsFrom(options));
    auto engine = std::make_unique<eris_engine>();
    ERIS_ASSIGN_OR_RETURN(engine->engine, eris::Engine::Open(its_options));
    *out = engine.release();
    return absl::OkStatus();
  });
}

eris_code eris_engine_close(eris_engine* engine, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    if (engine == nullptr) return absl::OkStatus();
    if (eris::capi::CallbackScope::Inside()) {
      return absl::FailedPreconditionError(
          "an engine cannot be closed from a callback: it waits for the thread that runs them");
    }
    ERIS_RETURN_IF_ERROR(eris::capi::CheckNotDeferring());
    const std::string open = eris::capi::OpenHandles(*engine);
    if (!open.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the engine is in use: ", open, " to be freed"));
    }
    engine->engine->Close();
    delete engine;
    return absl::OkStatus();
  });
}

eris_code eris_explain_topology(eris_engine* engine, char** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"out", out}}));
    *out = eris::capi::CopyText(engine->engine->ExplainTopology());
    return absl::OkStatus();
  });
}

eris_code eris_engine_notes(eris_engine* engine, char** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"out", out}}));
    *out = eris::capi::CopyText(absl::StrJoin(engine->engine->Notes(), "\n"));
    return absl::OkStatus();
  });
}

eris_code eris_create(eris_engine* engine, const char* name, const eris_create_options* options,
                      eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"name", name}}));
    ERIS_ASSIGN_OR_RETURN(const eris::CreateOptions its_options, eris::capi::CreateFrom(options));
    return engine->engine->Create(name, its_options).status();
  });
}

eris_code eris_drop(eris_engine* engine, const char* name, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"name", name}}));
    return engine->engine->Drop(name);
  });
}

eris_code eris_drop_if_written(eris_engine* engine, const char* name, uint32_t id, uint64_t rows,
                               eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"name", name}}));
    return engine->engine->DropIfWritten(name, eris::ObjectId{id}, rows);
  });
}

eris_code eris_list(eris_engine* engine, eris_catalogue** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"out", out}}));
    auto catalogue = std::make_unique<eris_catalogue>();
    for (eris::ObjectInfo& info : engine->engine->List()) {
      catalogue->entries.push_back(std::make_unique<eris::capi::CatalogueEntry>(std::move(info)));
    }
    *out = catalogue.release();
    return absl::OkStatus();
  });
}

eris_code eris_describe(eris_engine* engine, const char* name, eris_catalogue** out,
                        eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"name", name}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(eris::ObjectInfo info, engine->engine->Describe(name));
    auto catalogue = std::make_unique<eris_catalogue>();
    catalogue->entries.push_back(std::make_unique<eris::capi::CatalogueEntry>(std::move(info)));
    *out = catalogue.release();
    return absl::OkStatus();
  });
}

size_t eris_catalogue_count(const eris_catalogue* catalogue) {
  return catalogue == nullptr ? 0 : catalogue->entries.size();
}

eris_code eris_catalogue_get(const eris_catalogue* catalogue, size_t i, eris_object_info* info,
                             eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"catalogue", catalogue}, {"info", info}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckIndex(i, catalogue->entries.size()));
    const eris::capi::CatalogueEntry& entry = *catalogue->entries[i];
    const eris::ObjectInfo& its = entry.info;
    return eris::capi::WriteSized("info",
                                  eris_object_info{.struct_size = 0,
                                                   .name = its.name.c_str(),
                                                   .id = its.id.value,
                                                   .kind = static_cast<int32_t>(its.kind),
                                                   .keys = its.keys,
                                                   .memory_bytes = its.memory_bytes,
                                                   .columns = entry.columns.data(),
                                                   .column_count = entry.columns.size(),
                                                   .key = its.schema.key.data(),
                                                   .key_count = its.schema.key.size(),
                                                   .partition_starts = its.partition_starts.data(),
                                                   .partition_owners = entry.owners.data(),
                                                   .partition_count = entry.owners.size(),
                                                   .beside = entry.beside.data(),
                                                   .beside_count = entry.beside.size()},
                                  info);
  });
}

void eris_catalogue_free(eris_catalogue* catalogue) { delete catalogue; }
