#include "tests/fuzz/plan_machine.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/substrait/plan_reader.h"
#include "substrait/plan.pb.h"
#include "tests/support/query_plan_check.h"
#include "tests/support/tpch_tables.h"

namespace eris::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Texts that mean something to the reader, as names or values.
constexpr const char* kTexts[] = {
    "",        "equal",     "lt:any_any", "and",     "or",          "not",         "add",
    "divide",  "modulus",   "coalesce",   "like",    "contains",    "starts_with", "substring",
    "extract", "between",   "is_null",    "negate",  "sum",         "count",       "min",
    "avg",     "any_value", "lineitem",   "region",  "r_regionkey", "r_name",      "YEAR",
    "day",     "DuckDB",    "1995-01-01", "%a_b\\%", "overflow",    "ERROR"};

class PlanChanger {
 public:
  PlanChanger(substrait::Plan& plan, std::mt19937_64& random) : plan_(plan), random_(random) {}

  void ChangeOnce() {
    messages_.clear();
    Collect(plan_);
    Message& message = *messages_[Below(messages_.size())];
    const auto& descriptor = *message.GetDescriptor();
    if (descriptor.field_count() == 0) return;
    const FieldDescriptor* field = nullptr;
    std::vector<const FieldDescriptor*> set;
    message.GetReflection()->ListFields(message, &set);
    // What is set already matters more than what no plan sets.
    if (!set.empty() && Below(4) != 0) {
      field = set[Below(set.size())];
    } else {
      field = descriptor.field(static_cast<int>(Below(descriptor.field_count())));
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      ChangeMessage(message, *field);
    } else if (field->is_repeated()) {
      ChangeElements(message, *field);
    } else {
      SetValue(message, *field, /*add=*/false);
    }
  }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }

  void Collect(Message& message) {
    messages_.push_back(&message);
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> set;
    reflection.ListFields(message, &set);
    for (const FieldDescriptor* field : set) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) {
        Collect(*reflection.MutableMessage(&message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        Collect(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    }
  }

  // A copy of a message of that type from anywhere in the plan; an empty one if there is none.
  std::unique_ptr<Message> Donor(const FieldDescriptor& field, const Message& parent) {
    std::vector<const Message*> donors;
    for (const Message* message : messages_) {
      if (message->GetDescriptor() == field.message_type()) donors.push_back(message);
    }
    std::unique_ptr<Message> copy(
        parent.GetReflection()->GetMessageFactory()->GetPrototype(field.message_type())->New());
    if (!donors.empty() && Below(8) != 0) copy->CopyFrom(*donors[Below(donors.size())]);
    return copy;
  }

  void ChangeMessage(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    const std::unique_ptr<Message> donor = Donor(field, message);
    if (!field.is_repeated()) {
      if (Below(4) == 0) {
        reflection.ClearField(&message, &field);
      } else {
        reflection.MutableMessage(&message, &field)->CopyFrom(*donor);
      }
      return;
    }
    const int size = reflection.FieldSize(message, &field);
    const uint64_t way = Below(4);
    if (way == 0 || size == 0) {
      reflection.AddMessage(&message, &field)->CopyFrom(*donor);
    } else if (way == 1) {
      reflection.RemoveLast(&message, &field);
    } else if (way == 2) {
      reflection.SwapElements(&message, &field, static_cast<int>(Below(size)),
                              static_cast<int>(Below(size)));
    } else {
      reflection.MutableRepeatedMessage(&message, &field, static_cast<int>(Below(size)))
          ->CopyFrom(*donor);
    }
  }

  void ChangeElements(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    if (size > 0 && Below(2) == 0) {
      reflection.SwapElements(&message, &field, static_cast<int>(Below(size)), size - 1);
      reflection.RemoveLast(&message, &field);
    }
    if (size == 0 || Below(2) == 0) SetValue(message, field, /*add=*/true);
  }

  int64_t Number() {
    constexpr int64_t kNumbers[] = {0,
                                    1,
                                    -1,
                                    2,
                                    18,
                                    19,
                                    38,
                                    255,
                                    256,
                                    std::numeric_limits<int32_t>::max(),
                                    std::numeric_limits<int32_t>::min(),
                                    std::numeric_limits<int64_t>::max(),
                                    std::numeric_limits<int64_t>::min()};
    constexpr uint64_t kSmall = 20;
    if (Below(2) == 0) return static_cast<int64_t>(Below(kSmall));
    return kNumbers[Below(std::size(kNumbers))];
  }

  // Sets a field of numbers or texts, or adds an element to it.
  void SetValue(Message& message, const FieldDescriptor& field, bool add) {
    const Reflection& r = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32: {
        const auto value = static_cast<int32_t>(Number());
        return add ? r.AddInt32(&message, &field, value) : r.SetInt32(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        const int64_t value = Number();
        return add ? r.AddInt64(&message, &field, value) : r.SetInt64(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_UINT32: {
        const auto value = static_cast<uint32_t>(Number());
        return add ? r.AddUInt32(&message, &field, value) : r.SetUInt32(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto value = static_cast<int>(Below(field.enum_type()->value_count() + 1));
        return add ? r.AddEnumValue(&message, &field, value)
                   : r.SetEnumValue(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string value = kTexts[Below(std::size(kTexts))];
        if (field.type() == FieldDescriptor::TYPE_BYTES) value = Bytes();
        return add ? r.AddString(&message, &field, value) : r.SetString(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return add ? r.AddDouble(&message, &field, 0.5) : r.SetDouble(&message, &field, 0.5);
      case FieldDescriptor::CPPTYPE_BOOL:
        return add ? r.AddBool(&message, &field, true) : r.SetBool(&message, &field, Below(2) == 0);
      default:
        return;  // no plan has others that the reader looks at
    }
  }

  // As long as a decimal, or nearly.
  std::string Bytes() {
    constexpr size_t kDecimalBytes = 16;
    std::string bytes(Below(8) == 0 ? Below(20) : kDecimalBytes, '\0');
    for (char& byte : bytes) {
      if (Below(2) == 0) byte = static_cast<char>(random_());
    }
    return bytes;
  }

  substrait::Plan& plan_;
  std::mt19937_64& random_;
  std::vector<Message*> messages_;  // of the plan, itself included
};

bool Parses(std::string_view bytes, substrait::Plan& plan) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(server::kPlanNestingMax);
  return plan.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

bool HasLongFilter(const QueryPlan& plan) {
  constexpr size_t kTermsOfQuery6 = 5;
  for (const PlanNode& node : plan.nodes) {
    const auto* filter = std::get_if<FilterNode>(&node);
    if (filter != nullptr && filter->condition.kind == Expression::Kind::kAnd &&
        filter->condition.arguments.size() > kTermsOfQuery6) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::Status RunPlanBytes(std::string_view bytes, PlanPlant plant) {
  const auto plan = server::PlanFromSubstrait(bytes, test::TpchSchema);
  if (!plan.ok()) {
    const absl::StatusCode code = plan.status().code();
    if (code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kUnimplemented ||
        code == absl::StatusCode::kNotFound) {
      return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat("an error: ", plan.status().ToString()));
  }
  if (plant == PlanPlant::kLongFilter && HasLongFilter(*plan)) {
    return absl::InternalError("a long filter");
  }
  return test::QueryPlanCheck::Run(*plan, test::TpchSchema);
}

std::string ChangedPlan(std::string_view bytes, size_t bytes_max, std::mt19937_64& random) {
  substrait::Plan plan;
  if (!Parses(bytes, plan)) return std::string(bytes);
  PlanChanger changer(plan, random);
  for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) changer.ChangeOnce();
  if (plan.ByteSizeLong() > bytes_max) return std::string(bytes);
  return plan.SerializeAsString();
}

}  // namespace eris::fuzz
