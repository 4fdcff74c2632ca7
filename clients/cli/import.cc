// eris import: loads a CSV or .tbl file through one stream of upserts, and creates the object first
// with bounds from a sample of the file.

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "clients/batch_stream.h"
#include "clients/cli/files/cuts_of_others.h"
#include "clients/cli/files/failed_import.h"
#include "clients/cli/files/import_file.h"
#include "clients/cli/files/import_flags.h"
#include "clients/cli/files/key_sample.h"
#include "clients/cli/files/progress_bar.h"
#include "clients/cli/files/tpch_tables.h"
#include "clients/cli/table_verbs.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/interrupt.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

absl::string_view KeyColumns(const ImportFlags& flags) {
  return flags.key.empty() ? absl::string_view("1") : flags.key;
}

absl::StatusOr<ImportFormat> FormatOf(const ImportFlags& flags) {
  ImportFormat format;
  const bool tbl = flags.IsTbl();
  const absl::StatusOr<DelimitedFormat> delimited = flags.Delimited();
  if (!delimited.ok()) return delimited.status();
  format.delimited = *delimited;
  format.header = tbl && !flags.header ? false : flags.header;
  format.table = flags.table;
  const absl::string_view table = TableOfPath(flags.path);
  if (tbl && flags.table.empty() && !TpchColumns(table).empty()) format.table = std::string(table);
  const absl::string_view key = KeyColumns(flags);
  const size_t comma = key.find(',');
  format.key = std::string(absl::StripAsciiWhitespace(key.substr(0, comma)));
  if (comma != key.npos) {
    format.second_key = std::string(absl::StripAsciiWhitespace(key.substr(comma + 1)));
  }
  format.value = flags.value;
  return format;
}

// The types of the keys, and whether the object is still to be created.
struct Target {
  KeyTypes key_type{};
  bool missing = false;
};

// Errors: InvalidArgument unless --key names a column for each part.
absl::Status CheckKeyColumns(const ImportFlags& flags, const KeyTypes& types) {
  const bool two_columns = flags.key.find(',') != std::string::npos;
  if (two_columns == types.two_parts()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--key ", KeyColumns(flags), two_columns ? " names 2 columns" : " names 1 column",
      ", the keys of ", flags.object, types.two_parts() ? " have 2 parts (" : " have 1 part (",
      KeyTypesName(types), ")", types.two_parts() ? ": give two columns, as in --key 1,4" : ""));
}

