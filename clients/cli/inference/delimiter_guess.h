// By which characters a file of delimited text is divided. Pure functions; any thread.
#ifndef ERIS_CLIENTS_CLI_INFERENCE_DELIMITER_GUESS_H_
#define ERIS_CLIENTS_CLI_INFERENCE_DELIMITER_GUESS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/files/delimited.h"
#include "clients/cli/inference/inference.h"

namespace eris::cli {

using Record = std::vector<std::string>;

// The records of a text, at most `records_max`. The last one may be cut off; it is left out.
// `lines`: on which line of the text each begins. `bad`: how many were passed over.
std::vector<Record> RecordsOf(absl::string_view text, bool at_end, const DelimitedFormat& format,
                              size_t records_max, std::vector<size_t>* lines = nullptr,
                              size_t* bad = nullptr);

// How well a delimiter explains a text.
struct Shape {
  size_t fields = 0;   // of most records
  size_t records = 0;  // that have as many
  size_t all = 0;
};
Shape ShapeOf(const std::vector<Record>& records);

// The one by which the most records have the same number of fields, more than one. Of several the
// one with more fields, but the one between numbers with decimal commas.
DelimitedFormat FindDelimiter(const FileSample& sample, char escape);

// Whether more records are good if quotes in quotes are written \".
bool EscapesHelp(const FileSample& sample, DelimitedFormat format);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_INFERENCE_DELIMITER_GUESS_H_
