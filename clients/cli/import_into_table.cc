// eris import into a table: creates it with bounds from a sample of its first key column.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/cuts_of_others.h"
#include "clients/cli/files/failed_import.h"
#include "clients/cli/files/import_flags.h"
#include "clients/cli/files/key_sample.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/files/table_file.h"
#include "clients/cli/table_verbs.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/table_client.h"

namespace eris::cli {
namespace {

// More of them fill no message better.
constexpr uint64_t kBatchRowsMax = 65536;

// The schema, and whether the table is still to be created.
struct Target {
  Schema schema;
  bool missing = false;
};

absl::StatusOr<Target> FindTarget(client::Client& client, const ImportFlags& flags) {
  Target target;
  if (!flags.value.empty() || !flags.kind.empty() || !flags.key_type.empty() ||
      !flags.table.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--value, --kind, --key-type and --table are for indexes, ", flags.object, " is a table"));
  }
  if (!flags.schema.empty()) {
    absl::StatusOr<Schema> schema = ParseSchema(flags.schema, flags.key);
    if (!schema.ok()) return schema.status();
    target.schema = *std::move(schema);
  }
  const absl::StatusOr<client::TableInfo> found = client::TableClient(client).Get(flags.object);
  if (absl::IsNotFound(found.status()) && flags.create && !flags.schema.empty()) {
    target.missing = true;
    return target;
  }
  if (!found.ok()) return found.status();
  if (flags.schema.empty() && !flags.key.empty()) {
    // The table has its key; what is said of it must be that.
    target.schema = found->schema;
    if (absl::Status status = SetKey(flags.key, target.schema); !status.ok()) return status;
  }
  if (!(flags.schema.empty() && flags.key.empty()) && target.schema != found->schema) {
    return absl::InvalidArgumentError(absl::StrCat(
        "table ", flags.object, ", which exists, has columns ", SchemaText(found->schema), " and ",
        found->schema.clustered() ? absl::StrCat("key ", TableKeyText(found->schema)) : "no key",
        flags.schema.empty() ? ", not that of --key" : ", not those of --schema and --key"));
  }
  target.schema = found->schema;
  SayExpectIsIdle(flags);
  return target;
}

absl::Status CreateTarget(client::Client& client, const ImportFlags& flags, const InputFile& input,
                          const TableFile& file, const Schema& schema,
                          std::optional<ObjectId>& created) {
  absl::StatusOr<client::TableBounds> bounds = ParseTableBounds(schema, flags.expect, "");
  if (!bounds.ok()) return bounds.status();
  if (flags.expect.empty() && schema.clustered()) {
    const absl::StatusOr<ColumnType> type = SampleTypeOf(schema.columns[schema.key[0]]);
    if (type.ok() && !input.seekable()) {
      return absl::InvalidArgumentError(absl::StrCat(
          input.name(), " cannot be sampled: give --expect LO:HI, or create the table first"));
    }
    if (type.ok()) {
      const absl::StatusOr<EngineStats> stats = client.Stats();
      if (!stats.ok()) return stats.status();
      absl::StatusOr<std::vector<uint64_t>> sample =
          SampleKeys(input.fd(), input.bytes(), *flags.Delimited(), file.FieldOf(schema.key[0]),
                     kSampleRecordsMax, *type);
      if (!sample.ok()) return sample.status();
      bounds->splits =
          SampledBounds(schema.columns[schema.key[0]], *std::move(sample), stats->aeus.size(),
                        CutsOfTables(client, schema.columns[schema.key[0]], stats->aeus.size()));
    }
  }
  client::TableClient tables(client);
  const absl::StatusOr<ObjectInfo> info = tables.Create(flags.object, schema, *bounds);
  if (info.ok()) created = info->id;
  if (!absl::IsAlreadyExists(info.status())) return info.status();
  // Another import has been faster: its table must be as ours would be.
  const absl::StatusOr<client::TableInfo> other = tables.Get(flags.object);
  return other.ok() && other->schema == schema ? absl::OkStatus() : info.status();
}

absl::StatusOr<TableFileFormat> FormatOf(const ImportFlags& flags) {
  const absl::StatusOr<DelimitedFormat> delimited = flags.Delimited();
  if (!delimited.ok()) return delimited.status();
  TableFileFormat format{.delimited = *delimited, .header = flags.header};
  if (flags.IsTbl() && !flags.header) format.header = false;
  return format;
}

int Show(const Cli& cli, const ImportFlags& flags, const ImportedRows& imported, bool created,
         double seconds) {
  const double rows_rate = seconds > 0 ? static_cast<double>(imported.rows) / seconds : 0;
  const double bytes_rate = seconds > 0 ? static_cast<double>(imported.bytes) / seconds : 0;
  Output output;
  if (cli.json()) {
    output.WriteJson({{"object", flags.object},
                      {"created", created},
                      {"rows", std::to_string(imported.rows)},
                      {"replaced", std::to_string(imported.replaced)},
                      {"skipped", std::to_string(imported.skipped)},
                      {"bytes", std::to_string(imported.bytes)},
                      {"seconds", seconds},
                      {"rows_per_second", rows_rate},
                      {"bytes_per_second", bytes_rate}});
  } else {
    output.Write(absl::StrFormat(
        "%s%d rows %s %s (%d replaced, %d lines skipped) in %.2f s, %.0f rows/s, %.0f "
        "MB/s of text\n",
        created ? "created; " : "", imported.rows, flags.dry_run ? "read for" : "loaded into",
        flags.object, imported.replaced, imported.skipped, seconds, rows_rate, bytes_rate / 1e6));
  }
  return output.Finish(kExitOk);
}

// Bounds batches so that their messages are no longer than the server takes: one half for values of
// fixed width, whatever text they have, and one for the text of strings.
void FitMessages(client::Client& client, const Schema& schema, TableImport& options) {
  constexpr uint64_t kUnknown = 2 << 20;  // the least that a server takes unless it is told to
  constexpr uint64_t kNames = 64 << 10;
  const absl::StatusOr<client::ServerInfo> server = client.Server();
  uint64_t most = server.ok() ? server->receive_message_bytes_max : kUnknown;
  most -= std::min(most / 2, kNames);
  uint64_t row_bytes = 0;
  for (const auto& column : schema.columns) {
    constexpr uint32_t kOffset = sizeof(uint32_t);
    row_bytes += std::max(ColumnValueBytes(column.type), kOffset) + 1;  // and a bit of validity
  }
  options.rows_max = std::clamp<uint64_t>(most / 2 / row_bytes, 1, options.rows_max);
  options.text_bytes_max = std::min(options.text_bytes_max, most / 2);
}

}  // namespace

int RunImportIntoTable(const Cli& cli, const ImportFlags& flags, const InputFile& input,
                       client::Client& client) {
  const absl::StatusOr<Target> target = FindTarget(client, flags);
  if (!target.ok()) return Report(target.status());
  const absl::StatusOr<TableFileFormat> format = FormatOf(flags);
  if (!format.ok()) return Report(format.status());
  TableFile file(input.fd(), input.name(), *format, target->schema);
  absl::Status status = file.Open();
  std::optional<ObjectId> created;
  if (status.ok() && target->missing) {
    status = CreateTarget(client, flags, input, file, target->schema, created);
  }
  if (!status.ok()) return Report(status);

  TableImport options{.table = flags.object,
                      .rows_max = std::min<uint64_t>(flags.batch, kBatchRowsMax),
                      .in_flight = flags.in_flight,
                      .skip_bad_lines = flags.on_error == "skip",
                      .progress = flags.progress,
                      .file_bytes = input.bytes()};
  FitMessages(client, target->schema, options);
  const absl::Time start = absl::Now();
  ImportedRows imported;
  status = ImportRows(client, target->schema, options, file, imported);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  if (!status.ok()) {
    return Report(EndFailedImport(
        client,
        {.object = flags.object, .created = created, .keep = flags.keep, .loaded = imported.rows},
        status));
  }
  return Show(cli, flags, imported, created.has_value(), seconds);
}

int RunDryImport(const Cli& cli, const ImportFlags& flags, const InputFile& input) {
  const absl::StatusOr<Schema> schema = ParseSchema(flags.schema, flags.key);
  if (!schema.ok()) return Report(schema.status());
  if (const auto bounds = ParseTableBounds(*schema, flags.expect, ""); !bounds.ok()) {
    return Report(bounds.status());
  }
  const absl::StatusOr<TableFileFormat> format = FormatOf(flags);
  if (!format.ok()) return Report(format.status());
  TableFile file(input.fd(), input.name(), *format, *schema);
  absl::Status status = file.Open();
  const absl::Time start = absl::Now();
  ImportedRows read;
  client::OwnedRows rows;
  const auto on_bad_line = [&](const std::string& complaint) {
    ++read.skipped;
    std::fprintf(stderr, "eris: %s\n", complaint.c_str());
    return flags.on_error != "abort";
  };
  for (bool more = true; more && status.ok();) {
    TableFile::Reset(rows);
    const auto result =
        file.Read(std::min<uint64_t>(flags.batch, kBatchRowsMax), rows, on_bad_line);
    status = result.status();
    read.rows += rows.rows;
    if (!status.ok()) continue;
    more = *result == TableFile::Result::kFull;
    if (*result == TableFile::Result::kBadLine) {
      status = absl::InvalidArgumentError("a line is bad");
    }
  }
  if (!status.ok()) return Report(status);
  read.bytes = file.bytes_read();
  return Show(cli, flags, read, false, absl::ToDoubleSeconds(absl::Now() - start));
}

}  // namespace eris::cli
