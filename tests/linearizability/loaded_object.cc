#include "tests/linearizability/loaded_object.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <tuple>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/batch_stream.h"
#include "eris/expression.h"
#include "eris/key_encoding.h"
#include "tests/linearizability/byte_strings.h"
#include "tests/linearizability/carried_stream.h"

namespace eris {
namespace {

LoadedKind KindOf(const std::string& name) {
  for (size_t i = 0; i < std::size(kLoadedKinds); ++i) {
    if (name == kLoadedKinds[i]) return static_cast<LoadedKind>(i);
  }
  Fail("no kind of object: " + name);
}

Schema SchemaOf(LoadedKind kind) {
  switch (kind) {
    case LoadedKind::kInt64:
      return KeyValueSchema(ColumnType::kInt64);
    case LoadedKind::kTwoPart:
      return KeyValueSchema({ColumnType::kUint64, ColumnType::kUint64});
    case LoadedKind::kBytes:
      return KeyValueSchema({}, ColumnType::kBytes);
    default:
      return KeyValueSchema();
  }
}

std::vector<Verb> VerbsOf(LoadedKind kind) {
  std::vector<Verb> verbs = {Verb::kGet, Verb::kGet, Verb::kUpsert, Verb::kUpsert, Verb::kErase};
  if (kind != LoadedKind::kHash) verbs.insert(verbs.end(), 2, Verb::kScan);
  if (kind == LoadedKind::kTable) return verbs;
  verbs.insert(verbs.end(), {Verb::kInsert, Verb::kReplace, Verb::kCas, Verb::kCas});
  if (kind != LoadedKind::kBytes) verbs.insert(verbs.end(), 2, Verb::kAdd);
  return verbs;
}

WriteMode ModeOf(Verb verb) {
  switch (verb) {
    case Verb::kUpsert:
      return WriteMode::kUpsert;
    case Verb::kErase:
      return WriteMode::kErase;
    case Verb::kInsert:
      return WriteMode::kInsertIfAbsent;
    case Verb::kReplace:
      return WriteMode::kReplaceIfPresent;
    case Verb::kCas:
      return WriteMode::kCompareAndSet;
    case Verb::kAdd:
      return WriteMode::kAdd;
    default:
      Fail("a verb that writes nothing");
  }
}

std::vector<uint64_t> KeysOf(absl::Span<const Operation> batch, const Rows& filler = {}) {
  std::vector<uint64_t> keys;
  for (const Operation& one : batch) keys.push_back(one.key);
  keys.insert(keys.end(), filler.keys.begin(), filler.keys.end());
  return keys;
}

void SetRead(Operation& one, bool found, uint64_t value) {
  one.answer = found ? Answer::kYes : Answer::kNo;
  if (found) one.read = value;
}

}  // namespace

void Fail(const std::string& what) {
  std::fprintf(stderr, "linearizability_load: %s\n", what.c_str());
  std::exit(1);
}

void Check(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

LoadedObject::LoadedObject(const std::string& kind, std::string name)
    : kind_(KindOf(kind)), name_(std::move(name)), verbs_(VerbsOf(kind_)) {}

absl::Status LoadedObject::Create(client::Client& client, const Rows& rows) {
  const std::vector<uint64_t> borders = Borders();
  CreateOptions options{.schema = SchemaOf(kind_)};
  if (kind_ == LoadedKind::kHash) options.kind = ObjectKind::kHash;
  if (kind_ == LoadedKind::kTable) options.kind = ObjectKind::kTable;
  options.split_points.assign(borders.begin() + 1, borders.end());
  auto created = client.Create(name_, options);
  if (!created.ok()) return created.status();
  info_ = *std::move(created);
  return client.Write(info_, WriteMode::kUpsert, RowsOf(rows.keys, rows.values).view()).status();
}

std::vector<uint64_t> LoadedObject::Borders() const {
  if (kind_ != LoadedKind::kTwoPart) return {std::begin(kKeys), std::end(kKeys)};
  std::vector<uint64_t> firsts;
  for (size_t i = 0; i < kKeyCount; i += 2) firsts.push_back(PartsOf(kKeys[i]).first);
  return firsts;
}

std::pair<uint64_t, uint64_t> LoadedObject::PartsOf(uint64_t key) {
  if (!IsLoadKey(key)) return {key & ~uint64_t{3}, key};
  const auto i = static_cast<size_t>(std::lower_bound(std::begin(kKeys), std::end(kKeys), key) -
                                     std::begin(kKeys));
  // From 0 to the largest number.
  return {i < 2 ? 0 : kKeys[i | 1], key};
}

client::OwnedRows LoadedObject::KeyColumnsOf(const std::vector<uint64_t>& keys) const {
  std::vector<uint64_t> first, second;
  for (const uint64_t key : keys) {
    switch (kind_) {
      case LoadedKind::kTwoPart:
        first.push_back(PartsOf(key).first);
        second.push_back(key);
        break;
      case LoadedKind::kInt64:
        first.push_back(static_cast<uint64_t>(Int64FromKey(key)));
        break;
      default:
        first.push_back(key);
    }
  }
  client::OwnedRows rows{keys.size(), {client::NumberColumn<uint64_t>(first)}};
  if (!second.empty()) rows.columns.push_back(client::NumberColumn<uint64_t>(second));
  return rows;
}

ColumnBuffers LoadedObject::ValueColumnOf(const std::vector<uint64_t>& values) const {
  if (kind_ != LoadedKind::kBytes) return client::NumberColumn<uint64_t>(values);
  std::vector<std::string> strings;
  for (const uint64_t value : values) strings.push_back(StringOf(value));
  const std::vector<absl::string_view> views(strings.begin(), strings.end());
  return client::StringColumn(views);
}

client::OwnedRows LoadedObject::RowsOf(const std::vector<uint64_t>& keys,
                                       const std::vector<uint64_t>& values) const {
  client::OwnedRows rows = KeyColumnsOf(keys);
  rows.columns.push_back(ValueColumnOf(values));
  return rows;
}

uint64_t LoadedObject::KeyAt(const client::OwnedRows& rows, uint64_t row) const {
  const auto first = rows.Get<uint64_t>(0, row);
  if (kind_ == LoadedKind::kInt64) return KeyFromInt64(static_cast<int64_t>(first));
  if (kind_ != LoadedKind::kTwoPart) return first;
  const auto key = rows.Get<uint64_t>(1, row);
  if (PartsOf(key).first != first) Fail("a scan has answered a key that nobody wrote");
  return key;
}

uint64_t LoadedObject::ValueAt(const client::OwnedRows& rows, size_t column, uint64_t row) const {
  if (kind_ != LoadedKind::kBytes) return rows.Get<uint64_t>(column, row);
  const absl::string_view text = rows.GetString(column, row);
  uint64_t value = 0;
  if (!ValueOf(text, value)) {
    Fail("a string of " + std::to_string(text.size()) + " bytes that nobody wrote");
  }
  return value;
}

template <class Send>
auto LoadedObject::WithWrites(absl::Span<const Operation> batch, const Rows& filler,
                              Send send) const {
  const Verb verb = batch[0].verb;
  if (verb == Verb::kErase) {
    return send(WriteMode::kErase, KeyColumnsOf(KeysOf(batch)).view(), client::RowView());
  }
  std::vector<uint64_t> values, expected;
  for (const Operation& one : batch) values.push_back(one.value);
  for (const uint64_t value : filler.values) values.push_back(verb == Verb::kAdd ? 0 : value);
  const client::OwnedRows rows = RowsOf(KeysOf(batch, filler), values);
  client::OwnedRows wanted;
  if (verb == Verb::kCas) {
    for (const Operation& one : batch) expected.push_back(one.expected);
    expected.insert(expected.end(), filler.values.begin(), filler.values.end());
    wanted = {expected.size(), {ValueColumnOf(expected)}};
  }
  return send(ModeOf(verb), rows.view(), wanted.view());
}

void LoadedObject::SetFound(absl::Span<Operation> batch, const client::LookupResult& found) const {
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!found.executed[i]) continue;  // stays unknown
    SetRead(batch[i], found.found[i], found.found[i] ? ValueAt(found.rows, 0, i) : 0);
  }
}

