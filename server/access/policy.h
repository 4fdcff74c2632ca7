// What a method asks of its callers: the least role, and the objects for which the caller must have
// it. Any thread; immutable.
#ifndef ERIS_SERVER_ACCESS_POLICY_H_
#define ERIS_SERVER_ACCESS_POLICY_H_

#include <google/protobuf/descriptor.h>

#include <string>
#include <utility>
#include <vector>

#include "server/access/caller.h"

namespace eris::server {

// How the names of a request's objects are found.
struct ObjectNames {
  enum class Where {
    kNone,           // no object is named
    kEvery,          // it shows or changes every object
    kFields,         // in these fields of the request
    kFieldsOrEvery,  // the same, where an empty field means every object
    kInside,         // in a plan, a ticket or a later message: the call asks CheckObject for each
  };
  Where where = Where::kEvery;
  std::vector<std::string> fields{};
};
inline ObjectNames NoObject() { return {ObjectNames::Where::kNone, {}}; }
inline ObjectNames EveryObject() { return {ObjectNames::Where::kEvery, {}}; }
inline ObjectNames NamedInside() { return {ObjectNames::Where::kInside, {}}; }
inline ObjectNames NamedBy(std::vector<std::string> fields) {
  return {ObjectNames::Where::kFields, std::move(fields)};
}
inline ObjectNames NamedByOrEvery(std::vector<std::string> fields) {
  return {ObjectNames::Where::kFieldsOrEvery, std::move(fields)};
}

// No method has a default policy.
struct Policy {
  Policy(Role role_in, ObjectNames objects_in) : role(role_in), objects(std::move(objects_in)) {}
  // The same with a line in the log for each call: caller, call, object, result. For methods that
  // are ControlCalls.
  Policy Audited() && {
    audited = true;
    return std::move(*this);
  }

  Role role;
  ObjectNames objects;
  bool audited = false;
};

// A policy for one method.
class MethodPolicy {
 public:
  // REQUIRES: the policy's fields are texts of the method's request.
  MethodPolicy(Policy policy, const google::protobuf::MethodDescriptor& method);

  Role role() const { return policy_.role; }
  ObjectNames::Where where() const { return policy_.objects.where; }
  // Whether fields of the request name objects.
  bool names_objects() const { return !fields_.empty(); }
  bool audited() const { return policy_.audited; }
  const std::vector<const google::protobuf::FieldDescriptor*>& fields() const { return fields_; }
  const std::string& method() const { return method_; }  // "eris.v1.Data/Write"

 private:
  const Policy policy_;
  const std::string method_;
  std::vector<const google::protobuf::FieldDescriptor*> fields_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_POLICY_H_
