// "did you mean": finds the name that a mistyped one resembles. Any thread, no state.
#ifndef ERIS_TEXT_NEAREST_H_
#define ERIS_TEXT_NEAREST_H_

#include <string>
#include <vector>

namespace eris::text {

// The name that `text` resembles most; empty: none is similar.
std::string NearestOf(const std::vector<std::string>& names, const std::string& text);

}  // namespace eris::text

#endif  // ERIS_TEXT_NEAREST_H_
