#include "clients/cli/files/import_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/files/import_hint.h"
#include "clients/cli/files/tpch_tables.h"
#include "clients/cli/text/parse.h"
#include "clients/cut_text.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

// What a message shows of a field.
constexpr size_t kShownBytesMax = 40;

}  // namespace

ImportFile::ImportFile(int fd, std::string name, const ImportFormat& format)
    : name_(std::move(name)), format_(format), reader_(fd, format.delimited) {}

absl::StatusOr<ImportFile::Column> ImportFile::Find(const std::string& text) const {
  uint64_t number = 0;
  if (ParseU64(text, number)) {
    if (number < 1 || (fields_expected_ > 0 && number > fields_expected_)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, " has columns 1 to ", fields_expected_, ", no column ", number,
                       DelimiterHint(fields_, format_.delimited.delimiter)));
    }
    Column column{number - 1, absl::StrCat("column ", number)};
    if (number <= names_.size()) absl::StrAppend(&column.name, " (", names_[number - 1], ")");
    return column;
  }
  const auto found = std::find(names_.begin(), names_.end(), text);
  if (found == names_.end()) {
    return absl::InvalidArgumentError(
        names_.empty() ? absl::StrCat("no column names are known of ", name_, ", so '", text,
                                      "' cannot be found: give the column's number, --header, or "
                                      "--table for a TPC-H table")
                       : absl::StrCat(name_, " has no column '", text, "'; it has ",
                                      absl::StrJoin(names_, ", "),
                                      DelimiterHint(fields_, format_.delimited.delimiter)));
  }
  const size_t index = found - names_.begin();
  return Column{index, absl::StrCat("column ", index + 1, " (", text, ")")};
}

// Whether the field of the first record in that column, by number, is a key.
bool ImportFile::IsKeyField(const std::string& column, ColumnType type) const {
  uint64_t number = 0, key = 0;
  return ParseU64(column, number) && number >= 1 && number <= fields_.size() &&
         ParseKeyText(type, fields_[number - 1], key);
}

absl::Status ImportFile::Open() {
  const bool two_parts = format_.key_type.two_parts();
  if (!format_.table.empty()) {
    names_ = TpchColumns(format_.table);
    if (names_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", format_.table, "' is no table of TPC-H whose columns are known"));
    }
  }
  const auto first = reader_.Next(fields_, reason_);
  if (!first.ok()) return first.status();
  pending_ = *first;
  if (pending_ == DelimitedReader::Result::kRecord) {
    uint64_t number = 0;
    const bool by_name = !ParseU64(format_.key, number) ||
                         (!format_.value.empty() && !ParseU64(format_.value, number)) ||
                         (two_parts && !ParseU64(format_.second_key, number));
    bool header = false;
    if (format_.header.has_value()) {
      header = *format_.header;
    } else if (names_.empty()) {
      // Names can only come from a header; and keys are no header. One of two is a bad line.
      const bool any_key = IsKeyField(format_.key, format_.key_type.first) ||
                           (two_parts && IsKeyField(format_.second_key, *format_.key_type.second));
      header = by_name || !any_key;
    }
    fields_expected_ = fields_.size();
    if (header) {
      for (const absl::string_view field : fields_) names_.emplace_back(field);
      pending_.reset();
    } else if (!names_.empty()) {
      fields_expected_ = names_.size();
    }
  }
  return SettleColumns();
}

// An index would keep two or three of them, and lose the others without a word.
absl::Status ImportFile::CheckColumns(size_t columns) const {
  const size_t kept = format_.key_type.two_parts() ? 3 : 2;
  if (!format_.value.empty() || columns <= kept) return absl::OkStatus();
  constexpr size_t kShownMax = 8;
  std::vector<std::string> names, schema;
  for (size_t i = 0; i < std::min(columns, kShownMax); ++i) {
    names.push_back(i < names_.size() ? names_[i] : absl::StrCat("c", i + 1));
    schema.push_back(absl::StrCat(names[i], ":TYPE"));
  }
  if (columns > kShownMax) {
    names.emplace_back("...");
    schema.emplace_back("...");
  }
  const std::string all = format_.table.empty() ? absl::StrCat("'", absl::StrJoin(schema, ","), "'")
                                                : absl::StrCat("tpch:", format_.table);
  return absl::InvalidArgumentError(absl::StrCat(
      name_, " has ", columns, " columns",
      names_.empty() ? "" : absl::StrCat(" (", absl::StrJoin(names, ", "), ")"),
      ", and an index keeps a key and one value: give --schema ", all,
      " for a table of all columns",
      format_.table.empty() ? " (TYPE: int64, double, date, "
                              "decimal(2), string, ...; with ? behind it null is a value)"
                            : "",
      ", or choose the columns of the index with --key and --value"));
}

