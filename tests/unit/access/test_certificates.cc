#include "tests/unit/access/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace eris::server {
namespace {

struct FreeParts {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using OwnedKey = std::unique_ptr<EVP_PKEY, FreeParts>;
using OwnedCertificate = std::unique_ptr<X509, FreeParts>;

template <class Write>
std::string PemOf(Write write) {
  const std::unique_ptr<BIO, FreeParts> bio(BIO_new(BIO_s_mem()));
  ERIS_CHECK(write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}
std::string PemOf(X509* certificate) {
  return PemOf([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}
std::string PemOf(EVP_PKEY* key) {
  return PemOf([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

void Extend(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  ERIS_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Without extensions and signature.
OwnedCertificate Begin(const std::string& common_name, EVP_PKEY* key, absl::Time from,
                       absl::Time until) {
  static std::atomic<long> serial{1000};
  OwnedCertificate certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), absl::ToTimeT(from));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), absl::ToTimeT(until));
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  return certificate;
}

}  // namespace

struct TestAuthority::Parts {
  OwnedKey key{EVP_EC_gen("P-256")};
  OwnedCertificate certificate;
};

TestAuthority::TestAuthority(const std::string& name) : parts_(std::make_unique<Parts>()) {
  parts_->certificate =
      Begin(name, parts_->key.get(), absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(1));
  X509* const own = parts_->certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  Extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  ERIS_CHECK(X509_sign(own, parts_->key.get(), EVP_sha256()) > 0);
  pem_ = PemOf(own);
}

TestAuthority::~TestAuthority() = default;

TestCertificate TestAuthority::Issue(const Wish& wish) const {
  const OwnedKey key(EVP_EC_gen("P-256"));
  const OwnedCertificate made = Begin(wish.common_name, key.get(), wish.from, wish.until);
  X509_set_issuer_name(made.get(), X509_get_subject_name(parts_->certificate.get()));
  std::string names = wish.localhost ? "DNS:localhost,IP:127.0.0.1" : "";
  for (const std::string& name : wish.dns_names) {
    absl::StrAppend(&names, names.empty() ? "" : ",", "DNS:", name);
  }
  if (!names.empty()) Extend(made.get(), parts_->certificate.get(), NID_subject_alt_name, names);
  ERIS_CHECK(X509_sign(made.get(), parts_->key.get(), EVP_sha256()) > 0);
  return {PemOf(made.get()), PemOf(key.get())};
}

}  // namespace eris::server
