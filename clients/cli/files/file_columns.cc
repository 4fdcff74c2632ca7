#include "clients/cli/files/file_columns.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/files/import_hint.h"
#include "clients/cli/files/key_bounds.h"
#include "clients/cli/files/tpch_tables.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

using First = absl::Span<const absl::string_view>;

// In NDJSON a field is the value of a key.
absl::StatusOr<FileColumns> ByKeys(const RowFileFormat& format, const Schema& schema) {
  std::vector<std::string> keys = format.keys;
  if (format.choice) {
    keys = format.choice->key;
    keys.push_back(format.choice->value);
    for (const std::string& key : keys) {
      uint64_t number = 0;
      if (!key.empty() && !ParseU64(key, number)) {
        if (std::count(keys.begin(), keys.end(), key) == 1) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("'", key, "' is chosen twice by --key and --value"));
      }
      return absl::InvalidArgumentError(
          "the fields of NDJSON have names and no numbers: choose those of an index with --key "
          "NAME and --value NAME");
    }
  }
  FileColumns columns;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    columns.fields.push_back(
        {.column = i, .name = i < keys.size() ? keys[i] : schema.columns[i].name});
  }
  return columns;
}

// Fields are the columns of the schema, in order.
FileColumns InOrder(const Schema& schema) {
  FileColumns columns;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    columns.fields.push_back({.column = i, .name = schema.columns[i].name});
  }
  return columns;
}

// For a header that lacks the column: what may be wrong.
absl::Status MissingColumn(const std::string& file, const RowFileFormat& format, First first,
                           const std::string& missing, const std::string& found) {
  // To read it as a row would give fields to columns that they are not of.
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": the header has no column '", missing, "' of the table",
                   CaseHint(first, missing), DelimiterHint(first, format.delimited.delimiter),
                   format.header.has_value() || found.empty()
                       ? ""
                       : absl::StrCat("; if the first line, with '", found,
                                      "' in it, is a row, say --no-header")));
}

absl::StatusOr<FileColumns> ByHeader(const std::string& file, const RowFileFormat& format,
                                     const Schema& schema, First header) {
  const std::vector<absl::string_view> names(format.names.begin(), format.names.end());
  const First first = names.empty() ? header : First(names);
  FileColumns columns{.header = true};
  columns.fields.resize(first.size());
  std::vector<bool> named(schema.columns.size());
  for (size_t i = 0; i < first.size(); ++i) {
    columns.fields[i].name = std::string(first[i]);
    for (size_t column = 0; column < schema.columns.size(); ++column) {
      if (schema.columns[column].name != first[i]) continue;
      if (named[column]) {
        return absl::InvalidArgumentError(
            absl::StrCat(file, ": the header names column '", first[i], "' twice"));
      }
      named[column] = true;
      columns.fields[i].column = column;
    }
  }
  const auto found = std::find(named.begin(), named.end(), true);
  const auto missing = std::find(named.begin(), named.end(), false);
  // A first line that has every name, but in other letters, is no row.
  const auto in_other_letters = [&](const ColumnSchema& column) {
    return !CaseHint(first, column.name).empty();
  };
  if (!format.header.has_value() && found == named.end() &&
      !std::all_of(schema.columns.begin(), schema.columns.end(), in_other_letters)) {
    return InOrder(schema);
  }
  if (missing == named.end()) return columns;
  const auto name = [&](const auto& at) { return schema.columns[at - named.begin()].name; };
  return MissingColumn(file, format, first, name(missing), found == named.end() ? "" : name(found));
}

// One file's columns by a choice.
class Chooser {
 public:
  Chooser(const std::string& file, const RowFileFormat& format, const Schema& schema, First first)
      : file_(file), format_(format), choice_(*format.choice), schema_(schema), first_(first) {}

  absl::StatusOr<FileColumns> Choose(bool may_be_header) {
    if (!choice_.table.empty()) {
      names_ = TpchColumns(choice_.table);
      if (names_.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", choice_.table, "' is no table of TPC-H whose columns are known"));
      }
    }
    FileColumns columns;
    columns.header = may_be_header && !first_.empty() && IsHeader();
    if (columns.header) names_ = {first_.begin(), first_.end()};
    count_ = columns.header || names_.empty() ? first_.size() : names_.size();
    if (schema_.key.size() == 1 && names_.size() > 1 && names_[0] == "key" &&
        names_[1] == "second_key") {
      return absl::InvalidArgumentError(
          absl::StrCat(file_, " holds keys of two parts: import it with --key key,second_key"));
    }
    const absl::StatusOr<std::vector<size_t>> chosen = Find();
    if (!chosen.ok()) return chosen.status();
    if (absl::Status status = CheckColumns(); !status.ok()) return status;
    columns.fields.resize(std::max(count_, 1 + *std::max_element(chosen->begin(), chosen->end())));
    for (size_t i = 0; i < names_.size(); ++i) columns.fields[i].name = names_[i];
    for (size_t column = 0; column < chosen->size(); ++column) {
      columns.fields[(*chosen)[column]].column = column;
    }
    return columns;
  }

