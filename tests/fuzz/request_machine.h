// Runs bytes as a request of eris.v1 through what the server does before an engine sees it: the
// size that it will take is estimated, it is parsed, and what it says becomes the engine's own
// types. request_fuzz.cc brings this to libFuzzer, request_fuzz_test.cc runs some of it in every
// build.
//
//   0       1        2
//   +-------+--------+---------------------+
//   | type  | object | the request's bytes |
//   +-------+--------+---------------------+
//     u8      u8: kind and schema of the object that it is about
#ifndef ERIS_TESTS_FUZZ_REQUEST_MACHINE_H_
#define ERIS_TESTS_FUZZ_REQUEST_MACHINE_H_

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace eris::fuzz {

// Faults that are not in the server, to see that they are found. kShortEstimate: the estimate is
// eight times the request's bytes, which messages in messages exceed.
enum class RequestPlant { kNone = 0, kShortEstimate = 1 };

// Errors: Internal (a message takes more memory than was estimated; a query that can be read cannot
// be written and read again; an error that readers must not return), with what was wrong.
absl::Status RunRequestBytes(std::string_view bytes, RequestPlant plant = RequestPlant::kNone);

// One of each type of request, with most of its fields.
std::vector<std::string> RequestSeeds();

// The request with up to four changes: bytes set, inserted, removed or repeated.
std::string ChangedRequest(std::string_view bytes, std::mt19937_64& random);

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_REQUEST_MACHINE_H_
