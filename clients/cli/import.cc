// eris import: loads a CSV, .tbl or NDJSON file through one stream of writes. First creates the
// object, with bounds from a sample of the file.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "clients/cli/files/key_bounds.h"
#include "clients/cli/files/row_file.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/files/tpch_tables.h"
#include "clients/cli/inference/column_names.h"
#include "clients/cli/loading/cuts_of_others.h"
#include "clients/cli/loading/failed_import.h"
#include "clients/cli/loading/file_sample.h"
#include "clients/cli/loading/foreign_file.h"
#include "clients/cli/loading/import_flags.h"
#include "clients/cli/loading/inferred_text.h"
#include "clients/cli/loading/input_file.h"
#include "clients/cli/loading/json_file.h"
#include "clients/cli/loading/key_sample.h"
#include "clients/cli/loading/row_loader.h"
#include "clients/cli/loading/widening.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/interrupt.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

// The object that the file is loaded into.
struct Target {
  CreateOptions object;                     // its kind and schema; if it is missing, its bounds too
  std::optional<InferredTable> inferred{};  // if the schema is: what the file seems to be
  std::optional<InferredFile> forms{};      // of a file for a table that exists
  bool missing = false;                     // it must be created
  std::optional<ObjectId> created{};        // by this import
};

// The object with the columns that the file seems to have.
absl::Status InferTarget(const ImportFlags& flags, const InputFile& input, Target& target) {
  absl::StatusOr<InferredTable> table = InferTable(input, flags);
  if (!table.ok()) return table.status();
  ObjectFlags described = flags.create;
  described.schema = SchemaText(table->schema);
  const std::string key = table->schema.has_key() ? KeyNamesText(table->schema) : "none";
  absl::StatusOr<CreateOptions> options = described.Options(key, "");
  if (!options.ok()) return options.status();
  target.object = *std::move(options);
  target.inferred = *std::move(table);
  return absl::OkStatus();
}

// The object described by the flags if it is missing, or if they have a schema.
absl::StatusOr<CreateOptions> DescribedObject(const ImportFlags& flags) {
  if (!flags.create.schema.empty() || !flags.create.key_type.empty() ||
      flags.KeyColumns(1).size() == 1) {
    return flags.create.Options(flags.key, "");
  }
  ObjectFlags pairs = flags.create;
  pairs.key_type = "uint64,uint64";
  return pairs.Options("", "");
}

// Errors: InvalidArgument if an existing object differs from the flags.
absl::Status CheckExisting(const ImportFlags& flags, const ObjectInfo& found) {
  const ObjectFlags& given = flags.create;
  const std::string& name = flags.object;
  const bool is_kind =
      given.kind == KindName(found.kind) || (given.kind == "table" && IsTable(found));
  if (!given.kind.empty() && !is_kind) {
    return absl::InvalidArgumentError(absl::StrCat("--kind is ", given.kind, ", but ", name,
                                                   ", which exists, is of kind ",
                                                   KindName(found.kind)));
  }
  if (IsTable(found)) {
    if (!flags.value.empty() || !flags.table.empty() || !given.key_type.empty() ||
        !given.value_type.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--value, --table, --key-type and --value-type are for indexes, ", name, " is a table"));
    }
  } else {
    const std::string keys = KeyTypesText(found.schema), values = ValuesText(found.schema);
    if (!given.key_type.empty() && *ParseKeyTypes(given.key_type) != KeyTypesOf(found.schema)) {
      return absl::InvalidArgumentError(absl::StrCat("--key-type is ", given.key_type,
                                                     ", but the keys of ", name,
                                                     ", which exists, are ", keys));
    }
    if (!given.value_type.empty() && given.value_type != values) {
      return absl::InvalidArgumentError(absl::StrCat("--value-type is ", given.value_type,
                                                     ", but the values of ", name,
                                                     ", which exists, are ", values));
    }
    if (given.schema.empty()) return absl::OkStatus();
  }
  // One of --schema and --key is enough: the object has the other.
  Schema wanted = found.schema;
  if (!given.schema.empty()) {
    absl::StatusOr<Schema> schema = ParseSchema(given.schema, flags.key);
    if (!schema.ok()) return schema.status();
    wanted = *std::move(schema);
  } else if (!flags.key.empty()) {
    if (absl::Status status = SetKey(flags.key, wanted); !status.ok()) return status;
  }
  if (wanted == found.schema) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      KindName(found.kind), " ", name, ", which exists, has columns ", SchemaText(found.schema),
      " and ", found.schema.has_key() ? absl::StrCat("key ", KeyNamesText(found.schema)) : "no key",
      given.schema.empty() ? ", not that of --key" : ", not those of --schema and --key"));
}

