// A directory of AEU endpoints with memory of its own, for tests that have no engine.
#ifndef ERIS_TESTS_SUPPORT_TEST_ENDPOINTS_H_
#define ERIS_TESTS_SUPPORT_TEST_ENDPOINTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "routing/endpoint.h"

namespace eris::test {

class TestEndpoints {
 public:
  // AEU i belongs to NumaNode i / aeus_per_node.
  TestEndpoints(uint32_t aeus, size_t half_bytes, uint32_t aeus_per_node = UINT32_MAX) {
    for (uint32_t i = 0; i < aeus; ++i) {
      memory_.emplace_back(
          static_cast<std::byte*>(::operator new (2 * half_bytes, std::align_val_t{64})));
      directory_.Add(std::make_unique<routing::AeuEndpoint>(memory_.back().get(), half_bytes,
                                                            NumaNodeId{i / aeus_per_node}));
    }
  }
  const routing::EndpointDirectory& directory() const { return directory_; }
  routing::AeuEndpoint& operator[](uint32_t aeu) { return directory_[AeuId{aeu}]; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> memory_;
  routing::EndpointDirectory directory_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_TEST_ENDPOINTS_H_