void LoadedObject::SetWritten(absl::Span<Operation> batch,
                              const client::WriteResult& written) const {
  for (size_t i = 0; i < batch.size(); ++i) {
    Operation& one = batch[i];
    if (!written.executed[i]) {
      one.answer = Answer::kRefused;
      continue;
    }
    const bool conditional = one.verb != Verb::kUpsert && one.verb != Verb::kErase;
    one.answer = !conditional || written.applied[i] ? Answer::kYes : Answer::kNo;
    one.was = written.existed[i];
    if (conditional && (one.was || one.verb == Verb::kAdd))
      one.read = ValueAt(written.values, 0, i);
  }
}

absl::Status LoadedObject::Execute(client::Client& client, absl::Span<Operation> batch) const {
  if (batch[0].verb == Verb::kScan) return Scan(client, batch[0]);
  if (batch[0].verb == Verb::kGet) {
    const auto found = client.Lookup(info_, KeyColumnsOf(KeysOf(batch)).view());
    if (!found.ok()) return found.status();
    SetFound(batch, *found);
    return absl::OkStatus();
  }
  return WithWrites(batch, {}, [&](WriteMode mode, const auto& rows, const auto& expected) {
    const auto written = client.Write(info_, mode, rows, expected);
    if (written.ok()) SetWritten(batch, *written);
    return written.status();
  });
}

