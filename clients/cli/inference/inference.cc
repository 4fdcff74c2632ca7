#include "clients/cli/inference/inference.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/inference/column_names.h"
#include "clients/cli/inference/delimiter_guess.h"
#include "clients/cli/inference/json_sample.h"
#include "clients/cli/inference/value_types.h"
#include "clients/cli/text/byte_text.h"

namespace eris::cli {
namespace {

// Texts that stand for null in files of statistics programs and databases, if all other values of a
// column are numbers, dates or timestamps.
constexpr std::array<absl::string_view, 14> kNullTexts = {
    "NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "nil", "\\N", "None", "NaN", "?", "-", "."};
// Forms of dates that are looked for, besides the one that the user gives.
constexpr std::array<absl::string_view, 7> kDateForms = {"YYYY/MM/DD", "YYYY.MM.DD", "DD.MM.YYYY",
                                                         "DD/MM/YYYY", "MM/DD/YYYY", "DD-MM-YYYY",
                                                         "MM-DD-YYYY"};

// What the values of one column may be. `date_forms`: that are looked for.
class Values {
 public:
  explicit Values(const std::vector<std::string>& date_forms)
      : forms_(&date_forms), in_form_(date_forms.size(), true) {}

  void Add(absl::string_view text, const std::vector<std::string>& nulls) {
    if (text.empty() || std::count(nulls.begin(), nulls.end(), text) > 0) return;
    if (IsNullText(text)) {
      null_texts_.insert(*std::find(kNullTexts.begin(), kNullTexts.end(), text));
      Narrow(text, with_nulls_);
      return;
    }
    any_ = true;
    utf8_ = utf8_ && IsUtf8(text);
    Narrow(text, types_);
    for (size_t i = 0; i < types_.size(); ++i) with_nulls_[i] = with_nulls_[i] && types_[i];
    NarrowForms(absl::StripAsciiWhitespace(text));
  }
  // They are in quotes: "7" is none.
  void ForbidNumbers() {
    for (size_t i = 0; i < kValueTypes.size(); ++i) {
      if (IsNumber(kValueTypes[i])) types_[i] = with_nulls_[i] = false;
    }
    fraction_ = false;
  }
  bool empty() const { return !any_ && null_texts_.empty(); }
  const std::set<absl::string_view>& null_texts() const { return null_texts_; }
  // The texts of nulls without which the column has a narrower type.
  std::set<absl::string_view> NullTexts(const FieldForms& forms) const {
    const bool narrow = type({kNullTexts.begin(), kNullTexts.end()}, forms) != ColumnType::kString;
    const bool helps = any_ && utf8_ && narrow && TypeOf(with_nulls_) == ColumnType::kString;
    return helps ? null_texts_ : std::set<absl::string_view>();
  }
  ColumnType type(const std::vector<std::string>& nulls, const FieldForms& forms = {}) const {
    bool all_known = true;
    for (const absl::string_view text : null_texts_) {
      all_known = all_known && std::count(nulls.begin(), nulls.end(), text) > 0;
    }
    if (!utf8_) return ColumnType::kBytes;
    if (!any_ && (all_known || null_texts_.empty())) return ColumnType::kString;
    const ColumnType plain = TypeOf(all_known ? types_ : with_nulls_);
    if (!any_ || !all_known) return plain;
    const bool fraction = fraction_ && (comma_ || !point_);  // 192.168.1.1 is none
    if (forms.decimal_comma && plain == ColumnType::kFloat64) {
      return fraction ? ColumnType::kFloat64 : ColumnType::kString;
    }
    if (plain != ColumnType::kString) return plain;
    if (!forms.date.empty() && IsInForm(forms.date)) return ColumnType::kDate;
    return forms.decimal_comma && fraction ? ColumnType::kFloat64 : ColumnType::kString;
  }
  bool comma_or_date() const { return HasDecimalCommas() || !DateForms().empty(); }
  // Forms of dates that all values have, if they are nothing else.
  std::vector<std::string> DateForms() const {
    std::vector<std::string> found;
    for (size_t i = 0; i < forms_->size() && is_text(); ++i) {
      if (in_form_[i]) found.push_back((*forms_)[i]);
    }
    return found;
  }
  // All are numbers if a comma is a decimal one, and one of them is no number otherwise, nor one
  // whose comma divides thousands.
  bool HasDecimalCommas() const { return is_text() && fraction_ && decimal_comma_; }
  // Its numbers may have decimal points, or points between thousands: none has a comma.
  bool HasOnlyPoints() const { return any_ && point_ && !comma_; }
  // Its numbers have decimal points.
  bool HasDecimalPoints() const {
    return any_ && TypeOf(types_) == ColumnType::kFloat64 && !fraction_;
  }

 private:
  using Possible = std::array<bool, kValueTypes.size()>;
  static Possible AllPossible() {
    Possible all{};
    all.fill(true);
    return all;
  }
  static void Narrow(absl::string_view text, Possible& types) {
    for (size_t i = 0; i < kValueTypes.size(); ++i)
      types[i] = types[i] && IsOf(kValueTypes[i], text);
  }
  static ColumnType TypeOf(const Possible& types) {
    const auto found = std::find(types.begin(), types.end(), true);
    return found == types.end() ? ColumnType::kString : kValueTypes[found - types.begin()];
  }

  void NarrowForms(absl::string_view text) {
    for (size_t i = 0; i < forms_->size(); ++i) {
      in_form_[i] = in_form_[i] && IsOf(ColumnType::kDate, text, {.date = (*forms_)[i]}) &&
                    !IsOf(ColumnType::kDate, text);
    }
    fraction_ = fraction_ && IsOf(ColumnType::kFloat64, text, {.decimal_comma = true});
    const size_t comma = text.find(',');
    decimal_comma_ |= comma != text.npos && text.size() - comma - 1 != 3;
    comma_ |= comma != text.npos;
    point_ |= absl::StrContains(text, '.');
  }
  bool IsInForm(const std::string& form) const {
    const auto found = std::find(forms_->begin(), forms_->end(), form);
    return found != forms_->end() && in_form_[found - forms_->begin()];
  }
  bool is_text() const { return any_ && TypeOf(types_) == ColumnType::kString; }

  const std::vector<std::string>* forms_;
  bool any_ = false;
  bool utf8_ = true;
  Possible types_ = AllPossible();
  Possible with_nulls_ = AllPossible();
  std::set<absl::string_view> null_texts_;
  std::vector<bool> in_form_;  // by forms_: all values are dates in it
  bool fraction_ = true;       // all values are numbers with decimal commas, or whole
  bool decimal_comma_ = false;
  bool comma_ = false;  // one has a comma, or a point
  bool point_ = false;
};

class Inference {
 public:
  Inference(const FileSample& sample, const KnownOfFile& known) : sample_(sample), known_(known) {
    for (const absl::string_view form : kDateForms) date_forms_.emplace_back(form);
    const bool given = !known.forms.date.empty();
    if (given && !std::count(date_forms_.begin(), date_forms_.end(), known.forms.date)) {
      date_forms_.push_back(known.forms.date);
    }
  }

  absl::StatusOr<InferredFile> Run(const std::string& file) {
    made_.nulls_given = known_.nulls.has_value();
    if (known_.nulls) made_.nulls = *known_.nulls;
    if (known_.json) return RunJson(file);
    made_.delimited = known_.delimited ? *known_.delimited : FindDelimiter(sample_, known_.escape);
    if (EscapesHelp(sample_, made_.delimited)) made_.delimited.escape = '\\';
    std::vector<size_t> lines;
    records_ = RecordsOf(sample_.beginning, sample_.is_whole, made_.delimited, ~size_t{0}, &lines);
    if (records_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, " has no ", sample_.is_whole ? "line" : "whole line in its beginning",
                       ": give --schema"));
    }
    width_ = ShapeOf(records_).fields;
    AddOthers();
    const std::vector<Values> rest = ValuesFrom(1);
    short_header_ = IsShortHeader(rest);
    made_.header = known_.header.has_value() ? *known_.header : IsHeader(rest);
    if (!made_.header || records_[0].size() == width_) NoteOtherLinesAbove(lines);
    Settle(made_.header ? rest : ValuesFrom(0));
    return std::move(made_);
  }

