#include "clients/cli/ndjson/json_records.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace eris::cli {

JsonRecords::JsonRecords(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) AddKey(key);
}

void JsonRecords::AddKey(const std::string& key) {
  fields_.emplace(key, keys_.size());
  keys_.push_back(key);
}

// Keys come in the same order in nearly all lines.
size_t JsonRecords::FieldOf(absl::string_view key) {
  if (next_ >= keys_.size()) next_ = 0;
  if (next_ < keys_.size() && keys_[next_] == key) return next_++;
  const auto found = fields_.find(std::string(key));
  if (found == fields_.end()) return keys_.size();
  next_ = found->second + 1;
  return found->second;
}

std::vector<absl::string_view> JsonRecords::KeysOfNone() const {
  if (std::find(is_set_.begin(), is_set_.end(), true) != is_set_.end()) return {};
  return {other_keys_.begin(), other_keys_.end()};
}

std::string JsonRecords::Read(absl::string_view line, std::vector<absl::string_view>& fields,
                              std::string& scratch) {
  fields.clear();
  others_.clear();
  if (!other_keys_.empty()) other_keys_ = {};  // clear() takes as long as for the largest line
  if (line.find_first_not_of(" \t\r") == line.npos) return "";
  fields.resize(keys_.size());
  is_set_.assign(keys_.size(), false);
  scratch.clear();
  scratch.reserve(line.size());  // fields point into it: it must not move
  std::string twice;
  const auto take = [&](absl::string_view key, JsonKind kind, absl::string_view value) {
    const size_t field = FieldOf(key);
    if (field == keys_.size()) {
      if (!other_keys_.emplace(key.data(), key.size()).second) twice = std::string(key);
      if (kind != JsonKind::kNull) others_.push_back({std::string(key), kind, std::string(value)});
      return;
    }
    if (is_set_[field]) twice = std::string(key);
    is_set_[field] = true;
    if (kind == JsonKind::kNull) return;
    fields[field] = value;
    if (kind != JsonKind::kString) return;
    const size_t begin = scratch.size();
    scratch.append(value.data(), value.size());
    fields[field] = absl::string_view(scratch).substr(begin);
  };
  const std::string problem = line_.Read(line, take);
  return problem.empty() && !twice.empty() ? absl::StrCat("key '", twice, "' twice") : problem;
}

}  // namespace eris::cli
