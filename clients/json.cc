#include "clients/json.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace eris {
namespace {

std::string Quoted(absl::string_view text) {
  return nlohmann::json(std::string(text.data(), text.size()))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Json::Json(double value) : text_(nlohmann::json(value).dump()) {}
Json::Json(absl::string_view value) : text_(Quoted(value)) {}
Json::Json(std::initializer_list<Member> members) : kind_(Kind::kObject) {
  names_.reserve(members.size());
  values_.reserve(members.size());
  for (const Member& one : members) {
    names_.emplace_back(one.name.data(), one.name.size());
    values_.push_back(one.value);
  }
}
Json Json::Object() {
  Json json;
  json.kind_ = Kind::kObject;
  json.text_.clear();
  return json;
}
Json Json::Array() {
  Json json;
  json.kind_ = Kind::kArray;
  json.text_.clear();
  return json;
}

Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

size_t Json::Find(absl::string_view name) const {
  return static_cast<size_t>(
      std::find_if(names_.begin(), names_.end(),
                   [name](const std::string& one) { return absl::string_view(one) == name; }) -
      names_.begin());
}

Json& Json::operator[](absl::string_view name) {
  if (is_null()) *this = Object();
  const size_t found = Find(name);
  if (found == names_.size()) {
    names_.emplace_back(name.data(), name.size());
    values_.emplace_back(nullptr);
  }
  return values_[found];
}
const Json& Json::operator[](absl::string_view name) const { return values_[Find(name)]; }

void Json::erase(absl::string_view name) {
  const size_t found = Find(name);
  if (found == names_.size()) return;
  names_.erase(names_.begin() + static_cast<std::ptrdiff_t>(found));
  values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(found));
}

void Json::push_back(Json value) { values_.push_back(std::move(value)); }

void Json::DumpTo(int indent, std::string& out) const {
  if (kind_ == Kind::kScalar) {
    out += text_;
    return;
  }
  const bool object = kind_ == Kind::kObject;
  const bool lines = indent >= 0 && !values_.empty();
  out += object ? '{' : '[';
  for (size_t i = 0; i < values_.size(); ++i) {
    if (i > 0) out += ',';
    if (lines) out.append(1, '\n').append(static_cast<size_t>(indent) + 2, ' ');
    if (object) out.append(Quoted(names_[i])).append(lines ? ": " : ":");
    values_[i].DumpTo(lines ? indent + 2 : -1, out);
  }
  if (lines) out.append(1, '\n').append(static_cast<size_t>(indent), ' ');
  out += object ? '}' : ']';
}

std::string Json::Dump() const {
  std::string out;
  DumpTo(-1, out);
  return out;
}
std::string Json::DumpLines() const {
  std::string out;
  DumpTo(0, out);
  return out;
}

}  // namespace eris
