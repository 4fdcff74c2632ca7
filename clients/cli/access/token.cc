// eris token: the file of tokens that a server reads. It asks no server.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "server/access/token_file.h"
#include "server/access/token_hash.h"

namespace eris::cli {
namespace {

struct TokenFlags {
  std::string file;
  std::string name;
  std::string role;
  std::string objects = "*";
  std::string expires = "never";
  std::string certificate;
};

// A caller of the file, with its new token if it is not a certificate.
struct NewCaller {
  server::Caller caller;
  std::string token;
};

absl::StatusOr<NewCaller> CallerOf(const TokenFlags& flags) {
  NewCaller made;
  made.caller.name = flags.name;
  made.caller.role = *server::RoleFrom(flags.role);  // the flag has been checked
  made.caller.patterns = absl::StrSplit(flags.objects, ',');
  const absl::StatusOr<absl::Time> expires = server::ExpiryFrom(flags.expires, absl::Now());
  if (!expires.ok()) return expires.status();
  made.caller.expires = *expires;
  if (!flags.certificate.empty()) {
    made.caller.credential = absl::StrCat(server::kCertificatePrefix, flags.certificate);
    if (flags.name.empty()) made.caller.name = flags.certificate;
    return made;
  }
  absl::StatusOr<std::string> token = server::NewToken();
  if (!token.ok()) return token.status();
  made.token = *std::move(token);
  made.caller.credential = server::HexOf(server::HashOf(made.token));
  constexpr size_t kDigits = 8;
  if (flags.name.empty()) {
    made.caller.name = absl::StrCat(flags.role, "-", made.caller.credential.substr(0, kDigits));
  }
  return made;
}

const char* KindOf(const server::Caller& caller) {
  return caller.has_certificate() ? "certificate" : "token";
}

Json CallerJson(const server::Caller& caller) {
  return Json{{"name", caller.name},
              {"kind", KindOf(caller)},
              {"role", server::RoleName(caller.role)},
              {"objects", absl::StrJoin(caller.patterns, ",")},
              {"expires", server::ExpiryText(caller.expires)},
              {"expired", caller.expires <= absl::Now()}};
}

int RunNew(const Cli& cli, const TokenFlags& flags) {
  const absl::StatusOr<NewCaller> made = CallerOf(flags);
  if (!made.ok()) return Report(made.status());
  const absl::Status added = server::AddToTokensFile(flags.file, made->caller);
  if (!added.ok()) return Report(added);
  Output output;
  if (cli.json()) {
    Json json = CallerJson(made->caller);
    if (!made->token.empty()) json["token"] = made->token;
    output.WriteJson(json);
  } else if (!made->token.empty()) {
    output.Write(absl::StrCat(made->token, "\n"));
  }
  std::fprintf(stderr, "eris: added \"%s\" with role %s for \"%s\", expires: %s, to %s%s\n",
               made->caller.name.c_str(), flags.role.c_str(), flags.objects.c_str(),
               server::ExpiryText(made->caller.expires).c_str(), flags.file.c_str(),
               made->token.empty() ? "" : "; the token is shown only now");
  return output.Finish(kExitOk);
}

absl::StatusOr<std::vector<server::Caller>> ReadCallers(const std::string& file) {
  const absl::StatusOr<std::string> text = server::ReadTokensFile(file);
  if (!text.ok()) return text.status();
  return server::ParseTokens(*text, file);
}

int RunList(const Cli& cli, const TokenFlags& flags) {
  const absl::StatusOr<std::vector<server::Caller>> callers = ReadCallers(flags.file);
  if (!callers.ok()) return Report(callers.status());
  Output output;
  if (cli.json()) {
    Json list = Json::Array();
    for (const server::Caller& caller : *callers) list.push_back(CallerJson(caller));
    output.WriteJson(list);
    return output.Finish(kExitOk);
  }
  TextTable table(
      {{"NAME", false}, {"KIND", false}, {"ROLE", false}, {"OBJECTS", false}, {"EXPIRES", false}});
  for (const server::Caller& caller : *callers) {
    const bool expired = caller.expires <= absl::Now();
    table.Add({caller.name, KindOf(caller), std::string(server::RoleName(caller.role)),
               absl::StrJoin(caller.patterns, ","),
               absl::StrCat(server::ExpiryText(caller.expires), expired ? " (expired)" : "")});
  }
  output.Write(table.ToString());
  return output.Finish(kExitOk);
}

int RunRevoke(const TokenFlags& flags) {
  const absl::Status removed = server::RemoveFromTokensFile(flags.file, flags.name);
  if (!removed.ok()) return Report(removed);
  std::fprintf(stderr, "eris: revoked \"%s\" in %s; a server notices within two seconds\n",
               flags.name.c_str(), flags.file.c_str());
  return kExitOk;
}

void AddFile(Flags& verb, TokenFlags& flags) {
  verb.Add("--file", flags.file, "The file of tokens, as the server's security.tokens_file")
      .Env("ERIS_SECURITY_TOKENS_FILE")
      .Required();
}

}  // namespace

void AddToken(Flags& program, Cli& cli) {
  auto flags = std::make_shared<TokenFlags>();
  Flags& verb = program.AddVerb("token", "Make, list and revoke the tokens that a server accepts");
  verb.RequireVerb();
  verb.SetFooter(
      "These verbs change the server's file of tokens, on the server's machine. The server reads\n"
      "it again within two seconds. The file has no tokens, only their SHA-256.\n"
      "\n"
      "Examples:\n"
      "  eris token new --role writer --objects 'orders*' --expires 90d --file /etc/eris/tokens\n"
      "  eris token new --role admin --certificate ops.example.com --file /etc/eris/tokens\n"
      "  eris token list --file /etc/eris/tokens\n"
      "  eris token revoke writer-1f2e3d4c --file /etc/eris/tokens\n");
  Flags& make = verb.AddVerb("new", "Print a new token, and add its hash to the file");
  AddFile(make, *flags);
  make.Add("--role", flags->role, "reader, writer or admin; each may do what those before it may")
      .Check(OneOf({"reader", "writer", "admin"}))
      .Required();
  make.Add("--objects", flags->objects,
           "The objects for which it has the role: names, where * is any text, separated by commas")
      .ShowDefault();
  make.Add("--expires", flags->expires,
           "never, a date such as 2027-01-31, a time as in RFC 3339, or 90d, 12h")
      .ShowDefault();
  make.Add("--name", flags->name, "For messages and for revoking; default: role and hash");
  make.Add("--certificate", flags->certificate,
           "Instead of a token: the common or alternative name of a client's certificate");
  make.SetRun([flags, &cli] { return RunNew(cli, *flags); });
  Flags& list = verb.AddVerb("list", "Show all names with their roles");
  AddFile(list, *flags);
  list.SetRun([flags, &cli] { return RunList(cli, *flags); });
  Flags& revoke = verb.AddVerb("revoke", "Remove a name: its token is refused from then on");
  AddFile(revoke, *flags);
  revoke.Add("name", flags->name, "As eris token list shows it").Required();
  revoke.SetRun([flags] { return RunRevoke(*flags); });
}

}  // namespace eris::cli