// If it is missing: as the flags describe it, or the file.
absl::Status DescribeTarget(const ImportFlags& flags, const InputFile& input, Target& target) {
  if (flags.Infers()) return InferTarget(flags, input, target);
  absl::StatusOr<CreateOptions> described = DescribedObject(flags);
  if (!described.ok()) return described.status();
  target.object = *std::move(described);
  return absl::OkStatus();
}

absl::StatusOr<Target> FindTarget(client::Client& client, const ImportFlags& flags,
                                  const InputFile& input) {
  const absl::StatusOr<ObjectInfo> found = client.Get(flags.object);
  Target target;
  if (absl::IsNotFound(found.status()) && flags.create_missing) {
    if (absl::Status status = DescribeTarget(flags, input, target); !status.ok()) return status;
    target.missing = true;
    return target;
  }
  if (!found.ok()) return found.status();
  if (absl::Status status = CheckExisting(flags, *found); !status.ok()) return status;
  if (!flags.types.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--types is for new tables, and ", flags.object,
                                                   " has ", SchemaText(found->schema), " already"));
  }
  target.object.kind = found->kind;
  target.object.schema = found->schema;
  if (!flags.create.expect.empty()) {
    std::fprintf(stderr, "eris: --expect %s does nothing: %s exists, and keeps its bounds\n",
                 flags.create.expect.c_str(), flags.object.c_str());
  }
  if (IsTable(*found)) {
    target.forms = InferForms(input, flags, found->schema);
    if (target.forms) TellForms(flags, *target.forms);
  }
  const std::string& beside = flags.create.beside;
  if (!beside.empty() && !std::count(found->beside.begin(), found->beside.end(), beside)) {
    return absl::InvalidArgumentError(absl::StrCat("--beside is ", beside, ", but ", flags.object,
                                                   ", which exists, does not lie beside it"));
  }
  return target;
}

// How the file is written.
void TakeForms(const InferredFile& file, RowFileFormat& format) {
  if (!file.json) format.delimited = file.delimited;
  format.nulls = file.nulls;
  format.nulls_in_strings = file.nulls_given;
  format.forms = file.forms;
}

// The names of the file as inference changes them, by which the table may have been made.
void TakeNames(const InferredFile& file, const Schema& schema, RowFileFormat& format) {
  if (file.json) format.keys = KeysOfColumns(file.keys, schema);
  if (file.json || !NamesAll(file, schema)) return;
  format.header = true;
  for (const ColumnSchema& column : file.columns) format.names.push_back(column.name);
}

// The format for reading the file into the target.
absl::StatusOr<RowFileFormat> FormatOf(const ImportFlags& flags, const Target& found) {
  const CreateOptions& target = found.object;
  const absl::StatusOr<DelimitedFormat> delimited = flags.Delimited();
  if (!delimited.ok()) return delimited.status();
  RowFileFormat format{.delimited = *delimited,
                       .header = flags.header,
                       .skip_lines = flags.skip_lines,
                       .forms = flags.forms};
  if (flags.null_text) format.nulls = {*flags.null_text};
  if (flags.IsJson()) {
    format.json = true;
    format.delimited = {.delimiter = '\n', .quotes = false};
  }
  if (found.inferred) {
    TakeForms(found.inferred->file, format);
    format.header = found.inferred->file.header;
    format.in_order = true;
    format.keys = found.inferred->file.keys;
    format.only_keys = true;
    format.guessed = found.inferred->given_types;
    format.guessed.flip();
    return format;
  }
  if (found.forms) {
    TakeForms(*found.forms, format);
    TakeNames(*found.forms, target.schema, format);
  }
  if (flags.IsTbl() && !flags.header) format.header = false;
  if (target.kind == ObjectKind::kTable || target.kind == ObjectKind::kHeapTable) return format;
  format.string_bytes_max = kValueBytesMax;
  // By the names of --schema, or by chosen columns.
  if (!flags.create.schema.empty()) return format;
  const size_t parts = target.schema.key.size();
  ColumnChoice choice{flags.KeyColumns(parts), flags.value, flags.table};
  if (choice.key.size() != parts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--key ", flags.key, " names ", choice.key.size(),
        choice.key.size() == 1 ? " column" : " columns", ", the key of ", flags.object, " has ",
        KeyForm(target.schema), parts == 2 ? ": give two columns, as in --key 1,4" : ""));
  }
  const absl::string_view table = TableOfPath(flags.path);
  if (flags.IsTbl() && flags.table.empty() && !TpchColumns(table).empty()) {
    choice.table = std::string(table);
  }
  format.choice = std::move(choice);
  return format;
}

