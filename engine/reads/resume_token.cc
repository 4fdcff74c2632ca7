#include "engine/reads/resume_token.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "storage/table/rows/segment_view.h"
#include "topology/placement.h"

namespace eris::engine {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kIndexMagic = 0x31495345;
constexpr uint32_t kTableMagic = 0x32545345;
constexpr uint32_t kHasHi = 1;
constexpr size_t kTableHeadBytes = 3 * sizeof(uint32_t) + 2 * sizeof(uint64_t);
constexpr size_t kPartBytes = 2 * sizeof(uint32_t) + 7 * sizeof(uint64_t);
static_assert(kTableHeadBytes + topology::kAeusMax * kPartBytes + sizeof(uint64_t) <=
              kResumeBytesMax);
constexpr uint32_t kBegun = 1;
constexpr uint32_t kWrapped = 2;
constexpr uint32_t kDone = 4;

// FNV-1a: against damage and mistakes, not attackers: a forged token gives them no advantage.
class Hash {
 public:
  void Add(const void* data, size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < bytes; ++i) value_ = (value_ ^ at[i]) * 0x100000001b3;
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void Add(T value) { Add(&value, sizeof value); }
  void Add(const std::string& text) {
    Add(text.size());
    Add(text.data(), text.size());
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

void AddTo(Hash& hash, const Value& value) {
  hash.Add(value.index());
  std::visit(
      [&hash](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, Decimal>) {
          hash.Add(one.unscaled);
          hash.Add(one.scale);
        } else if constexpr (std::is_same_v<T, WideDecimal>) {
          hash.Add(one.unscaled.low);
          hash.Add(one.unscaled.high);
          hash.Add(one.scale);
        } else if constexpr (std::is_same_v<T, Date>) {
          hash.Add(one.days);
        } else if constexpr (std::is_same_v<T, Timestamp>) {
          hash.Add(one.micros);
        } else if constexpr (std::is_same_v<T, Bytes>) {
          hash.Add(one.bytes);
        } else if constexpr (!std::is_same_v<T, std::monostate>) {
          hash.Add(one);
        }
      },
      value);
}

// No deeper than kExpressionDepthMax: see FingerprintOf.
void AddTo(Hash& hash, const Expression& expression) {
  hash.Add(expression.kind);
  hash.Add(expression.column);
  AddTo(hash, expression.value);
  hash.Add(expression.number);
  hash.Add(expression.type);
  hash.Add(expression.scale);
  hash.Add(expression.arguments.size());
  for (const Expression& argument : expression.arguments) AddTo(hash, argument);
}

template <class T>
void Append(std::string& token, T value) {
  static_assert(std::is_unsigned_v<T>);
  token.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void Append(std::string& token, const routing::TablePlace& place) {
  Append(token, place.partition);
  Append(token, place.segment);
  Append(token, place.row);
}

uint64_t ChecksumOf(absl::string_view text) {
  Hash hash;
  hash.Add(text.data(), text.size());
  return hash.value();
}

absl::Status Damaged(absl::string_view what) {
  return Error(ErrorReason::kResumeTokenInvalid,
               absl::StrCat("the resume token is none of a scan of ", what, ", or damaged"));
}

class Reader {
 public:
  explicit Reader(absl::string_view text) : text_(text) {}
  template <class T>
  T Take() {
    T value{};
    if (text_.size() < sizeof value) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, text_.data(), sizeof value);
    text_.remove_prefix(sizeof value);
    return value;
  }
  routing::TablePlace TakePlace() {
    routing::TablePlace place;
    place.partition = Take<uint64_t>();
    place.segment = Take<uint64_t>();
    place.row = Take<uint64_t>();
    // A position is at most one after a segment's last row.
    failed_ |= place.row > storage::kSegmentRows;
    return place;
  }
  bool ok() const { return !failed_; }
  // the text ended exactly, and nothing was missing
  bool Done() const { return ok() && text_.empty(); }

 private:
  absl::string_view text_;
  bool failed_ = false;
};

// A reader of the content after the magic. Errors: InvalidArgument.
absl::StatusOr<Reader> Open(absl::string_view token, uint32_t magic, absl::string_view what) {
  if (token.size() < sizeof(uint64_t)) return Damaged(what);
  const absl::string_view text = token.substr(0, token.size() - sizeof(uint64_t));
  Reader sum(token.substr(text.size()));
  if (sum.Take<uint64_t>() != ChecksumOf(text)) return Damaged(what);
  Reader reader(text);
  if (reader.Take<uint32_t>() != magic) return Damaged(what);
  return reader;
}

void AppendBody(std::string& token, const IndexResume& resume) {
  Append(token, kIndexMagic);
  Append(token, resume.object.value);
  Append(token, resume.query);
  Append(token, resume.rest.hi ? kHasHi : 0u);
  Append(token, resume.rest.lo);
  Append(token, resume.rest.lo_second);
  Append(token, resume.rest.hi.value_or(0));
  Append(token, resume.rest.hi_second);
}

void AppendBody(std::string& token, const TableResume& resume) {
  token.reserve(kTableHeadBytes + resume.parts.size() * kPartBytes + sizeof(uint64_t));
  Append(token, kTableMagic);
  Append(token, resume.object.value);
  Append(token, resume.query);
  Append(token, resume.snapshot);
  Append(token, static_cast<uint32_t>(resume.parts.size()));
  for (const TablePartState& part : resume.parts) {
    Append(token, part.owner.value);
    Append(token, (part.cursor.chosen ? kBegun : 0) | (part.cursor.wrapped ? kWrapped : 0) |
                      (part.done ? kDone : 0));
    Append(token, part.cursor.at);
    Append(token, part.cursor.began);
    Append(token, part.cursor.skip);
  }
}

}  // namespace

uint64_t FingerprintOf(const Query& query) {
  Hash hash;
  hash.Add(query.range.lo);
  hash.Add(query.range.lo_second);
  hash.Add(query.range.hi.has_value());
  hash.Add(query.range.hi.value_or(0));
  hash.Add(query.range.hi_second);
  hash.Add(query.direction);
  const ValueRange values = query.values.value_or(ValueRange{});
  hash.Add(values.lo);
  hash.Add(values.last);
  hash.Add(query.filter.has_value());
  if (query.filter) AddTo(hash, *query.filter);
  hash.Add(query.columns.size());
  for (const NamedExpression& column : query.columns) {
    AddTo(hash, column.expression);
    hash.Add(column.name);
  }
  const TableShare share = query.share.value_or(TableShare{});
  hash.Add(query.share.has_value());
  hash.Add(share.aeu.value);
  hash.Add(share.index);
  hash.Add(share.count);
  return hash.value();
}

std::string ToToken(const ResumePoint& resume) {
  std::string token;
  if (const auto* index = std::get_if<IndexResume>(&resume)) AppendBody(token, *index);
  if (const auto* table = std::get_if<TableResume>(&resume)) AppendBody(token, *table);
  if (!token.empty()) Append(token, ChecksumOf(token));
  return token;
}

absl::StatusOr<IndexResume> IndexResumeFrom(absl::string_view token) {
  ERIS_ASSIGN_OR_RETURN(Reader reader, Open(token, kIndexMagic, "an index"));
  IndexResume resume;
  resume.object.value = reader.Take<uint32_t>();
  resume.query = reader.Take<uint64_t>();
  const auto flags = reader.Take<uint32_t>();
  resume.rest.lo = reader.Take<uint64_t>();
  resume.rest.lo_second = reader.Take<uint64_t>();
  const auto hi = reader.Take<uint64_t>();
  if (flags == kHasHi) resume.rest.hi = hi;
  resume.rest.hi_second = reader.Take<uint64_t>();
  const bool possible = flags <= kHasHi && !resume.rest.Inverted() &&
                        (resume.rest.hi || (hi == 0 && resume.rest.hi_second == 0));
  if (!reader.Done() || !possible) return Damaged("an index");
  return resume;
}

absl::StatusOr<TableResume> TableResumeFrom(absl::string_view token) {
  ERIS_ASSIGN_OR_RETURN(Reader reader, Open(token, kTableMagic, "a table"));
  TableResume resume;
  resume.object.value = reader.Take<uint32_t>();
  resume.query = reader.Take<uint64_t>();
  resume.snapshot = reader.Take<uint64_t>();
  const auto parts = reader.Take<uint32_t>();
  for (uint32_t i = 0; i < parts && reader.ok(); ++i) {
    TablePartState& part = resume.parts.emplace_back();
    part.owner.value = reader.Take<uint32_t>();
    const auto flags = reader.Take<uint32_t>();
    part.cursor.chosen = (flags & kBegun) != 0;
    part.cursor.wrapped = (flags & kWrapped) != 0;
    part.done = (flags & kDone) != 0;
    part.cursor.at = reader.TakePlace();
    part.cursor.began = reader.TakePlace();
    part.cursor.skip = reader.Take<uint64_t>();
    const bool possible = part.cursor.began.row % storage::kBlockRows == 0 &&
                          (part.cursor.wrapped || part.cursor.at >= part.cursor.began);
    if (flags > (kBegun | kWrapped | kDone) || !possible) return Damaged("a table");
  }
  if (!reader.Done()) return Damaged("a table");
  return resume;
}

}  // namespace eris::engine
