// SPDX-License-Identifier: Apache-2.0
// Without distributed/ each process trains alone.
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "frontend/cli/commands/training_ranks.h"

namespace tartan::cli {

absl::StatusOr<std::shared_ptr<train::GradientExchange>> JoinTraining(const RankFlags& /*flags*/) {
  const char* const ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (ranks == nullptr || std::atoi(ranks) < 2) return std::shared_ptr<train::GradientExchange>();
  return At(Stage::kUsage,
            absl::UnimplementedError(absl::StrCat("mpirun started ", ranks,
                                                  " processes, but this build trains in one: "
                                                  "it was built without MPI (libopenmpi-dev)")));
}

}  // namespace tartan::cli