// Creates the missing object, with one partition of equal size for each AEU.
absl::Status CreateTarget(client::Client& client, const ImportFlags& flags, const InputFile& input,
                          RowFile& file, Target& target) {
  CreateOptions& options = target.object;
  options.split_points.clear();  // of an earlier try
  if (flags.create.expect.empty() && options.beside.empty() && options.schema.has_key()) {
    if (!input.seekable()) {
      return absl::InvalidArgumentError(
          absl::StrCat(input.name(),
                       " cannot be sampled: give --expect LO:HI or --beside OBJECT, or create the "
                       "object first"));
    }
    const uint32_t first = options.schema.key[0];
    const ColumnSchema& column = options.schema.columns[first];
    const absl::StatusOr<EngineStats> stats = client.Stats();
    if (!stats.ok()) return stats.status();
    const auto split = [&](absl::string_view text, bool at_end,
                           std::vector<absl::string_view>& fields, std::string& scratch,
                           size_t& consumed, std::string& problem) {
      return file.SplitOne(text, at_end, fields, scratch, consumed, problem);
    };
    absl::StatusOr<std::vector<uint64_t>> sample =
        SampleKeys(input.fd(), input.bytes(), split, file.FieldOf(first), kSampleRecordsMax, column,
                   target.inferred ? target.inferred->file.forms : flags.forms);
    if (!sample.ok()) return sample.status();
    const size_t aeus = stats->aeus.size();
    for (const uint64_t word :
         SplitPoints(*std::move(sample), aeus, CutsOfOthers(client, column, aeus))) {
      options.split_points.push_back(CutOf(options.kind, column, word));
    }
  }
  const absl::StatusOr<ObjectInfo> info = client.Create(flags.object, options);
  if (info.ok()) target.created = info->id;
  if (!absl::IsAlreadyExists(info.status())) return info.status();
  // Another import was faster: its object must be the same as ours.
  const absl::StatusOr<ObjectInfo> other = client.Get(flags.object);
  const bool same = other.ok() && other->kind == options.kind && other->schema == options.schema;
  return same ? absl::OkStatus() : info.status();
}

LoadOptions OptionsOf(const ImportFlags& flags, const InputFile& input, const Target& target) {
  return {.rows_max = flags.batch,
          .in_flight = flags.in_flight,
          .skip_bad_lines = flags.on_error == "skip",
          .hints = target.created.has_value(),
          .progress = flags.progress,
          .file_bytes = input.bytes()};
}

// Limits batches so that their messages fit the server's limit: one half for fixed-width values,
// whatever text they have, and one for the text of strings.
void FitMessages(client::Client& client, const Schema& schema, LoadOptions& options) {
  // the minimum limit of a server, unless configured otherwise
  constexpr uint64_t kUnknown = 2 << 20;
  constexpr uint64_t kNames = 64 << 10;
  const absl::StatusOr<client::ServerInfo> server = client.Server();
  uint64_t most = server.ok() ? server->receive_message_bytes_max : kUnknown;
  most -= std::min(most / 2, kNames);
  uint64_t row_bytes = 0;
  for (const auto& column : schema.columns) {
    constexpr uint32_t kOffset = sizeof(uint32_t);
    row_bytes += std::max(ColumnValueBytes(column.type), kOffset) + 1;  // plus a validity bit
  }
  options.rows_max = std::clamp<uint64_t>(most / 2 / row_bytes, 1, options.rows_max);
  options.text_bytes_max = std::min(options.text_bytes_max, most / 2);
}

