#include "server/access/token_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "server/access/token_hash.h"
#include "server/access/watched_files.h"

namespace eris::server {
namespace {

constexpr absl::string_view kNever = "never";

absl::Status Wrong(absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(message));
}

// The message does not quote it: a token may have been put there by mistake.
absl::StatusOr<std::string> CredentialFrom(absl::string_view field) {
  const std::string lower = absl::AsciiStrToLower(field);
  if (HashFromHex(lower)) return lower;
  if (absl::StartsWith(field, kCertificatePrefix) && field.size() > kCertificatePrefix.size()) {
    return std::string(field);
  }
  return Wrong("the first field must be 64 hex digits or certificate:<name>");
}

absl::StatusOr<Caller> CallerFrom(absl::string_view line) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (fields.size() != 5) {
    return Wrong(
        absl::StrCat(fields.size(), " fields, must be 5: credential, name, role, objects, expiry"));
  }
  Caller caller{.name = std::string(fields[1]), .patterns = absl::StrSplit(fields[3], ',')};
  ERIS_ASSIGN_OR_RETURN(caller.credential, CredentialFrom(fields[0]));
  const std::optional<Role> role = RoleFrom(fields[2]);
  if (!role) {
    return Wrong(absl::StrCat("the role is \"", fields[2].substr(0, kCallerNameBytesMax),
                              "\", must be reader, writer or admin"));
  }
  caller.role = *role;
  ERIS_RETURN_IF_ERROR(CheckCaller(caller));
  if (fields[4] == kNever) return caller;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, fields[4], &caller.expires, &error)) return caller;
  return Wrong("the expiry must be never, or a time such as 2027-01-31T00:00:00Z");
}

// 0, or why it failed. One write may take only a part of the text, for example if the disk is full:
// the next one then tells why.
int WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0) return errno;
    if (written == 0) return EIO;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// The tokens file while it is changed: other changes wait.
class LockedFile {
 public:
  static absl::StatusOr<LockedFile> Open(const std::string& path) {
    for (;;) {
      const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
      if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("tokens file ", path));
      LockedFile file(path, fd);
      if (flock(fd, LOCK_EX) != 0) {
        return absl::ErrnoToStatus(errno, absl::StrCat("tokens file ", path, ": lock"));
      }
      // Another change may have replaced it meanwhile.
      struct stat named = {};
      if (fstat(fd, &file.status_) == 0 && stat(path.c_str(), &named) == 0 &&
          named.st_ino == file.status_.st_ino && named.st_dev == file.status_.st_dev) {
        return file;
      }
    }
  }
  LockedFile(LockedFile&& other) noexcept
      : path_(other.path_), fd_(std::exchange(other.fd_, -1)), status_(other.status_) {}
  LockedFile& operator=(LockedFile&&) = delete;
  ~LockedFile() {
    if (fd_ >= 0) close(fd_);
  }

  // With its permissions and, if this process may give files away, its owner.
  absl::Status Replace(const std::string& text) {
    const std::string temporary = absl::StrCat(path_, ".", getpid(), ".new");
    const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("tokens file ", temporary));
    int error = 0;
    if (fchown(fd, status_.st_uid, status_.st_gid) != 0 && errno != EPERM) error = errno;
    if (error == 0) error = WriteAll(fd, text);
    if (error == 0 && (fchmod(fd, status_.st_mode & 0777) != 0 || fsync(fd) != 0)) error = errno;
    close(fd);
    if (error == 0 && std::rename(temporary.c_str(), path_.c_str()) != 0) error = errno;
    if (error == 0) return absl::OkStatus();
    std::remove(temporary.c_str());
    return absl::ErrnoToStatus(error, absl::StrCat("tokens file ", path_));
  }

 private:
  LockedFile(const std::string& path, int fd) : path_(path), fd_(fd) {}
  std::string path_;
  int fd_;
  struct stat status_ = {};
};

// `change` gets the text of the file and its callers, and changes the text.
absl::Status ChangeTokensFile(
    const std::string& path,
    const std::function<absl::Status(const std::vector<Caller>&, std::string&)>& change) {
  ERIS_ASSIGN_OR_RETURN(LockedFile file, LockedFile::Open(path));
  ERIS_ASSIGN_OR_RETURN(std::string text, ReadTokensFile(path));
  ERIS_ASSIGN_OR_RETURN(const std::vector<Caller> callers, ParseTokens(text, path));
  ERIS_RETURN_IF_ERROR(change(callers, text));
  return file.Replace(text);
}

bool HasName(const std::vector<Caller>& callers, absl::string_view name) {
  return std::any_of(callers.begin(), callers.end(),
                     [&](const Caller& caller) { return caller.name == name; });
}

}  // namespace

