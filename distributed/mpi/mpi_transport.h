// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes which an MPI launcher (mpirun, srun) started. MPI is a plug-in that is
// opened at run time, so a program starts without the MPI library.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "distributed/host_transport.h"

namespace tartan::distributed {

struct MpiOptions {
  // File of the plug-in; empty: TARTAN_MPI_PLUGIN, or libtartan_mpi.so beside the program or the
  // library that contains this function, or in ../lib/tartan, or in the parent folder.
  std::string plugin;
  double longest_wait_s = 1800;  // limit of one collective operation
};

// Returns true if an MPI launcher started this process as one of several.
bool StartedByMpi();

// Joins the other processes. Once per process. Unavailable, with the remedy, if the plug-in or the
// MPI library cannot be loaded. If another process fails later, this process prints why on stderr
// and ends.
absl::StatusOr<std::unique_ptr<HostTransport>> JoinMpi(const MpiOptions& options);

}  // namespace tartan::distributed
