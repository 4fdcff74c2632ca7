#include "clients/cli/loading/file_sample.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/files/tpch_tables.h"

namespace eris::cli {
namespace {

constexpr size_t kBeginningBytes = 1 << 20;
constexpr size_t kPlaces = 64;
constexpr size_t kPlaceBytes = 16 << 10;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

absl::StatusOr<std::string> ReadAt(int fd, uint64_t offset, size_t bytes) {
  std::string text(bytes, '\0');
  size_t read = 0;
  while (read < bytes) {
    const ssize_t got =
        pread(fd, text.data() + read, bytes - read, static_cast<off_t>(offset + read));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(absl::StrCat("cannot read: ", std::strerror(errno)));
    if (got == 0) break;
    read += static_cast<size_t>(got);
  }
  text.resize(read);
  return text;
}

// "a=int64,b=decimal(2)": other types of columns that are there.
absl::Status SetTypes(absl::string_view types, Schema& schema, std::vector<bool>& given) {
  for (const absl::string_view part : absl::StrSplit(types, ',', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> sides = absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (sides.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("--types: '", part, "' has no '=': give COLUMN=TYPE,..."));
    }
    const std::string name(absl::StripAsciiWhitespace(sides[0]));
    const auto found = std::find_if(schema.columns.begin(), schema.columns.end(),
                                    [&](const ColumnSchema& one) { return one.name == name; });
    if (found == schema.columns.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--types: there is no column '", name, "'; --infer shows the columns"));
    }
    absl::StatusOr<Schema> one = ParseSchema(absl::StrCat(name, ":", sides[1]), "");
    if (!one.ok()) return one.status();
    *found = std::move(one->columns[0]);
    given[static_cast<size_t>(found - schema.columns.begin())] = true;
  }
  return absl::OkStatus();
}

// TPC-H's .tbl files have no header, but are called as their tables.
void NameTpchColumns(const ImportFlags& flags, InferredFile& file) {
  const absl::string_view table = TableOfPath(flags.path);
  const std::vector<std::string> names = TpchColumns(table);
  if (!flags.IsTbl() || file.header || names.size() != file.columns.size()) return;
  for (size_t i = 0; i < names.size(); ++i) file.columns[i].name = names[i];
  file.notes.push_back(absl::StrCat("--schema tpch:", table, " has TPC-H's types and key"));
}

absl::StatusOr<InferredFile> InferInput(const InputFile& input, const ImportFlags& flags,
                                        KnownOfFile known) {
  absl::StatusOr<std::string> beginning = ReadAt(input.fd(), 0, kBeginningBytes);
  if (!beginning.ok()) return beginning.status();
  FileSample sample{.beginning = *beginning, .is_whole = beginning->size() == input.bytes()};
  if (absl::StartsWith(sample.beginning, kByteOrderMark)) {
    sample.beginning.remove_prefix(kByteOrderMark.size());
  }
  for (uint64_t line = 0; line < flags.skip_lines; ++line) {
    sample.beginning.remove_prefix(
        std::min(sample.beginning.find('\n'), sample.beginning.size() - 1) + 1);
    if (sample.beginning.empty()) break;
  }
  sample.lines_before = flags.skip_lines;
  std::vector<std::string> places;
  for (size_t i = 1; i < kPlaces && !sample.is_whole; ++i) {
    const uint64_t behind = input.bytes() - beginning->size();
    absl::StatusOr<std::string> place =
        ReadAt(input.fd(), beginning->size() + behind / kPlaces * i, kPlaceBytes);
    if (!place.ok()) return place.status();
    places.push_back(*std::move(place));
  }
  sample.others.assign(places.begin(), places.end());

  known.json = flags.IsJson();
  known.header = flags.header;
  known.forms = flags.forms;
  const absl::StatusOr<DelimitedFormat> delimited = flags.Delimited();
  if (!delimited.ok()) return delimited.status();
  known.escape = delimited->escape;
  if (flags.IsTbl() || !flags.delimiter.empty()) known.delimited = *delimited;
  if (flags.null_text) known.nulls = {*flags.null_text};
  return InferFile(input.name(), sample, known);
}

}  // namespace

absl::StatusOr<InferredTable> InferTable(const InputFile& input, const ImportFlags& flags) {
  if (!input.seekable()) {
    return absl::InvalidArgumentError(absl::StrCat(
        input.name(),
        " cannot be read twice, so its columns cannot be inferred: give --schema for a "
        "table, or --kind index for two columns, or write it to a file"));
  }
  absl::StatusOr<InferredFile> file = InferInput(input, flags, {});
  if (!file.ok()) return file.status();
  NameTpchColumns(flags, *file);
  InferredTable table{.file = *std::move(file)};
  table.schema.columns = table.file.columns;
  table.given_types.resize(table.schema.columns.size());
  if (absl::Status status = SetTypes(flags.types, table.schema, table.given_types); !status.ok()) {
    return status;
  }
  if (!flags.key.empty()) {
    if (absl::Status status = SetKey(flags.key, table.schema); !status.ok()) {
      const bool by_number = absl::ascii_isdigit(static_cast<unsigned char>(flags.key[0]));
      return absl::InvalidArgumentError(absl::StrCat(
          status.message(), by_number ? "; --kind index takes numbers, for an index" : ""));
    }
    for (const uint32_t column : table.schema.key) table.schema.columns[column].nullable = false;
  }
  return table;
}

bool NamesAll(const InferredFile& file, const Schema& schema) {
  return file.header &&
         std::all_of(schema.columns.begin(), schema.columns.end(), [&](const ColumnSchema& column) {
           return PlaceOf(file, column.name) < file.columns.size();
         });
}

std::optional<InferredFile> InferForms(const InputFile& input, const ImportFlags& flags,
                                       const Schema& schema) {
  if (!input.seekable()) return std::nullopt;
  const absl::StatusOr<DelimitedFormat> delimited = flags.Delimited();
  absl::StatusOr<InferredFile> file = InferInput(input, flags, {.table = &schema});
  if (file.ok() && !file->json && file->columns.size() != schema.columns.size() &&
      !NamesAll(*file, schema)) {
    file = InferInput(input, flags, {.delimited = *delimited, .table = &schema});
  }
  if (!file.ok()) return std::nullopt;
  return *std::move(file);
}

}  // namespace eris::cli
