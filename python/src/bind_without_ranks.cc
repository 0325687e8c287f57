// SPDX-License-Identifier: Apache-2.0
// Without distributed/ there is one rank, and joining several is an error.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "python/src/bindings.h"
#include "python/src/status.h"

namespace nb = nanobind;

namespace tartan::python {

void BindRanks(nb::module_& module) {
  module.def("started_by_mpi", [] {
    const char* const ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
    return ranks != nullptr && std::atoi(ranks) > 1;
  });
  module.def(
      "join_ranks",
      [](const std::string& /*transport*/, double /*longest_wait_s*/) {
        Raise(absl::UnimplementedError(
            "this tartan was built without MPI, so it has one rank: install Open MPI (apt-get "
            "install libopenmpi-dev openmpi-bin) and build tartan again (pip install .)"));
      },
      nb::arg("transport"), nb::arg("longest_wait_s"));
}

}  // namespace tartan::python
