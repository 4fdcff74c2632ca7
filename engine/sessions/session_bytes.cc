// SessionImpl's byte-string forms: strings become words whose records the request holds, so that
// they travel like u64 values; answers become strings again once all are in.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/sessions/batch_checks.h"
#include "engine/sessions/session_impl.h"
#include "storage/byte_value.h"

namespace eris::engine {
namespace {

using routing::CommandType;
using Strings = absl::Span<const absl::string_view>;

// Adds up what the strings take. Errors: InvalidArgument (a string, or what there is so far, too
// long).
absl::Status Measure(absl::string_view what, absl::Span<const uint64_t> keys, Strings strings,
                     uint64_t& string_bytes, uint64_t& record_bytes) {
  for (size_t i = 0; i < strings.size(); ++i) {
    const size_t length = strings[i].size();
    if (length > kValueBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(what, " ", i, ", of key ", keys[i], ", has ",
                                                     length, " bytes; a value has at most ",
                                                     kValueBytesMax));
    }
    string_bytes += length;
    if (string_bytes > kBatchValueBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("the values of a batch have at most ", kBatchValueBytesMax, " bytes; with ",
                       what, " ", i, ", of key ", keys[i], ", they have ", string_bytes));
    }
    record_bytes += storage::LongRecordBytes(length);
  }
  return absl::OkStatus();
}

// Appends the strings' words; the records go to `at`.
uint64_t* ToWords(Strings strings, uint64_t* at, std::vector<uint64_t>& words) {
  words.reserve(strings.size());
  for (const absl::string_view string : strings) {
    if (string.size() <= storage::kShortBytesMax) {
      words.push_back(storage::ShortWord(string));
      continue;
    }
    words.push_back(storage::WriteRecord(at, string));
    at += storage::RecordBytes(string.size()) / sizeof(uint64_t);
  }
  return at;
}

// The type of a conditional write, its shapes checked. Errors: InvalidArgument.
absl::StatusOr<CommandType> BytesTypeOf(const BytesWriteBatch& batch) {
  ERIS_ASSIGN_OR_RETURN(const CommandType type, TypeOf(batch.mode));
  if (type == CommandType::kAdd) {
    return absl::InvalidArgumentError("byte strings cannot be added to");
  }
  ERIS_RETURN_IF_ERROR(CheckEqual("values", batch.values.size(), batch.keys.size()));
  const size_t expected = routing::HasExpected(type) ? batch.keys.size() : 0;
  if (batch.expected.size() == expected) return type;
  return absl::InvalidArgumentError(
      absl::StrCat("compare-and-set needs as many expected values as keys, other modes none: ",
                   batch.expected.size(), " for ", batch.keys.size(), " keys"));
}

void FillWithZero(absl::Span<uint8_t> bytes) { std::fill(bytes.begin(), bytes.end(), 0); }

}  // namespace

