// The files of the page, in the program itself: made from server/http/page at build time.
#ifndef ERIS_SERVER_HTTP_PAGE_FILES_H_
#define ERIS_SERVER_HTTP_PAGE_FILES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace eris::server {

struct PageFile {
  absl::string_view path;  // "/eris.js"; "/" is index.html
  absl::string_view type;  // "text/html; charset=utf-8"
  absl::string_view content;
};

absl::Span<const PageFile> PageFiles();

}  // namespace eris::server

#endif  // ERIS_SERVER_HTTP_PAGE_FILES_H_
