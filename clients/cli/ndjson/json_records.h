// Lines of NDJSON as records of fields, as delimited text has them: one field for each key that is
// known. One thread.
#ifndef ERIS_CLIENTS_CLI_NDJSON_JSON_RECORDS_H_
#define ERIS_CLIENTS_CLI_NDJSON_JSON_RECORDS_H_

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/ndjson/json_line.h"

namespace eris::cli {

class JsonRecords {
 public:
  // Field i is the value of keys[i]; keys differ.
  explicit JsonRecords(const std::vector<std::string>& keys);
  // One more field, behind the others.
  void AddKey(const std::string& key);

  // Sets `fields`, which point into the line, or into `scratch` if they are strings. That of a key
  // that is missing or null has no data(). An empty line has no field. Returns what is wrong with
  // the line, or empty: a key twice, too.
  // REQUIRES: kJsonPadBytes readable bytes behind the line.
  std::string Read(absl::string_view line, std::vector<absl::string_view>& fields,
                   std::string& scratch);

  // The members of the line that Read has read which are no field, but for nulls.
  struct Other {
    std::string key;
    JsonKind kind;
    std::string text;
  };
  const std::vector<Other>& others() const { return others_; }
  // The keys of that line if it has some, and none of them is a field; else nothing.
  std::vector<absl::string_view> KeysOfNone() const;

 private:
  size_t FieldOf(absl::string_view key);

  std::vector<std::string> keys_;
  std::unordered_map<std::string, size_t> fields_;  // by key
  size_t next_ = 0;                                 // the field behind that of the last key
  std::vector<bool> is_set_;                        // by field: the line has the key
  std::vector<Other> others_;
  std::unordered_set<std::string> other_keys_;  // of the line: also those of nulls
  JsonLine line_;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_NDJSON_JSON_RECORDS_H_