absl::StatusOr<ColumnType> SessionImpl::ValueTypeOf(absl::string_view object) try {
  ERIS_ASSIGN_OR_RETURN(const ObjectRef entry, ResolveIndex(object));
  return entry->value_type;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<RequestPtr> SessionImpl::BeginBytes(CommandType type, absl::string_view object,
                                                   const BytesWriteBatch& batch, uint64_t bytes_max,
                                                   WordColumns& words) {
  uint64_t string_bytes = 0;
  uint64_t record_bytes = 0;
  ERIS_RETURN_IF_ERROR(Measure("value", batch.keys, batch.values, string_bytes, record_bytes));
  ERIS_RETURN_IF_ERROR(
      Measure("expected value", batch.keys, batch.expected, string_bytes, record_bytes));
  ERIS_ASSIGN_OR_RETURN(RequestPtr request, Begin(type, object, batch.keys, ColumnType::kString,
                                                  static_cast<int64_t>(record_bytes)));
  try {
    // Not filled before it is written.
    std::unique_ptr<uint64_t[]> records(new uint64_t[record_bytes / sizeof(uint64_t)]);
    uint64_t* const behind = ToWords(batch.values, records.get(), words.values);
    ToWords(batch.expected, behind, words.expected);
    request->HoldRecords(std::move(records));
  } catch (const std::bad_alloc&) {
    return base::NoMemory("the system has no memory for a copy of the values");
  }
  if (routing::AnswersValues(type)) {
    request->AnswerBytes(std::min<uint64_t>(bytes_max, kBatchValueBytesMax));
  }
  return request;
}

absl::Status SessionImpl::RunBytes(CommandType type, absl::string_view object,
                                   const BytesWriteBatch& batch, const BytesWriteColumns& out,
                                   absl::Time deadline) {
  WordColumns words;
  ERIS_ASSIGN_OR_RETURN(RequestPtr request,
                        BeginBytes(type, object, batch, kBatchValueBytesMax, words));
  ERIS_RETURN_IF_ERROR(RunToEnd(*request, {batch.keys, words.values, words.expected}, deadline));
  // Also when some keys were refused: the others count.
  request->CopyPresence(out.existed);
  request->CopyApplied(out.applied);
  request->CopyExecuted(out.executed);
  if (out.values != nullptr) {
    try {
      out.values->offsets.resize(batch.keys.size() + 1);
      request->CopyBytes(out.values->offsets.data(), out.values->data);
    } catch (const std::bad_alloc&) {
      *out.values = {};
      return NoMemoryFor(batch.keys.size());
    }
  }
  uint32_t refused = 0;
  return request->Outcome(core_.limits, refused);
}

absl::Status SessionImpl::LookupBytes(absl::string_view object, absl::Span<const uint64_t> keys,
                                      BytesColumn& values, absl::Span<uint8_t> found,
                                      absl::Span<uint8_t> executed, absl::Time deadline) try {
  ERIS_RETURN_IF_ERROR(CheckEqual("found bytes", found.size(), keys.size()));
  ERIS_RETURN_IF_ERROR(CheckOutput("executed bytes", executed.size(), keys.size()));
  return RunBytes(CommandType::kLookup, object, {.keys = keys},
                  {.existed = found, .executed = executed, .values = &values}, deadline);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status SessionImpl::UpsertBytes(absl::string_view object, absl::Span<const uint64_t> keys,
                                      Strings values, absl::Span<uint8_t> existed,
                                      absl::Time deadline) try {
  ERIS_RETURN_IF_ERROR(CheckEqual("values", values.size(), keys.size()));
  ERIS_RETURN_IF_ERROR(CheckOutput("existed bytes", existed.size(), keys.size()));
  return RunBytes(CommandType::kUpsert, object, {.keys = keys, .values = values},
                  {.existed = existed}, deadline);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status SessionImpl::WriteBytes(absl::string_view object, const BytesWriteBatch& batch,
                                     const BytesWriteColumns& out, absl::Time deadline) try {
  const size_t n = batch.keys.size();
  ERIS_RETURN_IF_ERROR(CheckOutput("applied bytes", out.applied.size(), n));
  ERIS_RETURN_IF_ERROR(CheckOutput("existed bytes", out.existed.size(), n));
  ERIS_RETURN_IF_ERROR(CheckOutput("executed bytes", out.executed.size(), n));
  FillWithZero(out.applied);
  FillWithZero(out.existed);
  FillWithZero(out.executed);
  if (out.values != nullptr) *out.values = {};
  ERIS_ASSIGN_OR_RETURN(const CommandType type, BytesTypeOf(batch));
  return RunBytes(type, object, batch, out, deadline);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::StartBytes(CommandType type,
                                                                 absl::string_view object,
                                                                 const BytesWriteBatch& batch,
                                                                 uint64_t bytes_max,
                                                                 Callback done) {
  WordColumns words;
  ERIS_ASSIGN_OR_RETURN(RequestPtr request, BeginBytes(type, object, batch, bytes_max, words));
  return Start(std::move(request), {batch.keys, words.values, words.expected}, std::move(done));
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::LookupBytesAsync(
    absl::string_view object, absl::Span<const uint64_t> keys, uint64_t bytes_max,
    Callback done) try {
  return StartBytes(CommandType::kLookup, object, {.keys = keys}, bytes_max, std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::UpsertBytesAsync(
    absl::string_view object, absl::Span<const uint64_t> keys, Strings values, Callback done) try {
  ERIS_RETURN_IF_ERROR(CheckEqual("values", values.size(), keys.size()));
  return StartBytes(CommandType::kUpsert, object, {.keys = keys, .values = values}, 0,
                    std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::WriteBytesAsync(absl::string_view object,
                                                                      const BytesWriteBatch& batch,
                                                                      Callback done) try {
  ERIS_ASSIGN_OR_RETURN(const CommandType type, BytesTypeOf(batch));
  return StartBytes(type, object, batch, kBatchValueBytesMax, std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

}  // namespace eris::engine
