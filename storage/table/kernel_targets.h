// What is chosen from. Not worth their code: the first adds nothing to SSE4's absence, the second
// nothing that is used here. Lanes have to be known to the compiler, so no vectors of unknown
// length. Included before hwy/foreach_target.h by each file of kernels, which must all choose
// alike.
#ifndef ERIS_STORAGE_TABLE_KERNEL_TARGETS_H_
#define ERIS_STORAGE_TABLE_KERNEL_TARGETS_H_

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#endif  // ERIS_STORAGE_TABLE_KERNEL_TARGETS_H_