std::unique_ptr<LoadedStream> LoadedObject::OpenStream(client::Client& client, bool writes,
                                                       OnError on_error) const {
  if (writes) {
    return std::make_unique<CarriedStream<client::WriteStream, client::WriteResult>>(
        client,
        [this](client::WriteStream& calls, absl::Span<Operation> batch, const Rows& filler) {
          return WithWrites(batch, filler, [&](auto mode, const auto& rows, const auto& expected) {
            return calls.Send(info_, mode, rows, expected);
          });
        },
        [this](auto batch, const auto& written) { SetWritten(batch, written); },
        std::move(on_error));
  }
  return std::make_unique<CarriedStream<client::LookupStream, client::LookupResult>>(
      client,
      [this](client::LookupStream& calls, absl::Span<Operation> batch, const Rows& filler) {
        return calls.Send(info_, KeyColumnsOf(KeysOf(batch, filler)).view());
      },
      [this](auto batch, const auto& found) { SetFound(batch, found); }, std::move(on_error));
}

absl::StatusOr<Rows> LoadedObject::ReadAll(client::Client& client) const {
  return kind_ == LoadedKind::kHash ? LookupAll(client) : Read(client, {});
}

absl::StatusOr<Rows> LoadedObject::Read(client::Client& client, const Query& query) const {
  Rows rows;
  const auto reader = client.Scan(info_, query);
  client::OwnedRows chunk;
  for (;;) {
    const absl::StatusOr<bool> more = reader->Next(chunk);
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    for (uint64_t i = 0; i < chunk.rows; ++i) {
      rows.keys.push_back(KeyAt(chunk, i));
      rows.values.push_back(ValueAt(chunk, chunk.columns.size() - 1, i));
    }
  }
}

absl::Status LoadedObject::Scan(client::Client& client, Operation& one) const {
  Query query;
  if (kind_ == LoadedKind::kTable) {
    query.filter = expressions::Equal(expressions::Column("key"), expressions::Literal(one.key));
  } else {
    KeyRange& range = query.range;
    const bool last = one.key == kKeys[kKeyCount - 1];
    if (kind_ == LoadedKind::kTwoPart) {
      std::tie(range.lo, range.lo_second) = PartsOf(one.key);
      if (!last) range.hi = range.lo, range.hi_second = range.lo_second + 1;
    } else {
      range.lo = one.key;
      if (!last) range.hi = one.key + 1;
    }
  }
  const auto rows = Read(client, query);
  if (!rows.ok()) return rows.status();
  if (rows->keys.size() > 1 || (rows->keys.size() == 1 && rows->keys[0] != one.key)) {
    Fail("a scan of one key has answered another row");
  }
  SetRead(one, !rows->keys.empty(), rows->keys.empty() ? 0 : rows->values[0]);
  return absl::OkStatus();
}

// A hash cannot be scanned, so the rows that it counts must be those that lookups find.
absl::StatusOr<Rows> LoadedObject::LookupAll(client::Client& client) const {
  std::vector<uint64_t> keys(std::begin(kKeys), std::end(kKeys));
  const Rows behind = RowsBehind(0, kKeyCount - 1);
  keys.insert(keys.end(), behind.keys.begin(), behind.keys.end());
  const auto found = client.Lookup(info_, KeyColumnsOf(keys).view());
  if (!found.ok()) return found.status();
  Rows there;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!found->found[i]) continue;
    there.keys.push_back(keys[i]);
    there.values.push_back(ValueAt(found->rows, 0, i));
  }
  // The count follows at the end of the AEUs' turns, so it may be late.
  constexpr absl::Duration kWait = absl::Milliseconds(1);
  uint64_t counted = 0;
  for (int tries = 0; tries < 10'000; ++tries) {
    const auto info = client.Get(name_);
    if (!info.ok()) return info.status();
    counted = info->keys;
    if (counted == there.keys.size()) return there;
    absl::SleepFor(kWait);
  }
  Fail("the hash counts " + std::to_string(counted) + " keys, lookups find " +
       std::to_string(there.keys.size()));
}

}  // namespace eris