absl::Status ImportFile::SettleColumns() {
  const bool two_parts = format_.key_type.two_parts();
  if (!two_parts && names_.size() > 1 && names_[0] == "key" && names_[1] == "second_key") {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, " holds keys of two parts: import it with --key key,second_key"));
  }
  absl::StatusOr<Column> key = Find(format_.key);
  if (!key.ok()) return key.status();
  absl::StatusOr<Column> second_key = two_parts ? Find(format_.second_key) : *key;
  if (!second_key.ok()) return second_key.status();
  if (two_parts && key->index == second_key->index) {
    return absl::InvalidArgumentError(
        absl::StrCat("both parts of the key are ", key->name, ": they must be two columns"));
  }
  size_t free = 0;
  while (free == key->index || free == second_key->index) ++free;
  absl::StatusOr<Column> value =
      Find(format_.value.empty() ? absl::StrCat(free + 1) : format_.value);
  if (!value.ok()) return value.status();
  const size_t columns = std::max(names_.size(), fields_expected_);
  if (absl::Status status = CheckColumns(columns); !status.ok()) return status;
  key_ = *std::move(key);
  second_key_ = *std::move(second_key);
  value_ = *std::move(value);
  return absl::OkStatus();
}

bool ImportFile::Parse(const Column& column, ColumnType type, uint64_t& number,
                       std::string& complaint) const {
  const absl::string_view field = fields_[column.index];
  if (ParseKeyText(type, field, number)) return true;
  complaint =
      absl::StrCat(column.name, " is '", client::CutText(field, kShownBytesMax),
                   field.size() > kShownBytesMax ? "..." : "", "', no ", KeyTypeRange(type));
  return false;
}

absl::StatusOr<ImportFile::Result> ImportFile::Next(ObjectKey& key, uint64_t& value,
                                                    std::string& complaint) {
  DelimitedReader::Result result;
  if (pending_) {
    result = *pending_;
    pending_.reset();
  } else {
    const auto next = reader_.Next(fields_, reason_);
    if (!next.ok()) return next.status();
    result = *next;
  }
  if (result == DelimitedReader::Result::kEnd) return Result::kEnd;
  std::string problem;
  hint_.clear();
  if (result == DelimitedReader::Result::kBad) {
    problem = reason_;
  } else if (fields_expected_ == 0) {
    fields_expected_ = fields_.size();  // the first line was bad
    if (absl::Status status = CheckColumns(fields_expected_); !status.ok()) return status;
  }
  if (problem.empty() && fields_.size() != fields_expected_) {
    problem = absl::StrCat(fields_.size(), " fields, expected ", fields_expected_);
  }
  if (problem.empty() &&
      std::max({key_.index, second_key_.index, value_.index}) >= fields_.size()) {
    problem = absl::StrCat(fields_.size(), " fields, too few for key and value");
  }
  const KeyTypes& types = format_.key_type;
  if (problem.empty()) {
    const bool two_parts = types.two_parts();
    if (!Parse(key_, types.first, key.first, problem)) {
      hint_ = KeyHint(types, false, fields_[key_.index]);
    } else if (two_parts && !Parse(second_key_, *types.second, key.second, problem)) {
      hint_ = KeyHint(types, true, fields_[second_key_.index]);
    } else if (Parse(value_, ColumnType::kUint64, value, problem)) {
      return Result::kRow;
    }
    if (hint_.empty()) hint_ = TableHint(names_, fields_, key_.index);
  }
  complaint = absl::StrCat(name_, " line ", reader_.line(), ": ", problem);
  return Result::kBadLine;
}

}  // namespace eris::cli
