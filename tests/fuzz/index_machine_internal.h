// For IndexMachine's own files.
#ifndef ERIS_TESTS_FUZZ_INDEX_MACHINE_INTERNAL_H_
#define ERIS_TESTS_FUZZ_INDEX_MACHINE_INTERNAL_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/fuzz/index_machine.h"

namespace eris::fuzz {

template <class... Texts>
absl::Status Fault(const Texts&... texts) {
  return absl::InternalError(absl::StrCat(texts...));
}

inline absl::Status ExpectInvalid(const absl::Status& status) {
  if (status.code() == absl::StatusCode::kInvalidArgument) return absl::OkStatus();
  return Fault("an invalid call is answered: ", status.ToString());
}

template <class Call>
absl::Status IndexMachine::Try(const IndexCommand& command, Call call, bool* refused) {
  const uint64_t used = cache().used_bytes();
  cache().ArmFailures(command.FailNth(), command.FailMode());
  const absl::Status status = call();
  cache().ArmFailures(0, memory::FailurePoint::Mode::kOnce);
  *refused = status.code() == absl::StatusCode::kResourceExhausted;
  if (*refused && command.FailNth() == 0) return Fault("refused memory that is there");
  if (*refused && cache().used_bytes() != used) {
    return Fault("a refused call has left ", cache().used_bytes(), " bytes used instead of ", used);
  }
  if (!status.ok() && !*refused) return Fault("fails: ", status.ToString());
  ++(*refused ? coverage_.refused : coverage_.done)[static_cast<unsigned>(command.kind)];
  return absl::OkStatus();
}

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_INDEX_MACHINE_INTERNAL_H_
