// What of the machine keeps an engine from its speed, or from starting. Pure functions of the files
// that they are given; each check has one name, and is always in the result.
#ifndef ERIS_CLIENTS_CLI_DOCTOR_MACHINE_CHECKS_H_
#define ERIS_CLIENTS_CLI_DOCTOR_MACHINE_CHECKS_H_

#include <vector>

#include "clients/cli/doctor/finding.h"
#include "clients/cli/doctor/machine_files.h"
#include "eris/process_limits.h"

namespace eris::cli {

// NumaNodes, their memory, their distances, and what the kernel does with them.
std::vector<Finding> CheckNuma(const MachineFiles& files, const Machine& machine);
// Huge pages, mappings, overcommit, swap.
std::vector<Finding> CheckMemory(const MachineFiles& files, const Machine& machine);
// What this process may use: memory, processors, descriptors, locked memory.
std::vector<Finding> CheckLimits(const MachineFiles& files, const Machine& machine,
                                 const ProcessLimits& limits);
// The processors: governor, hardware threads.
std::vector<Finding> CheckCpus(const MachineFiles& files);

// All of them.
std::vector<Finding> CheckMachine(const MachineFiles& files, const ProcessLimits& limits);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_DOCTOR_MACHINE_CHECKS_H_
