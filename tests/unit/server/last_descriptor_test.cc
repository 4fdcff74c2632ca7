// A server in a process that has no file descriptor left. A program of its own, in no sanitizer's
// tree: UBSan looks at an object's type through a pipe, and reports an error when it gets none.
#include <sys/resource.h>

#include <cstdint>
#include <vector>

#include "server/door/descriptors.h"
#include "server/door/door_stats.h"
#include "tests/unit/server/raw_client.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

// The soft limit of descriptors, for as long as it lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(uint64_t limit) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit lower = before_;
    lower.rlim_cur = limit;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

class LastDescriptorTest : public RpcTest {
 protected:
  bool Answers() { return Lookup(LookupOf({1})).ok(); }
};

TEST_F(LastDescriptorTest, ServerGoesOnAccepting) {
  ASSERT_TRUE(Answers());
  std::vector<RawClient> clients(10);
  {
    const DescriptorLimit none_is_free(DescriptorsInUse());
    for (const RawClient& client : clients) {
      ASSERT_TRUE(client.Connect(server->address()));
      ASSERT_TRUE(client.IsClosed());
    }
    EXPECT_TRUE(Answers()) << "over the connection that was there before";
  }
  EXPECT_GE(server->ReadDoor().closed_for(DoorCause::kDescriptors), 10u);
  data = v1::Data::NewStub(NewChannel());
  EXPECT_TRUE(Answers());
}

}  // namespace
}  // namespace eris::server
