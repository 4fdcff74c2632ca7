// A JSON value for printing: null, true or false, a number, a text, an array, or an object whose
// members keep the order in which they were added.
//
//   Json json{{"object", name}, {"rows", std::to_string(rows)}, {"series", Json::Array()}};
//   json["seconds"] = 1.5;
//   std::string text = json.Dump();
//
// Braces around pairs are an object, never an array. Only json.cc includes the library that prints
// floats and texts, because its headers take long to compile. One thread at a time.
#ifndef ERIS_CLIENTS_JSON_H_
#define ERIS_CLIENTS_JSON_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace eris {

class Json {
 public:
  struct Member;

  Json(std::nullptr_t = nullptr) : text_("null") {}
  Json(bool value) : text_(value ? "true" : "false") {}
  // Infinities and NaN become null.
  Json(double value);
  template <std::integral Integer>
  Json(Integer value) : text_(std::to_string(value)) {}
  // Bytes that are not UTF-8 become U+FFFD.
  Json(absl::string_view value);
  Json(const std::string& value) : Json(absl::string_view(value)) {}
  Json(const char* value) : Json(absl::string_view(value)) {}
  template <class Element>
  Json(const std::vector<Element>& elements) : kind_(Kind::kArray) {
    for (const Element& one : elements) values_.emplace_back(one);
  }
  // An object. Names must be distinct.
  Json(std::initializer_list<Member> members);
  static Json Object();
  static Json Array();

  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  // The member of that name of an object. If absent, it is appended as null. A null value becomes
  // an object first.
  Json& operator[](absl::string_view name);
  // REQUIRES: an object with that member.
  const Json& operator[](absl::string_view name) const;
  bool contains(absl::string_view name) const { return Find(name) < names_.size(); }
  // Does nothing if it is absent.
  void erase(absl::string_view name);
  const std::vector<std::string>& names() const { return names_; }

  // REQUIRES: an array.
  void push_back(Json value);
  // REQUIRES: index < size().
  Json& operator[](size_t index) { return values_[index]; }
  const Json& operator[](size_t index) const { return values_[index]; }
  // The number of members of an array or an object; 0 for others.
  size_t size() const { return values_.size(); }

  bool is_null() const { return kind_ == Kind::kScalar && text_ == "null"; }
  // Compares the printed form: 1 is not 1.0.
  friend bool operator==(const Json& a, const Json& b) {
    return a.kind_ == b.kind_ && a.text_ == b.text_ && a.names_ == b.names_ &&
           a.values_ == b.values_;
  }

  // In one line without blanks.
  std::string Dump() const;
  // A line for each element or member, indented by two blanks.
  std::string DumpLines() const;

 private:
  enum class Kind : uint8_t { kScalar, kArray, kObject };
  size_t Find(absl::string_view name) const;
  // indent < 0: in one line.
  void DumpTo(int indent, std::string& out) const;

  Kind kind_ = Kind::kScalar;
  std::string text_;                // for a scalar, as printed
  std::vector<std::string> names_;  // for an object
  std::vector<Json> values_;        // for an array or an object
};

struct Json::Member {
  absl::string_view name;
  Json value;
};

}  // namespace eris

#endif  // ERIS_CLIENTS_JSON_H_