 private:
  // Its keys are the header.
  absl::StatusOr<InferredFile> RunJson(const std::string& file) {
    const absl::StatusOr<std::vector<JsonKey>> keys = SampleJson(file, sample_);
    if (!keys.ok()) return keys.status();
    width_ = keys->size();
    made_.json = made_.header = true;
    std::vector<Values> values(width_, Values(date_forms_));
    for (size_t i = 0; i < width_; ++i) {
      const JsonKey& key = (*keys)[i];
      made_.keys.push_back(key.key);
      for (const std::string& text : key.texts) values[i].Add(text, made_.nulls);
      if (key.strings) values[i].ForbidNumbers();
    }
    records_ = {made_.keys};
    Settle(values);
    std::vector<std::string> nested;
    for (size_t i = 0; i < width_; ++i) {
      if ((*keys)[i].nested) nested.push_back(made_.columns[i].name);
    }
    if (!nested.empty()) {
      made_.notes.push_back(absl::StrCat("arrays and objects are kept as their JSON text, in ",
                                         nested.size() == 1 ? "column " : "columns ",
                                         absl::StrJoin(nested, ", ")));
    }
    return std::move(made_);
  }

  // Forms, nulls, types and names.
  void Settle(const std::vector<Values>& values) {
    const std::vector<std::string> names = Names();
    FindForms(values, names);
    if (!known_.nulls) FindNulls(values);
    for (const Values& each : values) {
      const ColumnType type = each.type(made_.nulls, made_.forms);
      made_.columns.push_back({.name = {}, .type = type, .scale = 0, .nullable = true});
    }
    SetNames(names);
    NoteNullsInStrings(values);
  }

