// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/str_cat.h"
#include "distributed/training/gradient_exchange.h"
#include "frontend/cli/commands/training_ranks.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/build_identity.h"

namespace tartan::cli {

absl::StatusOr<std::shared_ptr<train::GradientExchange>> JoinTraining(const RankFlags& flags) {
  distributed::JoinOptions options;
  options.longest_wait_s = flags.collective_timeout_s;
  options.exchange.traces = !flags.trace.empty();
  options.exchange.on_choice = flags.on_transport;
  TARTAN_ASSIGN_OR_RETURN(options.exchange.way,
                          At(Stage::kUsage, distributed::WayNamed(flags.transport)));
  TARTAN_ASSIGN_OR_RETURN(auto ranks, At(Stage::kUsage, distributed::JoinRanks(options)));
  if (ranks == nullptr) return ranks;
  std::string build;
  for (const char byte : evaluator::BuildIdentity())
    absl::StrAppend(&build, absl::Hex(static_cast<uint8_t>(byte), absl::kZeroPad2));
  const absl::Status agreed = ranks->Agree({{"the build", build},
                                            {"--transport", flags.transport},
                                            {"--gradient-type", flags.gradient_type},
                                            {"--bucket", absl::StrCat(flags.bucket_bytes)}});
  if (!agreed.ok()) ranks->Fail(agreed);
  TARTAN_RETURN_IF_ERROR(At(Stage::kUsage, agreed));
  return ranks;
}

}  // namespace tartan::cli
