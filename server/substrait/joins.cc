// Joins: which side is the left one, and how the condition is split into keys and what remains.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "eris/schema.h"
#include "server/substrait/plan_translator.h"

namespace eris::server::plans {
namespace {

using ::substrait::JoinRel;

struct JoinShape {
  JoinType type = JoinType::kInner;
  bool swapped = false;
};

absl::StatusOr<JoinShape> ShapeOf(JoinRel::JoinType type, const Place& place) {
  switch (type) {
    case JoinRel::JOIN_TYPE_INNER:
      return JoinShape{.type = JoinType::kInner};
    case JoinRel::JOIN_TYPE_LEFT:
      return JoinShape{.type = JoinType::kLeft};
    case JoinRel::JOIN_TYPE_LEFT_SEMI:
      return JoinShape{.type = JoinType::kSemi};
    case JoinRel::JOIN_TYPE_LEFT_ANTI:
      return JoinShape{.type = JoinType::kAnti};
    case JoinRel::JOIN_TYPE_RIGHT:
      return JoinShape{.type = JoinType::kLeft, .swapped = true};
    case JoinRel::JOIN_TYPE_RIGHT_SEMI:
      return JoinShape{.type = JoinType::kSemi, .swapped = true};
    case JoinRel::JOIN_TYPE_RIGHT_ANTI:
      return JoinShape{.type = JoinType::kAnti, .swapped = true};
    case JoinRel::JOIN_TYPE_OUTER:
      return Unsupported(place, "full joins are not supported");
    case JoinRel::JOIN_TYPE_UNSPECIFIED:
      return Malformed(place, "the join has no type");
    default:
      if (!JoinRel::JoinType_IsValid(type)) {
        return Unsupported(place, "the join type ", static_cast<int>(type), " is unknown");
      }
      return Unsupported(place, "the join type ", JoinRel::JoinType_Name(type),
                         " is not supported");
  }
}

enum class Side : uint8_t { kNone, kLeft, kRight, kBoth };

// The side of the join that the expression's fields are of.
Side SideOf(Expression& expression, uint32_t left_width) {
  bool left = false;
  bool right = false;
  ForEachField(expression, [&](uint32_t number) { (number < left_width ? left : right) = true; });
  if (left && right) return Side::kBoth;
  return left ? Side::kLeft : right ? Side::kRight : Side::kNone;
}

// Equalities of a value of the left and one of the right side, as these sides compute them, and the
// other conditions over both.
struct SplitCondition {
  std::vector<Expression> left_keys;
  std::vector<Expression> right_keys;
  std::vector<Expression> others;
};

SplitCondition Split(Expression condition, uint32_t left_width) {
  std::vector<Expression> terms;
  if (condition.kind == Expression::Kind::kAnd) {
    terms = std::move(condition.arguments);
  } else {
    terms.push_back(std::move(condition));
  }
  SplitCondition split;
  for (Expression& term : terms) {
    if (IsTrue(term)) continue;
    if (term.kind == Expression::Kind::kEqual) {
      const Side first = SideOf(term.arguments[0], left_width);
      const Side second = SideOf(term.arguments[1], left_width);
      if ((first == Side::kLeft && second == Side::kRight) ||
          (first == Side::kRight && second == Side::kLeft)) {
        const size_t left = first == Side::kLeft ? 0 : 1;
        ForEachField(term.arguments[1 - left], [&](uint32_t& number) { number -= left_width; });
        split.left_keys.push_back(std::move(term.arguments[left]));
        split.right_keys.push_back(std::move(term.arguments[1 - left]));
        continue;
      }
    }
    split.others.push_back(std::move(term));
  }
  return split;
}

std::vector<Part> PartsOf(std::vector<Expression> expressions) {
  std::vector<Part> parts;
  parts.reserve(expressions.size());
  for (Expression& expression : expressions) parts.push_back({.expression = std::move(expression)});
  return parts;
}

std::optional<Expression> AllOf(std::vector<Expression> terms) {
  if (terms.empty()) return std::nullopt;
  if (terms.size() == 1) return std::move(terms[0]);
  return expressions::Of(Expression::Kind::kAnd, std::move(terms));
}

}  // namespace

absl::StatusOr<Relation> PlanTranslator::AppendJoin(JoinSides sides,
                                                    const ::substrait::Expression* condition,
                                                    const Place& place) {
  Relation& left = sides.left;
  Relation& right = sides.right;
  if (size_t{widths_[left.node]} + widths_[right.node] > kTableColumnsMax) {
    ERIS_RETURN_IF_ERROR(Narrow(left, place));
    ERIS_RETURN_IF_ERROR(Narrow(right, place));
  }
  uint32_t left_width = widths_[left.node];
  for (RelationField& field : right.fields) field.column += left_width;
  Relation out;
  RelationFields& first = sides.swapped ? right.fields : left.fields;
  RelationFields& second = sides.swapped ? left.fields : right.fields;
  out.fields = first;
  out.fields.insert(out.fields.end(), second.begin(), second.end());

  JoinNode node{.type = sides.type};
  SplitCondition split;
  if (condition != nullptr) {
    ERIS_ASSIGN_OR_RETURN(Expression whole,
                          TakeCondition(true, *condition, out.fields, Place(place, "expression")));
    split = Split(std::move(whole), left_width);
  }
  ERIS_ASSIGN_OR_RETURN(const std::vector<uint32_t> left_keys,
                        AsColumns(left.node, PartsOf(std::move(split.left_keys)), place));
  ERIS_ASSIGN_OR_RETURN(const std::vector<uint32_t> right_keys,
                        AsColumns(right.node, PartsOf(std::move(split.right_keys)), place));
  for (size_t i = 0; i < left_keys.size(); ++i) node.keys.push_back({left_keys[i], right_keys[i]});
  // Computed keys of the left side have moved the right one's columns.
  const uint32_t moved = widths_[left.node] - left_width;
  const auto move = [&](uint32_t& number) { number += number < left_width ? 0 : moved; };
  for (RelationField& field : out.fields) move(field.column);
  node.condition = AllOf(std::move(split.others));
  if (node.condition.has_value()) ForEachField(*node.condition, move);

  const bool one_sided = sides.type == JoinType::kSemi || sides.type == JoinType::kAnti;
  if (one_sided) out.fields = std::move(left.fields);
  left_width = widths_[left.node];
  const size_t width = one_sided ? left_width : size_t{left_width} + widths_[right.node];
  node.left = left.node;
  node.right = right.node;
  ERIS_ASSIGN_OR_RETURN(out.node, Append(std::move(node), width, place));
  return out;
}

absl::StatusOr<Relation> PlanTranslator::TakeJoin(const JoinRel& join, const Place& place) {
  ERIS_ASSIGN_OR_RETURN(const JoinShape shape, ShapeOf(join.type(), place));
  ERIS_ASSIGN_OR_RETURN(Relation left,
                        TakeInput(join.has_left(), join.left(), Place(place, "left")));
  ERIS_ASSIGN_OR_RETURN(Relation right,
                        TakeInput(join.has_right(), join.right(), Place(place, "right")));
  if (shape.swapped) std::swap(left, right);
  ERIS_ASSIGN_OR_RETURN(Relation out,
                        AppendJoin({.type = shape.type,
                                    .swapped = shape.swapped,
                                    .left = std::move(left),
                                    .right = std::move(right)},
                                   join.has_expression() ? &join.expression() : nullptr, place));
  if (join.has_post_join_filter()) {
    ERIS_ASSIGN_OR_RETURN(
        Expression filter,
        TakeCondition(true, join.post_join_filter(), out.fields, Place(place, "post_join_filter")));
    ERIS_ASSIGN_OR_RETURN(out.node, AppendFilter(out.node, std::move(filter), place));
  }
  return Emit(join.common(), std::move(out), place);
}

absl::StatusOr<Relation> PlanTranslator::TakeCross(const ::substrait::CrossRel& cross,
                                                   const Place& place) {
  ERIS_ASSIGN_OR_RETURN(Relation left,
                        TakeInput(cross.has_left(), cross.left(), Place(place, "left")));
  ERIS_ASSIGN_OR_RETURN(Relation right,
                        TakeInput(cross.has_right(), cross.right(), Place(place, "right")));
  ERIS_ASSIGN_OR_RETURN(
      Relation out,
      AppendJoin({.left = std::move(left), .right = std::move(right)}, nullptr, place));
  return Emit(cross.common(), std::move(out), place);
}

}  // namespace eris::server::plans
