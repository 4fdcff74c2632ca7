#include "server/substrait/plan_reader.h"

#include <google/protobuf/io/coded_stream.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/substrait/place.h"
#include "server/substrait/plan_translator.h"
#include "substrait/plan.pb.h"

namespace eris::server {
namespace {

using plans::Malformed;
using plans::Place;
using plans::PlanTranslator;
using plans::Relation;
using plans::Unsupported;

absl::Status Parse(std::string_view bytes, ::substrait::Plan& plan) {
  if (bytes.size() > kPlanBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a plan of ", bytes.size(), " bytes, must have at most ", kPlanBytesMax));
  }
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kPlanNestingMax);
  if (plan.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the bytes are no plan of Substrait, or have more than ", kPlanNestingMax, " levels"));
}

// A name may be followed by a signature, as in "equal:i64_i64".
absl::StatusOr<PlanTranslator::FunctionNames> FunctionsOf(const ::substrait::Plan& plan) {
  PlanTranslator::FunctionNames functions;
  for (int i = 0; i < plan.extensions_size(); ++i) {
    if (!plan.extensions(i).has_extension_function()) continue;
    const auto& function = plan.extensions(i).extension_function();
    const std::string name = function.name().substr(0, function.name().find(':'));
    const auto [place, added] = functions.try_emplace(function.function_anchor(), name);
    if (!added && place->second != name) {
      return Malformed(Place("extensions", i), "function_anchor ", function.function_anchor(),
                       " is \"", name, "\" and \"", place->second, "\"");
    }
  }
  return functions;
}

plans::Dialect DialectOf(const ::substrait::Plan& plan) {
  return {.projects_replace = plan.version().producer() == "DuckDB"};
}

absl::StatusOr<QueryPlan> PlanOfRoot(PlanTranslator& translator, const ::substrait::RelRoot& root,
                                     const Place& place) {
  const Place input(place, "input");
  if (!root.has_input()) return Malformed(input, "the input is missing");
  ERIS_ASSIGN_OR_RETURN(const Relation relation, translator.TakeRelation(root.input(), input));
  if (static_cast<size_t>(root.names_size()) != relation.fields.size()) {
    return Malformed(place, root.names_size(), " names for ", relation.fields.size(), " columns");
  }
  ERIS_ASSIGN_OR_RETURN(QueryPlan plan, translator.Finish(relation, input));
  plan.names.assign(root.names().begin(), root.names().end());
  return plan;
}

}  // namespace

absl::StatusOr<QueryPlan> PlanFromSubstrait(std::string_view bytes, const Catalogue& catalogue) {
  ::substrait::Plan plan;
  ERIS_RETURN_IF_ERROR(Parse(bytes, plan));
  if (plan.advanced_extensions().has_enhancement()) {
    return Unsupported(Place("advanced_extensions"), "enhancements are not supported");
  }
  if (plan.relations().empty()) return Malformed(Place("relations"), "the plan has no relation");
  if (plan.relations_size() > 1) {
    return Unsupported(Place("relations", 1), "several relations are not supported");
  }
  ERIS_ASSIGN_OR_RETURN(PlanTranslator::FunctionNames functions, FunctionsOf(plan));
  PlanTranslator translator(catalogue, std::move(functions), DialectOf(plan));
  const Place place("relations", 0);
  const ::substrait::PlanRel& relation = plan.relations(0);
  if (relation.has_root()) return PlanOfRoot(translator, relation.root(), Place(place, "root"));
  if (!relation.has_rel()) return Malformed(place, "the relation is empty");
  const Place inside(place, "rel");
  ERIS_ASSIGN_OR_RETURN(const Relation taken, translator.TakeRelation(relation.rel(), inside));
  return translator.Finish(taken, inside);
}

}  // namespace eris::server
