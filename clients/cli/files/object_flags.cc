#include "clients/cli/files/object_flags.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/files/key_bounds.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {

ObjectFlags::Added ObjectFlags::AddTo(Flags& verb) {
  const Flag columns =
      verb.Add("--schema", schema,
               "The columns, NAME:TYPE: id:uint64,price:decimal(2),note:string?, or tpch:lineitem")
          .Check(CheckNotEmpty);
  verb.Add("--kind", kind,
           "index (ordered), hash (faster lookups, no scans) or table; default: table with "
           "--schema, and of an import without flags for an index; else index")
      .Check(OneOf({"index", "hash", "table"}));
  verb.Add("--key-type", key_type,
           "Without --schema: what keys are, uint64 (default), int64, float64, date or timestamp, "
           "or of an index two of them: uint64,date")
      .Check(CheckKeyTypes)
      .Excludes(columns);
  verb.Add("--value-type", value_type,
           "Without --schema: what values are: uint64 (default), or of an index string, text "
           "in UTF-8, or bytes, any, of up to 1 MiB")
      .Check(OneOf({"uint64", "string", "bytes"}))
      .Excludes(columns);
  const Flag range =
      verb.Add("--expect", expect,
               "LO:HI, where keys (their first columns) are expected: partitions are even pieces "
               "of it")
          .Check(CheckNotEmpty);
  const Flag other =
      verb.Add("--beside", beside,
               "An object whose ranges the new one has, too; they are balanced and moved together")
          .Check(CheckName)
          .Check(CheckNotEmpty)
          .Excludes(range);
  return {columns, range, other};
}

absl::StatusOr<CreateOptions> ObjectFlags::Options(const std::string& key,
                                                   const std::string& split) const {
  CreateOptions options;
  if (!schema.empty()) {
    absl::StatusOr<Schema> columns = ParseSchema(schema, key);
    if (!columns.ok()) return columns.status();
    options.schema = *std::move(columns);
    options.kind = options.schema.has_key() ? ObjectKind::kTable : ObjectKind::kHeapTable;
  } else if (kind == "table") {
    return absl::InvalidArgumentError("--kind table is given without --schema, its columns");
  } else {
    const absl::StatusOr<KeyTypes> types = ParseKeyTypes(key_type.empty() ? "uint64" : key_type);
    if (!types.ok()) return types.status();
    options.schema = KeyValueSchema(*types, value_type == "string"  ? ColumnType::kString
                                            : value_type == "bytes" ? ColumnType::kBytes
                                                                    : ColumnType::kUint64);
  }
  if (kind == "index" || kind == "hash") {
    options.kind = kind == "index" ? ObjectKind::kIndex : ObjectKind::kHash;
    if (!options.schema.has_key()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--kind ", kind, " needs a key: give --key, the first columns of --schema"));
    }
  }
  options.beside = beside;
  if (absl::Status status = SetBounds(expect, split, options); !status.ok()) return status;
  return options;
}

}  // namespace eris::cli
