// How a file's records become rows: which columns, which header, which lines are bad. The part of
// `eris import` that needs no server. One thread.
#ifndef ERIS_CLIENTS_CLI_FILES_IMPORT_FILE_H_
#define ERIS_CLIENTS_CLI_FILES_IMPORT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/files/delimited.h"
#include "clients/cli/text/object_key.h"
#include "eris/types.h"

namespace eris::cli {

struct ImportFormat {
  DelimitedFormat delimited{};
  std::optional<bool> header{};  // unset: it is one when none of its key fields is a key
  std::string table{};           // TPC-H table whose column names hold; empty: none
  std::string key = "1";         // column by name, or by number from 1
  std::string value{};           // as key; empty: the first column that is no key
  KeyTypes key_type{};
  std::string second_key{};  // of two-part keys, as `key`: the column of second parts
};

class ImportFile {
 public:
  // `fd` stays the caller's; `name` is for messages.
  ImportFile(int fd, std::string name, const ImportFormat& format);

  // Reads up to the first record and settles the columns. Errors: InvalidArgument (a column that is
  // not there, a name where none is known), Unavailable (reading failed).
  absl::Status Open();

  enum class Result { kRow, kBadLine, kEnd };
  // The next row, its key encoded, or what is wrong with a line ("orders.tbl line 7: ..."). Errors:
  // Unavailable.
  absl::StatusOr<Result> Next(ObjectKey& key, uint64_t& value, std::string& complaint);

  // What would help against the complaint of the last Next, to be said behind it: flags for a new
  // object.
  const std::string& hint() const { return hint_; }

  size_t key_column() const { return key_.index; }  // from 0; of first parts
  uint64_t bytes_read() const { return reader_.bytes_read(); }

 private:
  struct Column {
    size_t index = 0;
    std::string name;  // for messages
  };
  absl::StatusOr<Column> Find(const std::string& text) const;
  // Errors: InvalidArgument if columns would be lost, unless format.value is set: a choice.
  absl::Status CheckColumns(size_t columns) const;
  // Finds the columns of key and value. Errors: InvalidArgument.
  absl::Status SettleColumns();
  bool IsKeyField(const std::string& column, ColumnType type) const;
  bool Parse(const Column& column, ColumnType type, uint64_t& number, std::string& complaint) const;

  const std::string name_;
  const ImportFormat format_;
  DelimitedReader reader_;
  std::vector<std::string> names_;
  size_t fields_expected_ = 0;
  Column key_;
  Column second_key_;  // as key_ where keys have one part
  Column value_;
  std::vector<absl::string_view> fields_;
  std::string reason_;
  std::string hint_;
  // Open has read it and Next has not given it out; kBad: fields_ is not set.
  std::optional<DelimitedReader::Result> pending_;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_IMPORT_FILE_H_
