#include "server/access/policy.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace eris::server {

MethodPolicy::MethodPolicy(Policy policy, const google::protobuf::MethodDescriptor& method)
    : policy_(std::move(policy)),
      method_(absl::StrCat(method.service()->full_name(), "/", method.name())) {
  using google::protobuf::FieldDescriptor;
  for (const std::string& name : policy_.objects.fields) {
    const FieldDescriptor* const field = method.input_type()->FindFieldByName(name);
    ERIS_CHECK(field != nullptr);
    ERIS_CHECK(field->cpp_type() == FieldDescriptor::CPPTYPE_STRING);
    ERIS_CHECK(!field->is_repeated());
    fields_.push_back(field);
  }
}

}  // namespace eris::server
