// Keys as the verbs handle them: of one part or of two, encoded, and their text.
//
// The text of a two-part key is FIRST/SECOND, each as key_text.h has it: no number and no date has
// a slash in it, where minus, point and colon would do for none or one of them. Any thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_OBJECT_KEY_H_
#define ERIS_CLIENTS_CLI_TEXT_OBJECT_KEY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/engine.h"
#include "eris/types.h"

namespace eris::cli {

inline constexpr char kKeyPartSeparator = '/';

struct ObjectKey {
  uint64_t first = 0;
  uint64_t second = 0;  // of one-part keys 0
  friend bool operator==(const ObjectKey&, const ObjectKey&) = default;
};

// What KeyTypesName says. Errors: InvalidArgument.
absl::StatusOr<KeyTypes> ParseKeyTypes(absl::string_view text);
// For Flag::Check: what is wrong with the text, or nothing.
std::string CheckKeyTypes(const std::string& text);

void AppendObjectKey(const KeyTypes& types, const ObjectKey& key, std::string* text);
std::string ObjectKeyText(const KeyTypes& types, const ObjectKey& key);
// Columns that a table's keys take.
inline int KeyWidth(const KeyTypes& types) { return types.two_parts() ? 41 : 20; }

// Errors: InvalidArgument: text that is no key of the types, or has another number of parts than
// they; both name the text.
absl::StatusOr<ObjectKey> ParseKey(absl::string_view text, const KeyTypes& types = {});
// A bound of a range: as a key, or its first part alone, in front of all keys that have it.
absl::StatusOr<ObjectKey> ParseBound(absl::string_view text, const KeyTypes& types);

// The keys of a request, in columns.
class KeyBatch {
 public:
  explicit KeyBatch(const KeyTypes& types) : two_parts_(types.two_parts()) {}

  void Add(const ObjectKey& key) {
    first_.push_back(key.first);
    if (two_parts_) second_.push_back(key.second);
  }
  void clear() {
    first_.clear();
    second_.clear();
  }
  size_t size() const { return first_.size(); }
  bool empty() const { return first_.empty(); }
  ObjectKey operator[](size_t i) const { return {first_[i], two_parts_ ? second_[i] : 0}; }
  // Borrowed until the next change.
  KeyColumns columns() const {
    if (!two_parts_) return first_;
    return {first_, second_};
  }

 private:
  const bool two_parts_;
  std::vector<uint64_t> first_;
  std::vector<uint64_t> second_;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_OBJECT_KEY_H_
