#include "storage/table/query/block_filter.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstring>

#include "storage/table/kernels/kernels.h"

namespace eris::storage {
namespace {

uint32_t WordsOf(const BlockValues& values) { return (values.rows() + 63) / 64; }

void AndWords(uint64_t* mask, const uint64_t* other, uint32_t words) {
  for (uint32_t w = 0; w < words; ++w) mask[w] &= other[w];
}

// A set with up to this many values is searched value by value, with vectors.
constexpr size_t kSetByVectorsMax = 8;

void KeepInRange(const BlockVector& vector, uint32_t rows, Scalar lo, Scalar hi, bool negated,
                 uint64_t* mask) {
  vector.Visit([&]<class T>(const T* values) {
    kernels::KeepInRange(values, rows, lo.As<T>(), hi.As<T>(), negated, mask);
  });
}

// Keeps the rows for which what(row) is true.
template <class What>
void KeepRows(uint64_t* mask, uint32_t rows, What what) {
  for (uint32_t w = 0; w * 64 < rows; ++w) {
    uint64_t kept = 0;
    for (uint64_t bits = mask[w]; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<uint32_t>(__builtin_ctzll(bits));
      kept |= uint64_t{what(w * 64 + bit)} << bit;
    }
    mask[w] = kept;
  }
}

bool InSet(const std::vector<Scalar>& set, const BlockVector& vector, uint32_t row) {
  // All of the set are values of the column.
  return vector.Visit([&]<class T>(const T* values) {
    const auto found = std::lower_bound(set.begin(), set.end(), values[row],
                                        [](Scalar a, T b) { return a.As<T>() < b; });
    return found != set.end() && found->template As<T>() == values[row];
  });
}

bool Holds(std::partial_ordering order, PredicateNode::Comparison comparison) {
  switch (comparison) {
    case PredicateNode::Comparison::kEqual:
      return order == 0;
    case PredicateNode::Comparison::kLess:
      return order < 0;
    case PredicateNode::Comparison::kLessEqual:
      return order <= 0;
  }
  return false;
}

// Compares two numbers of different classes or scales.
std::partial_ordering OrderOf(const BlockVector& a, uint8_t a_scale, const BlockVector& b,
                              uint8_t b_scale, uint32_t row) {
  const bool a_double = a.kind == BlockVector::Kind::kDouble;
  const bool b_double = b.kind == BlockVector::Kind::kDouble;
  if (a_double && b_double) return a.f64()[row] <=> b.f64()[row];
  if (b_double) return Compare(a.Integer(row), a_scale, b.f64()[row]);
  if (a_double) return 0 <=> Compare(b.Integer(row), b_scale, a.f64()[row]);
  return Compare(a.Integer(row), a_scale, b.Integer(row), b_scale);
}

}  // namespace

bool Matches(const PredicateNode& node, std::string_view text) {
  if (node.test == PredicateNode::StringTest::kLike) return node.pattern.Matches(text);
  if (node.test == PredicateNode::StringTest::kSet) {
    return std::binary_search(node.strings.begin(), node.strings.end(), text);
  }
  const PredicateNode::StringRange& range = node.range;
  if (range.has_lo) {
    const auto order = text <=> std::string_view(range.lo);
    if (order < 0 || (order == 0 && !range.lo_included)) return false;
  }
  if (range.has_hi) {
    const auto order = text <=> std::string_view(range.hi);
    if (order > 0 || (order == 0 && !range.hi_included)) return false;
  }
  return true;
}

namespace {

// Whether a value is null in every row, so that no condition on it is ever true.
bool NeverTrue(const BlockValues& values, uint32_t value) {
  const BlockValues::Bounds& bounds = values.bounds(value);
  return bounds.all_null && !bounds.checked;
}

}  // namespace

bool BlockFilter::BeginSegment(const BlockValues& values) {
  active_.clear();
  for (const uint32_t predicate : plan_.conjuncts) {
    const Verdict verdict = Judge(values, predicate);
    if (verdict == Verdict::kNone) return false;
    if (verdict == Verdict::kSome) active_.push_back(predicate);
  }
  // Only for their code tables.
  for (const uint32_t predicate : plan_.case_conditions) Judge(values, predicate);
  return true;
}

BlockFilter::Verdict BlockFilter::Judge(const BlockValues& values, uint32_t predicate) {
  const PredicateNode& node = plan_.predicates[predicate];
  switch (node.kind) {
    case Kind::kAll:
      return Verdict::kAll;
    case Kind::kNone:
      return Verdict::kNone;
    case Kind::kAnd:
    case Kind::kOr: {
      // Judge every child, because that builds its code table.
      const bool conjunction = node.kind == Kind::kAnd;
      const Verdict decides = conjunction ? Verdict::kNone : Verdict::kAll;
      bool decided = false;
      bool some = false;
      for (const uint32_t child : node.children) {
        const Verdict verdict = Judge(values, child);
        decided |= verdict == decides;
        some |= verdict == Verdict::kSome;
      }
      if (decided) return decides;
      if (some) return Verdict::kSome;
      return conjunction ? Verdict::kAll : Verdict::kNone;
    }
    case Kind::kRange:
      return JudgeRange(values, node);
    case Kind::kString:
      return JudgeCodes(values, predicate);
    case Kind::kIsNull: {
      const BlockValues::Bounds& bounds = values.bounds(node.value);
      if (bounds.checked || (bounds.nulls && !bounds.all_null)) return Verdict::kSome;
      return node.negated != bounds.all_null ? Verdict::kAll : Verdict::kNone;
    }
    case Kind::kSet:
      return JudgeSet(values, node);
    case Kind::kCompare: {
      // Do not prune away an arithmetic error of the other side.
      const bool clean = !values.bounds(node.value).checked && !values.bounds(node.other).checked;
      const bool never = NeverTrue(values, node.value) || NeverTrue(values, node.other);
      return clean && never ? Verdict::kNone : Verdict::kSome;
    }
  }
  return Verdict::kSome;
}

BlockFilter::Verdict BlockFilter::JudgeRange(const BlockValues& values,
                                             const PredicateNode& node) const {
  const BlockValues::Bounds& bounds = values.bounds(node.value);
  if (NeverTrue(values, node.value)) return Verdict::kNone;
  // Do not prune away an arithmetic error.
  if (!bounds.known || bounds.checked) return Verdict::kSome;
  bool outside = false;
  bool inside = false;
  switch (plan_.values[node.value].value_class) {
    case ValueClass::kDouble:
      outside = bounds.real_hi < node.lo.f64 || bounds.real_lo > node.hi.f64;
      inside = bounds.real_lo >= node.lo.f64 && bounds.real_hi <= node.hi.f64;
      break;
    case ValueClass::kUnsigned:
      outside = bounds.hi < Int128{node.lo.u64} || bounds.lo > Int128{node.hi.u64};
      inside = bounds.lo >= Int128{node.lo.u64} && bounds.hi <= Int128{node.hi.u64};
      break;
    default:
      outside = bounds.hi < node.lo.i64 || bounds.lo > node.hi.i64;
      inside = bounds.lo >= node.lo.i64 && bounds.hi <= node.hi.i64;
      break;
  }
  if (node.negated ? inside : outside) return Verdict::kNone;
  if ((node.negated ? outside : inside) && !bounds.nulls) return Verdict::kAll;
  return Verdict::kSome;
}

BlockFilter::Verdict BlockFilter::JudgeSet(const BlockValues& values,
                                           const PredicateNode& node) const {
  const BlockValues::Bounds& bounds = values.bounds(node.value);
  if (NeverTrue(values, node.value)) return Verdict::kNone;
  if (!bounds.known || bounds.checked) return Verdict::kSome;
  // Only the first element of the set that is not below the segment's values can be in range.
  const auto none_within = [&](auto lo, auto hi, auto of) {
    const auto first = std::partition_point(node.set.begin(), node.set.end(),
                                            [&](Scalar one) { return of(one) < lo; });
    return first == node.set.end() || of(*first) > hi;
  };
  bool outside = false;
  switch (plan_.values[node.value].value_class) {
    case ValueClass::kDouble:
      outside = none_within(bounds.real_lo, bounds.real_hi, [](Scalar one) { return one.f64; });
      break;
    case ValueClass::kUnsigned:
      outside = none_within(bounds.lo, bounds.hi, [](Scalar one) { return Int128{one.u64}; });
      break;
    default:
      outside = none_within(bounds.lo, bounds.hi, [](Scalar one) { return Int128{one.i64}; });
      break;
  }
  if (!outside) return Verdict::kSome;
  if (!node.negated) return Verdict::kNone;
  return bounds.nulls ? Verdict::kSome : Verdict::kAll;
}

BlockFilter::Verdict BlockFilter::JudgeCodes(const BlockValues& values, uint32_t predicate) {
  const PredicateNode& node = plan_.predicates[predicate];
  if (NeverTrue(values, node.value)) return Verdict::kNone;
  if (!plan_.values[node.value].IsColumn()) return Verdict::kSome;
  const SegmentColumn& column = values.column(node.value);
  if (column.dictionary == nullptr) return Verdict::kSome;
  const DictionaryView& dictionary = *column.dictionary;
  CodeTable& table = codes_[predicate];
  // A dictionary only grows, and a segment that has dropped its dictionary never gets one again.
  if (const uint64_t segment = values.segment().id; segment == 0 || table.segment != segment) {
    table.segment = segment;
    table.judged = table.passing = 0;
  }
  table.passes.resize(std::max<size_t>(dictionary.size, 1));
  for (; table.judged < dictionary.size; ++table.judged) {
    const uint32_t code = table.judged;
    const std::string_view text(dictionary.bytes + dictionary.offsets[code],
                                dictionary.offsets[code + 1] - dictionary.offsets[code]);
    const bool passes = Matches(node, text) != node.negated;
    table.passes[code] = passes;
    if (!passes) continue;
    if (table.passing++ == 0) table.first = static_cast<uint16_t>(code);
    table.last = static_cast<uint16_t>(code);
  }
  // An `or` reads its children's tables even if no code passes.
  table.one_run = table.passing > 0 && table.last - table.first + 1u == table.passing;
  if (table.passing == 0) return Verdict::kNone;
  return table.passing == dictionary.size && !values.bounds(node.value).nulls ? Verdict::kAll
                                                                              : Verdict::kSome;
}

bool BlockFilter::Keep(BlockValues& values, uint64_t* mask) {
  for (const uint32_t predicate : active_) {
    if (!KeepOne(values, predicate, mask)) return false;
  }
  return true;
}

bool BlockFilter::KeepOne(BlockValues& values, uint32_t predicate, uint64_t* mask) {
  const PredicateNode& node = plan_.predicates[predicate];
  switch (node.kind) {
    case Kind::kAll:
      return true;
    case Kind::kNone:
      std::fill_n(mask, WordsOf(values), 0);
      return true;
    case Kind::kAnd:
      for (const uint32_t child : node.children) {
        if (!KeepOne(values, child, mask)) return false;
      }
      return true;
    case Kind::kOr:
      return KeepAny(values, node, mask);
    case Kind::kRange:
      return KeepRange(values, node, mask);
    case Kind::kSet:
      return KeepSet(values, node, mask);
    case Kind::kCompare:
      return KeepCompared(values, node, mask);
    case Kind::kString:
      return KeepStrings(values, predicate, mask);
    case Kind::kIsNull:
      return KeepNulls(values, node, mask);
  }
  return true;
}

bool BlockFilter::KeepAny(BlockValues& values, const PredicateNode& node, uint64_t* mask) {
  const uint32_t words = WordsOf(values);
  uint64_t kept[kBlockWords] = {};
  uint64_t left[kBlockWords];  // rows that no child has accepted
  std::copy_n(mask, words, left);
  for (const uint32_t child : node.children) {
    uint64_t taken[kBlockWords];
    std::copy_n(left, words, taken);
    if (!KeepOne(values, child, taken)) return false;
    for (uint32_t w = 0; w < words; ++w) {
      kept[w] |= taken[w];
      left[w] &= ~taken[w];
    }
  }
  std::copy_n(kept, words, mask);
  return true;
}

bool BlockFilter::KeepRange(BlockValues& values, const PredicateNode& node, uint64_t* mask) {
  const BlockVector* const made = values.Evaluate(node.value, mask);
  if (made == nullptr) return false;
  const BlockVector& vector = *made;
  if (vector.validity != nullptr) AndWords(mask, vector.validity, WordsOf(values));
  KeepInRange(vector, values.rows(), node.lo, node.hi, node.negated, mask);
  return true;
}

bool BlockFilter::KeepSet(BlockValues& values, const PredicateNode& node, uint64_t* mask) {
  const BlockVector* const made = values.Evaluate(node.value, mask);
  if (made == nullptr) return false;
  const BlockVector& vector = *made;
  const uint32_t words = WordsOf(values);
  if (vector.validity != nullptr) AndWords(mask, vector.validity, words);
  if (node.set.size() > kSetByVectorsMax) {
    KeepRows(mask, values.rows(),
             [&](uint32_t row) { return InSet(node.set, vector, row) != node.negated; });
    return true;
  }
  uint64_t found[kBlockWords] = {};
  for (const Scalar value : node.set) {
    uint64_t equal[kBlockWords];
    for (uint32_t w = 0; w < words; ++w) equal[w] = mask[w] & ~found[w];
    KeepInRange(vector, values.rows(), value, value, false, equal);
    for (uint32_t w = 0; w < words; ++w) found[w] |= equal[w];
  }
  for (uint32_t w = 0; w < words; ++w) mask[w] &= node.negated ? ~found[w] : found[w];
  return true;
}

bool BlockFilter::KeepCompared(BlockValues& values, const PredicateNode& node, uint64_t* mask) {
  const ValueNode& a_node = plan_.values[node.value];
  const ValueNode& b_node = plan_.values[node.other];
  const uint32_t rows = values.rows();
  if (a_node.value_class == ValueClass::kString) return KeepStringsCompared(values, node, mask);
  const BlockVector* const of_a = values.EvaluateWide(node.value, mask);
  if (of_a == nullptr) return false;
  const BlockVector* const of_b = values.EvaluateWide(node.other, mask);
  if (of_b == nullptr) return false;
  const BlockVector& a = *of_a;
  const BlockVector& b = *of_b;
  for (const uint64_t* const validity : {a.validity, b.validity}) {
    if (validity != nullptr) AndWords(mask, validity, WordsOf(values));
  }
  const auto comparison = static_cast<kernels::Comparison>(node.comparison);
  const bool alike = a.kind == b.kind && a_node.scale == b_node.scale;
  if (alike && a.kind == BlockVector::Kind::kInt64) {
    kernels::KeepCompared(a.i64(), b.i64(), rows, comparison, node.negated, mask);
  } else if (alike && a.kind == BlockVector::Kind::kUint64) {
    kernels::KeepCompared(a.u64(), b.u64(), rows, comparison, node.negated, mask);
  } else if (alike && a.kind == BlockVector::Kind::kDouble) {
    kernels::KeepCompared(a.f64(), b.f64(), rows, comparison, node.negated, mask);
  } else {
    KeepRows(mask, rows, [&](uint32_t row) {
      return Holds(OrderOf(a, a_node.scale, b, b_node.scale, row), node.comparison) != node.negated;
    });
  }
  return true;
}

bool BlockFilter::KeepStringsCompared(BlockValues& values, const PredicateNode& node,
                                      uint64_t* mask) {
  const BlockVector* const a = values.Evaluate(node.value, mask);
  if (a == nullptr) return false;
  const BlockVector* const b = values.Evaluate(node.other, mask);
  if (b == nullptr) return false;
  for (const uint64_t* const validity : {a->validity, b->validity}) {
    if (validity != nullptr) AndWords(mask, validity, WordsOf(values));
  }
  KeepRows(mask, values.rows(), [&](uint32_t row) {
    return Holds(a->strings()[row] <=> b->strings()[row], node.comparison) != node.negated;
  });
  return true;
}

bool BlockFilter::KeepStrings(BlockValues& values, uint32_t predicate, uint64_t* mask) {
  const PredicateNode& node = plan_.predicates[predicate];
  const uint32_t rows = values.rows();
  if (!plan_.values[node.value].IsColumn() || !values.dense()) {
    const BlockVector* const made = values.Evaluate(node.value, mask);
    if (made == nullptr) return false;
    if (made->validity != nullptr) AndWords(mask, made->validity, WordsOf(values));
    KeepRows(mask, rows,
             [&](uint32_t row) { return Matches(node, made->strings()[row]) != node.negated; });
    return true;
  }
  const SegmentColumn& column = values.column(node.value);
  if (const uint64_t* const validity = values.Validity(node.value); validity != nullptr) {
    AndWords(mask, validity, WordsOf(values));
  }
  if (column.dictionary == nullptr) {
    KeepRows(mask, rows, [&](uint32_t row) {
      return Matches(node, StringAt(column, values.base() + row)) != node.negated;
    });
    return true;
  }
  const CodeTable& table = codes_[predicate];
  const auto* const codes = static_cast<const uint16_t*>(column.values) + values.base();
  if (table.one_run) {
    kernels::KeepInRange(codes, rows, table.first, table.last, false, mask);
    return true;
  }
  const uint8_t* const passes = table.passes.data();
  KeepRows(mask, rows, [&](uint32_t row) { return passes[codes[row]] != 0; });
  return true;
}

bool BlockFilter::KeepNulls(BlockValues& values, const PredicateNode& node, uint64_t* mask) {
  const uint64_t* validity = nullptr;
  const ValueNode& value = plan_.values[node.value];
  if (value.IsColumn() && values.dense()) {
    validity = values.Validity(node.value);
  } else {
    const BlockVector* const made = values.Evaluate(node.value, mask);
    if (made == nullptr) return false;
    validity = made->validity;
  }
  for (uint32_t w = 0; w < WordsOf(values); ++w) {
    const uint64_t valid = validity == nullptr ? ~uint64_t{0} : validity[w];
    mask[w] &= node.negated ? valid : ~valid;
  }
  return true;
}

}  // namespace eris::storage