int Show(const Cli& cli, const ImportFlags& flags, const LoadedRows& loaded, bool created,
         absl::Time start) {
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const double rows_rate = seconds > 0 ? static_cast<double>(loaded.rows) / seconds : 0;
  const double bytes_rate = seconds > 0 ? static_cast<double>(loaded.bytes) / seconds : 0;
  Output output;
  if (cli.json()) {
    output.WriteJson({{"object", flags.object},
                      {"created", created},
                      {"rows", std::to_string(loaded.rows)},
                      {"replaced", std::to_string(loaded.replaced)},
                      {"skipped", std::to_string(loaded.skipped)},
                      {"bytes", std::to_string(loaded.bytes)},
                      {"seconds", seconds},
                      {"rows_per_second", rows_rate},
                      {"bytes_per_second", bytes_rate}});
  } else {
    output.Write(absl::StrFormat(
        "%s%d rows %s %s (%d replaced, %d lines skipped) in %.2f s, %.0f rows/s, %.0f "
        "MB/s of text\n",
        created ? "created; " : "", loaded.rows, flags.dry_run ? "read for" : "loaded into",
        flags.object, loaded.replaced, loaded.skipped, seconds, rows_rate, bytes_rate / 1e6));
  }
  return output.Finish(kExitOk);
}

// After an import has failed at a line: if the columns were inferred and others would do, reads on
// to find out which, and goes back to the beginning of the file. False: that is no help.
absl::StatusOr<bool> Widen(const ImportFlags& flags, const InputFile& input,
                           const absl::Status& why, RowFile& file, Target& target) {
  // Where bad lines are skipped, none of them has ended the import.
  if (!target.inferred || flags.on_error == "skip" || !absl::IsInvalidArgument(why)) return false;
  const absl::StatusOr<bool> widened = WidenColumns(file, *target.inferred);
  if (!widened.ok() || !*widened) return widened;
  target.object.schema = target.inferred->schema;
  return lseek(input.fd(), 0, SEEK_SET) == 0;
}

// NDJSON has keys that are no columns of a table that is there, or of --schema.
void TellPassedOver(const RowFile& file) {
  if (file.passed_over().empty()) return;
  std::fprintf(stderr, "eris: passed over keys that are no columns: %s\n",
               absl::StrJoin(file.passed_over(), ", ").c_str());
}

// Reads the file like an import into a missing object, but sends nothing.
int RunDryImport(const Cli& cli, const ImportFlags& flags, const InputFile& input) {
  Target target;
  if (absl::Status status = DescribeTarget(flags, input, target); !status.ok()) {
    return Report(status);
  }
  if (flags.infer) return ShowInferred(cli, flags, target.inferred->file, target.object.schema);
  if (target.inferred) TellInferred(target.inferred->file, target.object.schema);
  for (;;) {
    const absl::StatusOr<RowFileFormat> format = FormatOf(flags, target);
    if (!format.ok()) return Report(format.status());
    RowFile file(input.fd(), input.name(), *format, target.object.schema);
    LoadedRows read;
    const absl::Time start = absl::Now();
    absl::Status status = file.Open();
    if (status.ok()) status = ReadRows(OptionsOf(flags, input, target), file, read);
    if (status.ok()) {
      TellPassedOver(file);
      return Show(cli, flags, read, false, start);
    }
    const absl::StatusOr<bool> again = Widen(flags, input, status, file, target);
    if (!again.ok() || !*again) return Report(again.ok() ? status : again.status());
  }
}

// One try to load the file. `again`: a column has got another type, and the next try may succeed.
int TryImport(const Cli& cli, client::Client& client, const ImportFlags& flags,
              const InputFile& input, Target& target, bool& again) {
  again = false;
  const absl::StatusOr<RowFileFormat> format = FormatOf(flags, target);
  if (!format.ok()) return Report(format.status());
  const Schema schema = target.object.schema;
  RowFile file(input.fd(), input.name(), *format, schema);
  absl::Status status = file.Open();
  if (status.ok() && target.missing) status = CreateTarget(client, flags, input, file, target);
  if (!status.ok()) return Report(status);

  LoadOptions options = OptionsOf(flags, input, target);
  FitMessages(client, schema, options);
  const absl::Time start = absl::Now();
  LoadedRows loaded;
  ObjectInfo object;
  object.name = flags.object;
  object.kind = target.object.kind;
  object.schema = schema;
  status = LoadRows(client, object, options, file, loaded);
  if (status.ok()) {
    TellPassedOver(file);
    return Show(cli, flags, loaded, target.created.has_value(), start);
  }
  if (target.created) {
    const absl::StatusOr<bool> widened = Widen(flags, input, status, file, target);
    if (!widened.ok()) status = widened.status();
    again = widened.ok() && *widened;
  }
  const absl::Status end = EndFailedImport(client,
                                           {.object = flags.object,
                                            .created = target.created,
                                            .keep = flags.keep && !again,
                                            .loaded = loaded.rows},
                                           status);
  if (!again) return Report(end);
  // Others may have written to it, and it stayed.
  again = absl::IsNotFound(client.Get(flags.object).status());
  target.created.reset();
  return again ? kExitOk : Report(end);
}

