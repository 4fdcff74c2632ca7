// Compiles expressions over a table's columns into a PlanBody. Control plane: allocates freely; one
// thread. Equal values are found by lookup: the time grows only with the size of the expressions.
// Errors are InvalidArgument and name the fault and the limit.
#ifndef ERIS_STORAGE_TABLE_PLAN_COMPILER_H_
#define ERIS_STORAGE_TABLE_PLAN_COMPILER_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/table/plan/plan_body.h"
#include "storage/table/plan/table_plan.h"

namespace eris::storage {

class PlanCompiler {
 public:
  // `subqueries`: what expressions of kSubquery may name, by number. All are borrowed.
  PlanCompiler(std::span<const ColumnSchema> columns, PlanBody& body,
               std::span<const ColumnSchema> subqueries = {});

  // Checks size and depth, and the number of arguments of each kind; call it first, for each
  // expression.
  static absl::Status CheckShape(const Expression& expression);

  // The number of the value for a column, a number computed from columns, or a literal.
  absl::StatusOr<uint32_t> Value(const Expression& expression);
  absl::StatusOr<uint32_t> Column(const std::string& name);
  // A condition that is true where `expression` is true, or with `negated` where it is false.
  absl::StatusOr<uint32_t> Predicate(const Expression& expression, bool negated);
  // The same, split at its `and`s into body.conjuncts.
  absl::Status Filter(const Expression& expression, bool negated);

  static bool IsPredicate(Expression::Kind kind);
  static bool IsNumber(const ValueNode& value) {
    return value.value_class != ValueClass::kString && !IsTimeType(value.type);
  }

 private:
  using Kind = Expression::Kind;

  // The two numeric operands of an expression.
  absl::Status Operands(const Expression& expression, uint32_t& left, uint32_t& right);
  absl::StatusOr<uint32_t> Arithmetic(const Expression& expression);
  absl::StatusOr<uint32_t> Field(uint32_t number);
  absl::StatusOr<uint32_t> Subquery(uint32_t number);
  absl::StatusOr<uint32_t> PartOfDate(const Expression& expression);
  absl::StatusOr<uint32_t> Substring(const Expression& expression);
  absl::StatusOr<uint32_t> Cast(const Expression& expression);
  // A cast to a date or a timestamp.
  absl::StatusOr<uint32_t> CastToTime(const Expression& expression);
  absl::StatusOr<uint32_t> Case(const Expression& expression);
  // The values that a case may have, of one type, which `type` gets.
  absl::StatusOr<std::vector<uint32_t>> Branches(const std::vector<const Expression*>& values,
                                                 ValueNode& type);
  // Adds one of them to `type`, to which it must still be converted.
  absl::Status AddBranch(const Expression& value, ValueNode& type, bool first, uint32_t& branch);
  // The value as one of the type of `type`, which is a sum of it and others.
  absl::StatusOr<uint32_t> Convert(uint32_t value, const ValueNode& type);
  absl::StatusOr<uint32_t> AddCast(uint32_t value, ColumnType type, uint8_t scale,
                                   std::string text);
  // The values that a predicate looks at.
  void AddTested(uint32_t predicate, std::vector<uint32_t>& tested) const;
  absl::StatusOr<uint32_t> LiteralValue(const eris::Value& literal, const ValueNode* other);
  absl::StatusOr<uint32_t> ToDouble(uint32_t value);
  absl::StatusOr<uint32_t> Fold(const ValueNode& node);
  absl::StatusOr<uint32_t> AddValue(ValueNode node);
  // A constant of the node's type. InvalidArgument if it does not fit, or not `fits` already.
  absl::StatusOr<uint32_t> AddConstant(ValueNode node, Int128 value, bool fits);

  uint32_t AddPredicate(PredicateNode node);
  uint32_t Constant(bool all);
  // True for every row where `value` is not null.
  uint32_t NotNull(uint32_t value);
  absl::StatusOr<uint32_t> Comparison(const Expression& left, const Expression& right, Kind kind,
                                      bool negated);
  // value `kind` literal.
  absl::StatusOr<uint32_t> CompareLiteral(uint32_t value, Kind kind, const eris::Value& literal,
                                          bool negated);
  absl::StatusOr<uint32_t> CompareString(uint32_t value, Kind kind, const std::string& literal,
                                         bool negated);
  absl::StatusOr<uint32_t> CompareValues(uint32_t left, uint32_t right, Kind kind, bool negated);
  // Row by row. REQUIRES: comparable, and not both constants.
  uint32_t CompareNodes(uint32_t left, uint32_t right, Kind kind, bool negated);
  absl::StatusOr<uint32_t> Between(const Expression& expression, bool negated);
  absl::StatusOr<uint32_t> In(const Expression& expression, bool negated);
  absl::StatusOr<uint32_t> Like(const Expression& expression, bool negated);
  absl::StatusOr<uint32_t> Join(std::vector<uint32_t> children, bool conjunction);
  // Merges into one set the equalities of a column that an `or` joins, and the inequalities that an
  // `and` joins.
  std::vector<uint32_t> MergeSets(const std::vector<uint32_t>& children, bool conjunction);
  // Whether value is one of `set`, which may be in any order.
  uint32_t Set(uint32_t value, std::vector<Scalar> set, bool negated);
  uint32_t Set(uint32_t value, std::vector<std::string> strings, bool negated);
  // A numeric range, simplified to all or none if possible.
  uint32_t Range(uint32_t value, Scalar lo, Scalar hi, bool empty, bool negated);
  // The literal as one that can be compared with the value: a text next to a point in time is read.
  absl::StatusOr<eris::Value> Comparable(const ValueNode& value, const eris::Value& literal) const;
  std::string Describe(const ValueNode& value) const;

  // Two values with equal keys are the same.
  using ValueKey =
      std::tuple<ValueNode::Op, ValueClass, ColumnType, uint8_t, uint32_t, uint64_t, Int128,
                 std::string, uint32_t, uint32_t, uint8_t, uint8_t, DatePart, int64_t, int64_t,
                 std::vector<uint32_t>, std::vector<uint32_t>, uint32_t>;
  static ValueKey KeyOf(const ValueNode& node);

  const std::span<const ColumnSchema> schema_;
  PlanBody& body_;
  const std::span<const ColumnSchema> subqueries_;
  // ValueNode::scope of what is compiled, and the last one that there is.
  uint32_t scope_ = 0;
  uint32_t scopes_ = 0;
  // Standard maps: Abseil's hash tables do not survive std::bad_alloc.
  std::map<std::string, uint32_t> columns_;  // the table's, by name
  std::map<ValueKey, uint32_t> values_;      // the plan's
  std::map<uint32_t, uint32_t> ranges_;      // by value, the conjunct that is its range
};

inline bool IsNullLiteral(const Expression& expression) {
  return expression.kind == Expression::Kind::kLiteral &&
         std::holds_alternative<std::monostate>(expression.value);
}
// The bytes of a literal that is a string or bytes; nullptr: of any other.
inline const std::string* TextOf(const Value& value) {
  const auto* const bytes = std::get_if<Bytes>(&value);
  return bytes != nullptr ? &bytes->bytes : std::get_if<std::string>(&value);
}
// 1.25, 'text', x'00ff', 2024-02-29, null; long strings are cut off.
std::string LiteralText(const Value& value);
// For example "l_price * (1 - l_discount)"; long texts are cut off.
std::string ExpressionText(const Expression& expression);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_PLAN_COMPILER_H_
