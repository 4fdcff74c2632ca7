// Certificates of an authority of the tests' own. Small keys of elliptic curves: one takes less
// than a millisecond.
#ifndef ERIS_TESTS_UNIT_ACCESS_TEST_CERTIFICATES_H_
#define ERIS_TESTS_UNIT_ACCESS_TEST_CERTIFICATES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace eris::server {

struct TestCertificate {
  std::string pem{};
  std::string key_pem{};
};

class TestAuthority {
 public:
  struct Wish {
    std::string common_name{};
    std::vector<std::string> dns_names{};  // alternative names
    bool localhost = true;                 // also for 127.0.0.1 and localhost
    absl::Time from = absl::Now() - absl::Hours(1);
    absl::Time until = absl::Now() + absl::Hours(1);
  };

  explicit TestAuthority(const std::string& name);
  ~TestAuthority();

  const std::string& pem() const { return pem_; }
  TestCertificate Issue(const Wish& wish) const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
  std::string pem_;
};

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_ACCESS_TEST_CERTIFICATES_H_