  // In a file without quotes a line is a record, wherever it is.
  void AddOthers() {
    if (absl::StrContains(sample_.beginning, '"')) return;
    for (absl::string_view text : sample_.others) {
      const size_t newline = text.find('\n');
      if (newline == text.npos) continue;
      text.remove_prefix(newline + 1);
      for (Record& record : RecordsOf(text, false, made_.delimited, ~size_t{0})) {
        records_.push_back(std::move(record));
      }
    }
  }

  std::vector<Values> ValuesFrom(size_t first) const {
    std::vector<Values> values(width_, Values(date_forms_));
    for (size_t i = first; i < records_.size(); ++i) {
      if (records_[i].size() != width_) continue;  // a bad line, which the import will name
      for (size_t column = 0; column < width_; ++column) {
        values[column].Add(records_[i][column], made_.nulls);
      }
    }
    return values;
  }

  // Names are texts above other things. Where all columns are strings they are names if none is
  // empty or comes twice. Some of them may be years, one after the other.
  bool IsHeader(const std::vector<Values>& rest) const {
    const Record& first = records_[0];
    if (short_header_) return true;
    // Where lines end with a delimiter, the last column has neither a name nor a value.
    const bool last_is_empty = first.size() + 1 == width_ && rest.back().empty();
    if (first.size() != width_ && !last_is_empty) return false;
    bool above_others = false;
    std::set<absl::string_view> names;
    std::vector<absl::string_view> numbers;
    for (size_t column = 0; column < first.size(); ++column) {
      const absl::string_view name = first[column];
      const bool is_number = IsValue(name);
      if (is_number) numbers.push_back(name);
      const ColumnType type = rest[column].type({kNullTexts.begin(), kNullTexts.end()});
      const bool others = type != ColumnType::kString && type != ColumnType::kBytes;
      above_others |= !name.empty() && !is_number && (others || rest[column].comma_or_date());
      // A column of row numbers may have no name.
      if (name.empty() && column == 0 && type == ColumnType::kInt64) continue;
      names.insert(name);
    }
    const bool all_named = records_.size() > 1 && names.count("") == 0 &&
                           names.size() + (first[0].empty() ? 1 : 0) == first.size();
    if (!numbers.empty()) return all_named && numbers.size() < first.size() && AreYears(numbers);
    return above_others || all_named;
  }
  // Whether a text is rather a value than a name: also 007, 31.12.2024, 1,5 and times.
  bool IsValue(absl::string_view text) const {
    text = absl::StripAsciiWhitespace(text);
    constexpr size_t kDateBytes = 10;
    const auto reads = [&](ColumnType type) { return Reads(type, text); };
    const auto in_form = [&](const std::string& form) {
      return IsOf(ColumnType::kDate, text, {.date = form});
    };
    return std::any_of(kValueTypes.begin(), kValueTypes.end(), reads) ||
           std::any_of(date_forms_.begin(), date_forms_.end(), in_form) ||
           IsOf(ColumnType::kFloat64, text, {.decimal_comma = true}) ||
           (text.size() > kDateBytes && Reads(ColumnType::kDate, text.substr(0, kDateBytes)));
  }
  static bool AreYears(const std::vector<absl::string_view>& texts) {
    int before = 0;
    for (const absl::string_view text : texts) {
      int year = 0;
      if (text.size() != 4 || !absl::SimpleAtoi(text, &year)) return false;
      if (before != 0 && year != before + 1) return false;
      before = year;
    }
    return texts.size() >= 3;
  }
  // As R writes it: the first column, with the rows' names, has none itself. Names are above
  // numbers.
  bool IsShortHeader(const std::vector<Values>& rest) const {
    const Record& first = records_[0];
    if (first.size() + 1 != width_ || rest.back().empty()) return false;
    bool above_others = false;
    for (size_t i = 0; i < first.size(); ++i) {
      if (first[i].empty() || IsValue(first[i])) return false;
      const ColumnType type = rest[i + 1].type({kNullTexts.begin(), kNullTexts.end()});
      above_others |= type != ColumnType::kString && type != ColumnType::kBytes;
      above_others |= rest[i + 1].comma_or_date();
    }
    return above_others;
  }