 private:
  // Names can only come from a header; and keys are no header. One of two is a bad line.
  bool IsHeader() const {
    if (format_.header.has_value()) return *format_.header;
    if (!names_.empty()) return false;
    uint64_t number = 0;
    bool by_name = !choice_.value.empty() && !ParseU64(choice_.value, number);
    bool any_key = false;
    for (size_t i = 0; i < choice_.key.size(); ++i) {
      uint64_t word = 0;
      if (!ParseU64(choice_.key[i], number)) {
        by_name = true;
      } else if (number >= 1 && number <= first_.size()) {
        const ColumnSchema& column = schema_.columns[i];
        const absl::string_view field = absl::StripAsciiWhitespace(first_[number - 1]);
        const PlainField plain(format_.forms, column.type, field);
        any_key |=
            ParseWord(column, format_.forms.Change(column.type) ? plain.text() : field, word);
      }
    }
    return by_name || !any_key;
  }

  // The field of each column of the schema.
  absl::StatusOr<std::vector<size_t>> Find() const {
    std::vector<size_t> chosen;
    for (const std::string& key : choice_.key) {
      const absl::StatusOr<size_t> field = FieldOf(key);
      if (!field.ok()) return field.status();
      if (std::count(chosen.begin(), chosen.end(), *field) > 0) {
        return absl::InvalidArgumentError(absl::StrCat("both parts of the key are column ",
                                                       *field + 1,
                                                       ": they must be two "
                                                       "columns"));
      }
      chosen.push_back(*field);
    }
    size_t free = 0;
    while (std::count(chosen.begin(), chosen.end(), free) > 0) ++free;
    const absl::StatusOr<size_t> value =
        FieldOf(choice_.value.empty() ? absl::StrCat(free + 1) : choice_.value);
    if (!value.ok()) return value.status();
    if (std::count(chosen.begin(), chosen.end(), *value) > 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column ", *value + 1, " is both key and value: give another one with --value"));
    }
    chosen.push_back(*value);
    return chosen;
  }

  // The field that `text` names, or whose number it is.
  absl::StatusOr<size_t> FieldOf(const std::string& text) const {
    const std::string hint = DelimiterHint(first_, format_.delimited.delimiter);
    uint64_t number = 0;
    if (ParseU64(text, number)) {
      if (number >= 1 && (count_ == 0 || number <= count_)) return number - 1;
      return absl::InvalidArgumentError(
          absl::StrCat(file_, " has columns 1 to ", count_, ", no column ", number, hint));
    }
    const auto found = std::find(names_.begin(), names_.end(), text);
    if (found != names_.end()) return static_cast<size_t>(found - names_.begin());
    return absl::InvalidArgumentError(
        names_.empty() ? absl::StrCat("no column names are known of ", file_, ", so '", text,
                                      "' cannot be found: give the column's number, --header, or "
                                      "--table for a TPC-H table")
                       : absl::StrCat(file_, " has no column '", text, "'; it has ",
                                      absl::StrJoin(names_, ", "), hint));
  }

  // An index would keep two or three of them, and lose the others without a word.
  absl::Status CheckColumns() const {
    if (!choice_.value.empty() || count_ <= schema_.columns.size()) return absl::OkStatus();
    constexpr size_t kShownMax = 8;
    std::vector<std::string> names, schema;
    for (size_t i = 0; i < std::min(count_, kShownMax); ++i) {
      names.push_back(i < names_.size() ? names_[i] : absl::StrCat("c", i + 1));
      schema.push_back(absl::StrCat(names[i], ":TYPE"));
    }
    if (count_ > kShownMax) {
      names.emplace_back("...");
      schema.emplace_back("...");
    }
    const bool tpch = !choice_.table.empty();
    return absl::InvalidArgumentError(
        absl::StrCat(file_, " has ", count_, " columns",
                     names_.empty() ? "" : absl::StrCat(" (", absl::StrJoin(names, ", "), ")"),
                     ", and an index keeps a key and one value: give --schema ",
                     tpch ? absl::StrCat("tpch:", choice_.table)
                          : absl::StrCat("'", absl::StrJoin(schema, ","), "'"),
                     " for a table of all columns",
                     tpch ? ""
                          : " (TYPE: int64, float64, date, timestamp, decimal(2), string, ...; "
                            "with ? behind it null "
                            "is a value)",
                     ", or choose the columns of the index with --key and --value"));
  }

  const std::string& file_;
  const RowFileFormat& format_;
  const ColumnChoice& choice_;
  const Schema& schema_;
  const First first_;
  std::vector<std::string> names_;
  size_t count_ = 0;  // of the file's columns; 0: unknown
};

}  // namespace

absl::StatusOr<FileColumns> FindColumns(const std::string& file, const RowFileFormat& format,
                                        const Schema& schema, First first, bool may_be_header) {
  if (format.json) return ByKeys(format, schema);
  if (format.choice) return Chooser(file, format, schema, first).Choose(may_be_header);
  if (format.in_order) {
    FileColumns columns = InOrder(schema);
    columns.header = format.header == true && may_be_header;
    return columns;
  }
  if (format.header == false || !may_be_header) return InOrder(schema);
  return ByHeader(file, format, schema, first);
}

}  // namespace eris::cli
