#include "clients/cli/inference/json_sample.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/ndjson/json_line.h"

namespace eris::cli {
namespace {

class Sampler {
 public:
  // The lines of a text, whose last line counts if it is whole.
  void Add(absl::string_view text, bool is_whole) {
    while (!text.empty()) {
      const size_t newline = text.find('\n');
      if (newline == text.npos && !is_whole) return;
      ++lines_;
      AddLine(text.substr(0, newline));
      text.remove_prefix(newline == text.npos ? text.size() : newline + 1);
    }
  }
  absl::StatusOr<std::vector<JsonKey>> Finish(const std::string& file, uint64_t lines_before) {
    if (!keys_.empty()) return std::move(keys_);
    return absl::InvalidArgumentError(
        problem_.empty()
            ? absl::StrCat(file, " has no whole line with a key in its beginning: give --schema")
            : absl::StrCat(file, " line ", lines_before + bad_line_, ": ", problem_));
  }

 private:
  struct Member {
    std::string key;
    JsonKind kind;
    std::string text;
  };

  void AddLine(absl::string_view line) {
    if (line.find_first_not_of(" \t\r") == line.npos) return;
    padded_.assign(line.data(), line.size());
    padded_.append(kJsonPadBytes, '\0');
    std::vector<Member> members;
    const std::string problem =
        line_.Read(absl::string_view(padded_).substr(0, line.size()),
                   [&](absl::string_view key, JsonKind kind, absl::string_view text) {
                     members.push_back({std::string(key), kind, std::string(text)});
                   });
    if (problem.empty()) {
      for (Member& member : members) AddMember(std::move(member));
    } else if (problem_.empty()) {
      problem_ = problem;
      bad_line_ = lines_;
    }
  }
  void AddMember(Member member) {
    const auto [at, is_new] = places_.emplace(member.key, keys_.size());
    if (is_new) keys_.push_back({.key = member.key});
    if (member.kind == JsonKind::kNull) return;
    JsonKey& key = keys_[at->second];
    key.strings |=
        member.kind == JsonKind::kString && !member.text.empty() && !IsNullText(member.text);
    key.nested |= member.kind == JsonKind::kNested;
    key.texts.push_back(std::move(member.text));
  }

  JsonLine line_;
  std::string padded_;
  std::vector<JsonKey> keys_;
  std::unordered_map<std::string, size_t> places_;  // in keys_
  uint64_t lines_ = 0;
  uint64_t bad_line_ = 0;
  std::string problem_;  // of bad_line_, the first one
};

}  // namespace

absl::StatusOr<std::vector<JsonKey>> SampleJson(const std::string& file, const FileSample& sample) {
  Sampler sampler;
  sampler.Add(sample.beginning, sample.is_whole);
  for (absl::string_view text : sample.others) {
    const size_t newline = text.find('\n');
    if (newline == text.npos) continue;
    text.remove_prefix(newline + 1);
    sampler.Add(text, false);
  }
  return sampler.Finish(file, sample.lines_before);
}

}  // namespace eris::cli