  // What is before a table are often lines about it.
  void NoteOtherLinesAbove(const std::vector<size_t>& lines) {
    if (short_header_) return;
    size_t other = 0;
    while (records_[other].size() != width_) ++other;
    if (other == 0) return;
    const uint64_t before = sample_.lines_before;
    made_.notes.push_back(
        absl::StrCat("line ", before + lines[0], " has ", records_[0].size(),
                     records_[0].size() == 1 ? " field" : " fields", ", most lines have ", width_,
                     ": --skip ", before + lines[other] - 1, " passes over what is before them"));
  }

  void FindNulls(const std::vector<Values>& values) {
    std::set<absl::string_view> texts;
    for (const Values& each : values) texts.merge(each.NullTexts(made_.forms));
    for (const absl::string_view text : texts) made_.nulls.emplace_back(text);
  }

  // Some readers take them for nulls.
  void NoteNullsInStrings(const std::vector<Values>& values) {
    for (size_t i = 0; i < values.size() && !known_.nulls; ++i) {
      if (NullsHold(made_, made_.columns[i].type)) continue;
      for (const std::string& text : made_.nulls) {
        if (values[i].null_texts().count(text) == 0) continue;
        made_.notes.push_back(absl::StrCat("column ", i + 1, ", ", made_.columns[i].name, ", has '",
                                           text, "' as text: --null '", text,
                                           "' makes it null in all columns"));
      }
    }
  }

  // By column of the file: the type of the table's column that it is, if there is a table.
  std::vector<std::optional<ColumnType>> TableTypes(const std::vector<std::string>& names) const {
    std::vector<std::optional<ColumnType>> types(width_);
    const std::vector<ColumnSchema>& columns = known_.table->columns;
    const auto is_named = [&](const ColumnSchema& column) {
      return std::count(names.begin(), names.end(), column.name) > 0;
    };
    const bool by_name =
        made_.json || (made_.header && std::all_of(columns.begin(), columns.end(), is_named));
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto found = std::find(names.begin(), names.end(), columns[i].name);
      const size_t place = by_name ? static_cast<size_t>(found - names.begin()) : i;
      if (place < width_) types[place] = columns[i].type;
    }
    return types;
  }

  // Elsewhere a comma may divide thousands. With a table, 1.500 is not read again as text, so it
  // must be no doubtful number: the same column has commas, or the form is not believed.
  bool HasDecimalCommas(const std::vector<const Values*>& fractions) const {
    const auto has_commas = [](const Values* each) { return each->HasDecimalCommas(); };
    const auto has_points = [&](const Values* each) {
      return each->HasDecimalPoints() || (known_.table != nullptr && each->HasOnlyPoints());
    };
    return made_.delimited.delimiter == ';' &&
           std::none_of(fractions.begin(), fractions.end(), has_points) &&
           std::any_of(fractions.begin(), fractions.end(), has_commas);
  }