// Errors: InvalidArgument unless an object that exists is as the flags say.
absl::Status CheckExisting(const ImportFlags& flags, const ObjectInfo& found) {
  if (!flags.kind.empty() && flags.kind != KindName(found.kind)) {
    return absl::InvalidArgumentError(absl::StrCat("--kind is ", flags.kind, ", but ", flags.object,
                                                   ", which exists, is of kind ",
                                                   KindName(found.kind)));
  }
  if (!flags.key_type.empty() && *ParseKeyTypes(flags.key_type) != found.key_type) {
    return absl::InvalidArgumentError(
        absl::StrCat("--key-type is ", flags.key_type, ", but the keys of ", flags.object,
                     ", which exists, are ", KeyTypesName(found.key_type)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Target> FindTarget(client::Client& client, const ImportFlags& flags) {
  const absl::StatusOr<ObjectInfo> found = client.Get(flags.object);
  Target target;
  if (absl::IsNotFound(found.status()) && flags.create) {
    target.missing = true;
    if (!flags.key_type.empty()) {
      target.key_type = *ParseKeyTypes(flags.key_type);
    } else if (flags.key.find(',') != std::string::npos) {
      target.key_type.second = ColumnType::kUint64;
    }
  } else {
    if (!found.ok()) return found.status();
    if (absl::Status status = CheckExisting(flags, *found); !status.ok()) return status;
    SayExpectIsIdle(flags);
    target.key_type = found->key_type;
  }
  if (absl::Status status = CheckKeyColumns(flags, target.key_type); !status.ok()) return status;
  return target;
}

// Creates the missing object, with one partition of equal size for each AEU.
absl::Status CreateTarget(client::Client& client, const ImportFlags& flags, const InputFile& input,
                          const ImportFile& file, const ImportFormat& format,
                          std::optional<ObjectId>& created) {
  CreateOptions options;
  options.key_type = format.key_type;
  if (!flags.kind.empty()) {
    const absl::StatusOr<ObjectKind> kind = ParseKind(flags.kind);
    if (!kind.ok()) return kind.status();
    options.kind = *kind;
  }
  if (!flags.expect.empty()) {
    const absl::StatusOr<KeyRange> range = ParseRange(flags.expect, format.key_type.first);
    if (!range.ok()) return range.status();
    options.expected = *range;
  } else if (!input.seekable()) {
    return absl::InvalidArgumentError(absl::StrCat(
        input.name(), " cannot be sampled: give --expect LO:HI, or create the object first"));
  } else {
    const absl::StatusOr<EngineStats> stats = client.Stats();
    if (!stats.ok()) return stats.status();
    absl::StatusOr<std::vector<uint64_t>> sample =
        SampleKeys(input.fd(), input.bytes(), format.delimited, file.key_column(),
                   kSampleRecordsMax, format.key_type.first);
    if (!sample.ok()) return sample.status();
    options.split_points =
        SplitPoints(*std::move(sample), stats->aeus.size(),
                    CutsOfIndexes(client, format.key_type.first, stats->aeus.size()));
  }
  const absl::StatusOr<ObjectInfo> info = client.Create(flags.object, options);
  if (info.ok()) created = info->id;
  if (!absl::IsAlreadyExists(info.status())) return info.status();
  // Another import has been faster: its object must be as ours would be.
  const absl::StatusOr<ObjectInfo> other = client.Get(flags.object);
  const bool same = other.ok() && other->key_type == format.key_type && other->kind == options.kind;
  return same ? absl::OkStatus() : info.status();
}

// Sends rows in batches and counts what has been acknowledged.
class Loader {
 public:
  Loader(client::Client& client, const ImportFlags& flags, const KeyTypes& key_type)
      : flags_(flags),
        key_type_(key_type),
        keys_(key_type),
        stream_(client,
                {.in_flight_max = flags.in_flight, .stall_timeout = client.options().timeout},
                [this](uint64_t, absl::Status status, client::RowBits existed) {
                  absl::MutexLock lock(&mu_);
                  if (status.ok()) {
                    loaded_ += existed.size();
                    replaced_ += existed.Count();
                  } else if (error_.ok()) {
                    error_ = status;
                  }
                }) {}

  absl::Status Add(const ObjectKey& key, uint64_t value) {
    keys_.Add(key);
    values_.push_back(value);
    return keys_.size() < flags_.batch ? absl::OkStatus() : Send();
  }
  // Waits for every acknowledgement.
  absl::Status Finish() {
    absl::Status status = Send();
    const absl::Status end = stream_.Finish();
    absl::MutexLock lock(&mu_);
    return !error_.ok() ? error_ : !status.ok() ? status : end;
  }
  uint64_t loaded() {
    absl::MutexLock lock(&mu_);
    return loaded_;
  }
  uint64_t replaced() {
    absl::MutexLock lock(&mu_);
    return replaced_;
  }

 private:
  absl::Status Send() {
    if (keys_.empty()) return absl::OkStatus();
    {
      absl::MutexLock lock(&mu_);
      if (!error_.ok()) return error_;
    }
    const absl::Status status = stream_.Send(flags_.object, keys_.columns(), values_, key_type_);
    keys_.clear();
    values_.clear();
    return status;
  }

  const ImportFlags& flags_;
  const KeyTypes key_type_;
  KeyBatch keys_;
  std::vector<uint64_t> values_;

  // Guarded by mu_.
  absl::Mutex mu_;
  uint64_t loaded_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t replaced_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mu_);

  client::UpsertStream stream_;  // last: its reader thread uses what stands above
};

struct Loaded {
  uint64_t rows = 0;
  uint64_t replaced = 0;
  uint64_t skipped = 0;
};

absl::Status Load(client::Client& client, const ImportFlags& flags, const InputFile& input,
                  const KeyTypes& key_type, bool created, ImportFile& file, Loaded& loaded) {
  Loader loader(client, flags, key_type);
  ProgressBar bar(input.bytes(), flags.progress);
  absl::Status status;
  ObjectKey key;
  uint64_t value = 0, sent = 0;
  std::string complaint;
  while (status.ok()) {
    status = CheckInterrupted();
    if (!status.ok()) break;
    const absl::StatusOr<ImportFile::Result> result = file.Next(key, value, complaint);
    if (!result.ok()) {
      status = result.status();
    } else if (*result == ImportFile::Result::kEnd) {
      break;
    } else if (*result == ImportFile::Result::kRow) {
      status = loader.Add(key, value);
      if ((++sent & 4095) == 0) bar.Show(file.bytes_read(), sent);
    } else if (flags.on_error == "abort") {
      status = absl::InvalidArgumentError(absl::StrCat(complaint, created ? file.hint() : ""));
    } else {
      ++loaded.skipped;
      std::fprintf(stderr, "eris: skipped: %s\n", complaint.c_str());
    }
  }
  // Rows before a bad line are loaded to the last one, so that the count says where to go on.
  const absl::Status end = loader.Finish();
  loaded.rows = loader.loaded();
  loaded.replaced = loader.replaced();
  return end.ok() ? status : end;
}

int RunImport(const Cli& cli, const ImportFlags& flags) {
  absl::StatusOr<ImportFormat> format = FormatOf(flags);
  if (!format.ok()) return Report(format.status());
  InputFile input;
  absl::Status status = input.Open(flags.path);
  if (!status.ok()) return Report(status);
  if (flags.dry_run) return RunDryImport(cli, flags, input);
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  CatchInterrupts();
  if (!flags.schema.empty()) return RunImportIntoTable(cli, flags, input, **client);
  if (const auto found = (*client)->Get(flags.object); found.ok() && IsTable(*found)) {
    return RunImportIntoTable(cli, flags, input, **client);
  }
  const absl::StatusOr<Target> target = FindTarget(**client, flags);
  if (!target.ok()) return Report(target.status());
  format->key_type = target->key_type;
  ImportFile file(input.fd(), input.name(), *format);
  status = file.Open();
  if (!status.ok()) return Report(status);
  std::optional<ObjectId> created;
  if (target->missing) status = CreateTarget(**client, flags, input, file, *format, created);
  if (!status.ok()) return Report(status);

  const absl::Time start = absl::Now();
  Loaded loaded;
  status = Load(**client, flags, input, target->key_type, created.has_value(), file, loaded);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  if (!status.ok()) {
    return Report(EndFailedImport(
        **client,
        {.object = flags.object, .created = created, .keep = flags.keep, .loaded = loaded.rows},
        status));
  }
  const double rate = seconds > 0 ? static_cast<double>(loaded.rows) / seconds : 0;
  Output output;
  if (cli.json()) {
    output.WriteJson({{"object", flags.object},
                      {"created", created.has_value()},
                      {"rows", std::to_string(loaded.rows)},
                      {"replaced", std::to_string(loaded.replaced)},
                      {"skipped", std::to_string(loaded.skipped)},
                      {"seconds", seconds},
                      {"rows_per_second", rate}});
  } else {
    output.Write(
        absl::StrFormat("%s%d rows loaded into %s (%d replaced, %d lines skipped) in "
                        "%.2f s, %.0f rows/s\n",
                        created ? "created; " : "", loaded.rows, flags.object, loaded.replaced,
                        loaded.skipped, seconds, rate));
  }
  return output.Finish(kExitOk);
}

}  // namespace

void AddImport(Flags& program, Cli& cli) {
  auto flags = std::make_shared<ImportFlags>();
  Flags& verb = program.AddVerb("import", "Load a CSV or TPC-H .tbl file into an object");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  verb.Add("file", flags->path, "File, or - for standard input").Required();
  verb.Add("--format", flags->format, "csv or tbl; default: tbl for *.tbl, else csv")
      .Check(OneOf({"csv", "tbl"}));
  verb.Add("--delimiter", flags->delimiter, "One character, or tab; default , (tbl: |)");
  verb.AddSwitch(
      "--header,!--no-header", flags->header,
      "The first line is (not) a header; default: it is one if none of its key fields is a key; "
      "of a table, if it names its columns");
  const Flag schema =
      verb.Add("--schema", flags->schema,
               "Load into a table of these columns (a:int64,b:decimal(2),c:string?, or "
               "tpch:lineitem), which "
               "is created if it is missing; of a table that exists not needed")
          .Check(CheckNotEmpty);
  verb.Add("--dry-run", flags->dry_run,
           "Read and check the file by --schema, and send nothing: needs no server")
      .Needs(schema);
  verb.Add("--table", flags->table,
           "TPC-H table that names the columns; default: from the name of a .tbl file");
  verb.Add("--key", flags->key,
           "Key column, by name or by number from 1 (default: the first); of two-part keys "
           "two: 1,4. Of a new table: up to four key columns by name, or none (default, "
           "but for tpch:)")
      .Check(CheckNotEmpty);
  verb.Add("--value", flags->value,
           "Value column, by name or by number from 1; default: the first that is no key")
      .Excludes(schema);
  verb.Add("--create,!--no-create", flags->create,
           "Create the object if it is missing (default), or refuse");
  verb.Add("--keep", flags->keep,
           "Keep an object that this import has created when it fails; default: drop it again");
  verb.Add("--kind", flags->kind, "Of a new object: index (default) or hash")
      .Check(OneOf({"index", "hash"}))
      .Excludes(schema);
  verb.Add("--expect", flags->expect,
           "LO:HI for a new object (of two-part keys: first parts), instead of bounds from "
           "a sample of the file")
      .Check(CheckNotEmpty);
  verb.Add("--key-type", flags->key_type,
           "u64 (default), i64, f64 or date, or two of them as u64,date: what the keys of "
           "a new object are")
      .Check(CheckKeyTypes)
      .Excludes(schema);
  verb.Add("--on-error", flags->on_error, "What a bad line does: abort or skip")
      .Check(OneOf({"abort", "skip"}))
      .ShowDefault();
  verb.Add("--batch", flags->batch, "Rows in one request; of a table at most 65536")
      .Check(Within(1u, kBatchKeysMax))
      .ShowDefault();
  verb.Add("--in-flight", flags->in_flight, "Requests under way at once")
      .Check(Within(1u, 64u))
      .ShowDefault();
  verb.Add("--progress,!--no-progress", flags->progress,
           "Progress bar, on a terminal only (default)");
  verb.SetFooter(
      "Values are numbers from 0 to 2^64-1, keys what the object's type says. A bad line is named "
      "with its number and the\n"
      "reason; with --on-error abort (exit code 2) all rows before it have been loaded. An object "
      "that\n"
      "the import has created is dropped again when it fails, unless --keep is given or others may "
      "have\n"
      "written to it. Ctrl-C lets an import fail in the same way; once more ends it at once. A new "
      "object\n"
      "gets partition bounds from a sample of the file, one equal share for each AEU. Two key "
      "columns make keys of two\n"
      "parts (u64,u64 unless --key-type says otherwise).\n"
      "\n"
      "Into a table every column is read by its type; a field that is empty is null where the "
      "column\n"
      "may be, one of \"\" an empty string. A header names all columns of the table, in any order, "
      "and\n"
      "maybe others, which are passed over. Rows whose key is there are replaced; without a key "
      "they\n"
      "are appended.\n"
      "\n"
      "Examples:\n"
      "  eris import orders orders.tbl --key o_orderkey --value o_custkey\n"
      "  eris import lineitem lineitem.tbl --key l_orderkey,l_linenumber --value l_partkey\n"
      "  eris import visits visits.csv --key user,day --value count --key-type u64,date\n"
      "  eris import users users.csv --key id --value group --on-error skip\n"
      "  eris import rainfall days.csv --key-type date\n"
      "  eris import lineitem lineitem.tbl --schema tpch:lineitem\n"
      "  eris import trades trades.csv --schema 'id:int64,price:decimal(4),note:string?' --key id\n"
      "  eris import copy exported.csv --key key,second_key\n"
      "  zcat big.csv.gz | eris import big - --no-header --expect 0:1000000\n");
  verb.SetRun([flags, &cli] { return RunImport(cli, *flags); });
}

}  // namespace eris::cli
