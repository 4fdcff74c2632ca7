// The process's file descriptors: their limit, and some in reserve. Any thread, unless stated.
#ifndef ERIS_SERVER_DOOR_DESCRIPTORS_H_
#define ERIS_SERVER_DOOR_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eris::server {

// Raises the soft limit to the hard one, if the system permits. Returns the limit in force.
uint64_t RaiseDescriptorLimit();

// How many connections fit below a limit of `descriptors`, of which `used` are in use now. Each
// takes two: gRPC's and the one with which the door watches it. At least 1.
uint64_t ConnectionsWithin(uint64_t descriptors, uint64_t used);

// About how many descriptors the process has in use: the lowest free number.
uint64_t DescriptorsInUse();

// Open descriptors of no use. Where accept fails because there is none left, one is closed: then a
// connection can be accepted, and closed. Without that it would stay in the listener's queue, and
// the listener would be ready for ever. One thread.
class DescriptorReserve {
 public:
  DescriptorReserve() { Refill(); }
  ~DescriptorReserve();
  DescriptorReserve(const DescriptorReserve&) = delete;
  DescriptorReserve& operator=(const DescriptorReserve&) = delete;

  // Opens as many as are missing and the system permits.
  void Refill();
  // Closes one. False: there was none.
  bool Release();

 private:
  static constexpr size_t kReserve = 4;
  std::vector<int> files_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_DESCRIPTORS_H_
