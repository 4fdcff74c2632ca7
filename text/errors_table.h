// The reasons of errors as a page of the guide. Pure; any thread.
#ifndef ERIS_TEXT_ERRORS_TABLE_H_
#define ERIS_TEXT_ERRORS_TABLE_H_

#include <string>

namespace eris::text {

// All of eris/errors.h as tables of docs/guide/errors.md, one for each code.
std::string ErrorsTable();

}  // namespace eris::text

#endif  // ERIS_TEXT_ERRORS_TABLE_H_
