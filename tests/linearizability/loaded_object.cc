#include "tests/linearizability/loaded_object.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace eris {

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

std::unique_ptr<LoadedObject> MakeLoadedObject(const std::string& kind, const std::string& name) {
  if (kind == "index") return MakeIndex(name);
  if (kind == "hash") return MakeHash(name);
  if (kind == "two_part") return MakeTwoPart(name);
  if (kind == "bytes") return MakeBytes(name);
  if (kind == "table") return MakeTable(name);
  Fail("no kind of object: " + kind);
}

WriteMode ModeOf(Verb verb) {
  switch (verb) {
    case Verb::kInsert:
      return WriteMode::kInsertIfAbsent;
    case Verb::kReplace:
      return WriteMode::kReplaceIfPresent;
    case Verb::kCas:
      return WriteMode::kCompareAndSet;
    case Verb::kAdd:
      return WriteMode::kAdd;
    default:
      Fail("a verb without a mode");
  }
}

std::vector<uint64_t> KeysOf(absl::Span<const Operation> batch, const Rows& filler) {
  std::vector<uint64_t> keys;
  for (const Operation& one : batch) keys.push_back(one.key);
  keys.insert(keys.end(), filler.keys.begin(), filler.keys.end());
  return keys;
}

std::vector<uint64_t> ValuesOf(absl::Span<const Operation> batch, const Rows& filler) {
  std::vector<uint64_t> values;
  for (const Operation& one : batch) values.push_back(one.value);
  if (batch[0].verb == Verb::kAdd) {
    values.resize(values.size() + filler.keys.size(), 0);
  } else {
    values.insert(values.end(), filler.values.begin(), filler.values.end());
  }
  return values;
}

std::vector<uint64_t> ExpectedOf(absl::Span<const Operation> batch, const Rows& filler) {
  std::vector<uint64_t> expected;
  if (batch[0].verb != Verb::kCas) return expected;
  for (const Operation& one : batch) expected.push_back(one.expected);
  expected.insert(expected.end(), filler.values.begin(), filler.values.end());
  return expected;
}

void SetRead(Operation& one, bool found, uint64_t value) {
  one.answer = found ? Answer::kYes : Answer::kNo;
  if (found) one.read = value;
}

void SetScanned(Operation& one, const Rows& rows) {
  if (rows.keys.size() > 1 || (rows.keys.size() == 1 && rows.keys[0] != one.key)) {
    Fail("a scan of one key has answered another row");
  }
  SetRead(one, !rows.keys.empty(), rows.keys.empty() ? 0 : rows.values[0]);
}

void SetExisted(absl::Span<Operation> batch, const client::RowBits& existed) {
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i].answer = Answer::kYes;
    batch[i].was = existed[i];
  }
}

}  // namespace eris