absl::Status CheckImportFlags(const ImportFlags& flags) {
  if (flags.create.kind == "table" && flags.AreForIndex()) {
    return absl::InvalidArgumentError(
        "--value, --table, --key-type and --value-type are for indexes, and --kind is table");
  }
  if (!flags.types.empty() && !flags.Infers()) {
    return absl::InvalidArgumentError(
        "--types is for columns that are inferred, of a table without --schema");
  }
  return absl::OkStatus();
}

int RunImport(const Cli& cli, ImportFlags flags) {
  if (absl::Status status = CheckImportFlags(flags); !status.ok()) return Report(status);
  InputFile input;
  if (absl::Status status = input.Open(flags.path); !status.ok()) return Report(status);
  if (absl::Status status = CheckIsText(input); !status.ok()) return Report(status);
  if (absl::Status status = SetJsonFormat(input, flags); !status.ok()) return Report(status);
  if (flags.dry_run || flags.infer) return RunDryImport(cli, flags, input);
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  CatchInterrupts();
  absl::StatusOr<Target> target = FindTarget(**client, flags, input);
  if (!target.ok()) return Report(target.status());
  if (target->inferred) TellInferred(target->inferred->file, target->object.schema);
  int code = kExitOk;
  for (bool again = true; again;) code = TryImport(cli, **client, flags, input, *target, again);
  return code;
}

}  // namespace

void AddImport(Flags& program, Cli& cli) {
  auto flags = std::make_shared<ImportFlags>();
  Flags& verb = program.AddVerb("import", "Load a CSV, NDJSON or TPC-H .tbl file into an object");
  flags->AddTo(verb);
  verb.SetFooter(
      R"(A new object is a table of all columns of the file, with the names of its header and the types
that a part of the file shows; each may be null, but those of --key. If a later value does not fit,
the rest of the file is looked at, and the file is read again with wider types. --schema says names
and types instead. An index, which keeps one column of the file as its value, and as its key one, or
of --key two, is asked for by --kind index, --value, --key-type, --value-type (uint64 each unless
they say otherwise) or --table. A new object gets partition bounds from a sample of the file, one
equal share for each AEU.

Into a table every column is read; a field that is empty is null where the column may be, one of ""
an empty string. A header names all columns of the table, in any order, and maybe others, which are
passed over, as are other keys of NDJSON. Rows whose key is there are replaced; without a key they
are appended. Fields are read by the types of the object's columns. A bad line is named with its
number and the reason; with --on-error abort (exit code 2) all rows before it have been loaded. An
object that the import has created is dropped again when it fails, unless --keep is given or others
may have written to it. Ctrl-C lets an import fail in the same way; once more ends it at once.

Examples:
  eris import trades trades.csv
  eris import trades trades.csv --infer
  eris import trades trades.csv --key id --types 'price=decimal(4)' --null NA
  eris import events events.ndjson.gz
  eris import lineitem lineitem.tbl --schema tpch:lineitem
  eris import trades trades.csv --schema 'id:int64,price:decimal(4),note:string?' --key id
  eris import orders orders.tbl --key o_orderkey --value o_custkey
  eris import lineitem lineitem.tbl --key l_orderkey,l_linenumber --value l_partkey
  eris import visits visits.csv --key user,day --value count --key-type uint64,date
  eris import users users.csv --key id --value group --on-error skip
  eris import rainfall days.csv --key-type date
  eris import copy exported.csv --key key,second_key --value value
  xzcat big.csv.xz | eris import big - --kind index --no-header --expect 0:1000000
)");
  verb.SetRun([flags, &cli] { return RunImport(cli, *flags); });
}

}  // namespace eris::cli
