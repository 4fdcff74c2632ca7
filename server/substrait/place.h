// Where in a plan the reader is, for messages: `relations[0].root.input.filter.condition`. Each
// call that goes into a part of the plan makes a Place on its stack, so a place costs nothing until
// an error needs its text.
#ifndef ERIS_SERVER_SUBSTRAIT_PLACE_H_
#define ERIS_SERVER_SUBSTRAIT_PLACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace eris::server::plans {

class Place {
 public:
  // `name` is a field of the message at `parent`, `index` its element if the field is repeated.
  // Neither `parent` nor the name is copied.
  explicit Place(absl::string_view name, int index = -1) : name_(name), index_(index) {}
  Place(const Place& parent, absl::string_view name, int index = -1)
      : parent_(&parent), name_(name), index_(index), depth_(parent.depth_ + 1) {}
  Place(const Place&) = delete;  // a copy would read as a child
  Place& operator=(const Place&) = delete;

  uint32_t depth() const { return depth_; }
  std::string Text() const {
    std::string text = parent_ == nullptr ? std::string() : absl::StrCat(parent_->Text(), ".");
    absl::StrAppend(&text, name_);
    if (index_ >= 0) absl::StrAppend(&text, "[", index_, "]");
    return text;
  }

 private:
  const Place* parent_ = nullptr;
  absl::string_view name_;
  int index_ = -1;
  uint32_t depth_ = 1;
};

// InvalidArgument: the plan breaks a rule of Substrait, or exceeds a limit.
template <class... Texts>
absl::Status Malformed(const Place& place, const Texts&... texts) {
  return absl::InvalidArgumentError(absl::StrCat(place.Text(), ": ", texts...));
}
// Unimplemented: the plan may be right, but ERIS does not know this.
template <class... Texts>
absl::Status Unsupported(const Place& place, const Texts&... texts) {
  return absl::UnimplementedError(absl::StrCat(place.Text(), ": ", texts...));
}

}  // namespace eris::server::plans

#endif  // ERIS_SERVER_SUBSTRAIT_PLACE_H_