  // `names`: of the file's columns.
  void FindForms(const std::vector<Values>& values, const std::vector<std::string>& names) {
    made_.forms = known_.forms;
    std::vector<std::optional<ColumnType>> types(width_);
    if (known_.table != nullptr) types = TableTypes(names);
    std::vector<const Values*> fractions;
    for (size_t i = 0; i < width_; ++i) {
      const bool is_one = types[i] == ColumnType::kFloat64 || types[i] == ColumnType::kDecimal;
      if (known_.table == nullptr || is_one) fractions.push_back(&values[i]);
    }
    made_.forms.decimal_comma |= HasDecimalCommas(fractions);
    if (!made_.forms.date.empty()) return;
    std::vector<std::string> common = date_forms_;
    size_t column = values.size();  // of which it is doubtful
    for (size_t i = 0; i < values.size(); ++i) {
      if (known_.table != nullptr && types[i] != ColumnType::kDate) continue;
      const std::vector<std::string> forms = values[i].DateForms();
      if (forms.empty()) continue;
      if (column == values.size()) column = i;
      const auto is_other = [&](const std::string& form) {
        return std::count(forms.begin(), forms.end(), form) == 0;
      };
      common.erase(std::remove_if(common.begin(), common.end(), is_other), common.end());
    }
    if (column == values.size() || common.empty()) return;
    if (common.size() == 1) {
      made_.forms.date = common[0];
      return;
    }
    made_.notes.push_back(absl::StrCat("column ", column + 1, " may be dates: --date-format ",
                                       absl::StrJoin(common, " or ")));
  }

  // The header's name of a column, or the key; empty: it has none.
  std::string GivenName(size_t column) const {
    const size_t unnamed = made_.header && short_header_ ? 1 : 0;  // at the beginning
    const bool has_name =
        made_.header && column >= unnamed && column - unnamed < records_[0].size();
    return has_name ? records_[0][column - unnamed] : std::string();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> given;
    for (size_t i = 0; i < width_; ++i) given.push_back(GivenName(i));
    return ColumnNames(given);
  }
  void SetNames(const std::vector<std::string>& names) {
    for (size_t i = 0; i < width_; ++i) {
      const std::string given = GivenName(i);
      if (made_.header && names[i] != given) {
        made_.notes.push_back(absl::StrCat(
            "column ", i + 1, ", '", given,
            made_.json ? "' in the file, is called " : "' in the header, is called ", names[i]));
      }
      made_.columns[i].name = names[i];
    }
  }

  const FileSample& sample_;
  const KnownOfFile& known_;
  std::vector<std::string> date_forms_;
  InferredFile made_;
  std::vector<Record> records_;
  size_t width_ = 0;
  bool short_header_ = false;
};

}  // namespace

absl::StatusOr<InferredFile> InferFile(const std::string& file, const FileSample& sample,
                                       const KnownOfFile& known) {
  return Inference(sample, known).Run(file);
}

size_t PlaceOf(const InferredFile& file, absl::string_view name) {
  const auto found = std::find_if(file.columns.begin(), file.columns.end(),
                                  [&](const ColumnSchema& one) { return one.name == name; });
  return static_cast<size_t>(found - file.columns.begin());
}

bool IsNullText(absl::string_view text) {
  return std::find(kNullTexts.begin(), kNullTexts.end(), text) != kNullTexts.end();
}

bool NullsHold(const InferredFile& file, ColumnType type) {
  return file.nulls_given || !IsByteString(type);
}

void AddColumn(const std::string& key, absl::string_view text, bool is_string, InferredFile& file) {
  std::set<std::string> used;
  for (const ColumnSchema& column : file.columns) used.insert(column.name);
  ColumnType type = ColumnType::kString;
  for (size_t i = kValueTypes.size(); i > 0; --i) {
    const ColumnType narrow = kValueTypes[i - 1];
    if (is_string && IsNumber(narrow)) continue;
    if (IsOf(narrow, text, file.forms)) type = narrow;
  }
  const std::string other = absl::StrCat("c", file.columns.size() + 1);
  file.columns.push_back(
      {.name = ColumnName(key, other, used), .type = type, .scale = 0, .nullable = true});
  file.keys.push_back(key);
}

std::string FormatText(const InferredFile& file) {
  const char delimiter = file.delimited.delimiter;
  std::string text =
      file.json ? "NDJSON"
                : absl::StrCat(
                      "delimiter ",
                      delimiter == '\t' ? "tab" : absl::StrCat("'", std::string(1, delimiter), "'"),
                      file.header ? ", a header" : ", no header");
  if (file.delimited.escape != '\0') {
    absl::StrAppend(&text, ", escape '", std::string(1, file.delimited.escape), "'");
  }
  if (!file.forms.date.empty()) absl::StrAppend(&text, ", dates ", file.forms.date);
  if (file.forms.decimal_comma) absl::StrAppend(&text, ", decimal commas");
  if (!file.nulls.empty()) {
    absl::StrAppend(&text, ", null is '", absl::StrJoin(file.nulls, "' or '"), "'",
                    file.nulls_given ? "" : " except in strings");
  }
  return text;
}

}  // namespace eris::cli
