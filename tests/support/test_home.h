// Where the blocks of a test's Port come home, and whether somebody has been told of them.
#ifndef ERIS_TESTS_SUPPORT_TEST_HOME_H_
#define ERIS_TESTS_SUPPORT_TEST_HOME_H_

#include "routing/answers.h"
#include "routing/block_pool.h"
#include "routing/return_point.h"

namespace eris::test {

class TestHome final : public routing::ReturnListener {
 public:
  routing::ReturnPoint& blocks() { return blocks_; }
  void BlocksAreHome() noexcept override { told_ = true; }
  bool told() const { return told_; }
  // Puts the answers in order, as the completion thread does when it has been told. True: blocks
  // were home.
  bool Collect() {
    told_ = false;
    return routing::CollectAnswers(blocks_);
  }
  // True: blocks are home of which nobody has been told.
  bool Forgotten() { return !told_ && Collect(); }

 private:
  bool told_ = false;
  routing::ReturnPoint blocks_{*this};
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_TEST_HOME_H_
