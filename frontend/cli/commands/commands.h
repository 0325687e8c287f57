// SPDX-License-Identifier: Apache-2.0
// The commands of the program; each is defined in the file of its name.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "frontend/cli/context.h"

namespace CLI {
class App;
}

namespace tartan::cli {

struct Command {
  CLI::App* app = nullptr;  // shows whether the command was given
  std::function<absl::StatusOr<ExitCode>(const Context&)> run;
};

Command AddDevices(CLI::App& app);
Command AddInspect(CLI::App& app);
Command AddRun(CLI::App& app);
Command AddVerify(CLI::App& app);
Command AddBench(CLI::App& app);
Command AddBenchOp(CLI::App& bench);  // "op", a subcommand of bench
Command AddTile(CLI::App& app);
Command AddTune(CLI::App& app);
Command AddQuantize(CLI::App& app);
Command AddTrain(CLI::App& app);
Command AddPlanCluster(CLI::App& app);
Command AddGradCheck(CLI::App& app);
Command AddGenerate(CLI::App& app);
Command AddCache(CLI::App& app);
Command AddCompileKernels(CLI::App& app);

}  // namespace tartan::cli
