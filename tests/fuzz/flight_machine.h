// Runs bytes as the messages of a stream of Arrow Flight through the reader of Arrow's columns, and
// changes such streams at random. The reader may refuse anything, but what it hands out lies within
// the message or in copies, and keeps the rules that the engine relies on. flight_fuzz.cc brings
// this to libFuzzer, flight_fuzz_test.cc runs some of it in every build.
//
//   0        1              3
//   +--------+--------------+------------+--------------+------------+---
//   | schema | bytes of it  | FlightData | bytes of it  | FlightData | ...
//   +--------+--------------+------------+--------------+------------+---
//     u8       u16            a schema     u16            rows
#ifndef ERIS_TESTS_FUZZ_FLIGHT_MACHINE_H_
#define ERIS_TESTS_FUZZ_FLIGHT_MACHINE_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace eris::fuzz {

// Errors: Internal (the reader has handed out what breaks a rule, or an error that it must not
// return), with what was wrong. `read`: how many batches it has taken.
absl::Status RunFlightBytes(std::string_view bytes, int* read = nullptr);

// Streams that are read to their end: all types and conversions, nulls, several batches.
std::vector<std::string> FlightSeeds();

// The stream with up to four changes: bytes, or numbers of 2 to 8 bytes where such may lie.
std::string ChangedFlight(std::string_view bytes, std::mt19937_64& random);

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_FLIGHT_MACHINE_H_
