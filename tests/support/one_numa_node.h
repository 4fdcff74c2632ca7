// A machine for tests that do not ask for one.
#ifndef ERIS_TESTS_SUPPORT_ONE_NUMA_NODE_H_
#define ERIS_TESTS_SUPPORT_ONE_NUMA_NODE_H_

#include "topology/topology.h"

namespace eris::test {

inline const topology::Topology& OneNumaNode() {
  static const topology::Topology topology = *topology::Topology::Synthetic("numa:1 core:1 pu:1");
  return topology;
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_ONE_NUMA_NODE_H_