absl::Status CheckCaller(const Caller& caller) {
  const auto plain = [](char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-' || c == '@';
  };
  if (caller.name.empty() || caller.name.size() > kCallerNameBytesMax ||
      !std::all_of(caller.name.begin(), caller.name.end(), plain)) {
    return Wrong(absl::StrCat("a name has 1 to ", kCallerNameBytesMax,
                              " letters, digits, dots, hyphens, underscores or @"));
  }
  size_t bytes = 0;
  for (const std::string& pattern : caller.patterns) {
    bytes += pattern.size();
    const bool spaces = std::any_of(pattern.begin(), pattern.end(), [](char c) {
      return absl::ascii_isspace(c) || absl::ascii_iscntrl(c) || c == '#' || c == ',';
    });
    if (pattern.empty() || spaces || bytes > kPatternsBytesMax) {
      return Wrong(
          absl::StrCat("objects are patterns such as orders* with commas between them, without "
                       "spaces and #, in at most ",
                       kPatternsBytesMax, " bytes"));
    }
  }
  const bool spaces = std::any_of(caller.credential.begin(), caller.credential.end(), [](char c) {
    return absl::ascii_isspace(c) || absl::ascii_iscntrl(c) || c == '#';
  });
  if (!caller.has_certificate() || !spaces) return absl::OkStatus();
  return Wrong("the name of a certificate must have no spaces and no #");
}

absl::StatusOr<std::vector<Caller>> ParseTokens(absl::string_view text, absl::string_view source) {
  std::vector<Caller> callers;
  std::set<std::string, std::less<>> names;
  std::set<std::string, std::less<>> credentials;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto at = [&](absl::string_view message) {
      return Wrong(absl::StrCat(source, ":", number, ": ", message));
    };
    absl::StatusOr<Caller> caller = CallerFrom(line);
    if (!caller.ok()) return at(caller.status().message());
    if (!names.insert(caller->name).second) {
      return at(absl::StrCat("the name \"", caller->name, "\" is there twice"));
    }
    if (!credentials.insert(caller->credential).second) {
      return at(absl::StrCat("the credential of \"", caller->name, "\" is there twice"));
    }
    callers.push_back(*std::move(caller));
  }
  return callers;
}

absl::StatusOr<std::string> ReadTokensFile(const std::string& path) {
  return ReadFile("tokens file", path, kTokensFileBytesMax);
}

std::string TokenLine(const Caller& caller) {
  return absl::StrCat(caller.credential, " ", caller.name, " ", RoleName(caller.role), " ",
                      absl::StrJoin(caller.patterns, ","), " ", ExpiryText(caller.expires), "\n");
}

absl::StatusOr<absl::Time> ExpiryFrom(absl::string_view text, absl::Time now) {
  if (text == kNever) return absl::InfiniteFuture();
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  if (absl::ParseTime("%Y-%m-%d", text, &time, &error)) return time;
  absl::string_view days = text;
  uint32_t count = 0;
  absl::Duration duration;
  if (absl::ConsumeSuffix(&days, "d") && absl::SimpleAtoi(days, &count)) {
    return now + absl::Hours(24) * count;
  }
  if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) {
    return now + duration;
  }
  return Wrong(absl::StrCat("the expiry is \"", text,
                            "\", must be never, a date such as 2027-01-31, a time such as "
                            "2027-01-31T12:00:00Z, or a duration such as 90d or 12h"));
}

std::string ExpiryText(absl::Time expires) {
  if (expires == absl::InfiniteFuture()) return std::string(kNever);
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", expires, absl::UTCTimeZone());
}

absl::Status AddToTokensFile(const std::string& path, const Caller& caller) {
  ERIS_RETURN_IF_ERROR(CheckCaller(caller));
  return ChangeTokensFile(path, [&](const std::vector<Caller>& callers, std::string& text) {
    if (HasName(callers, caller.name)) {
      return absl::AlreadyExistsError(
          absl::StrCat(path, " has the name \"", caller.name, "\" already"));
    }
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += TokenLine(caller);
    return ParseTokens(text, path).status();  // for example a certificate that is there
  });
}

absl::Status RemoveFromTokensFile(const std::string& path, absl::string_view name) {
  if (access(path.c_str(), F_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("tokens file ", path));
  }
  return ChangeTokensFile(path, [&](const std::vector<Caller>& callers, std::string& text) {
    if (!HasName(callers, name)) {
      return absl::NotFoundError(absl::StrCat(path, " has no name \"", name, "\""));
    }
    std::string rest;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const auto of_line = ParseTokens(line, path);
      if (of_line.ok() && HasName(*of_line, name)) continue;
      absl::StrAppend(&rest, line, "\n");
    }
    rest.pop_back();  // StrSplit has found an empty line after the last end
    text = std::move(rest);
    return absl::OkStatus();
  });
}

}  // namespace eris::server
