// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/program/app.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/number_options.h"
#include "frontend/cli/process/resource_limits.h"
#include "frontend/cli/terminal.h"

namespace tartan::cli {
namespace {

constexpr char kVersion[] = "tartan " TARTAN_VERSION;

struct App {
  CLI::App cli{"Runs ONNX models on any OpenCL device: compiles them through Tile to kernels.",
               "tartan"};
  GlobalOptions options;
  std::vector<Command> commands;
};

api::Tier TierNamed(absl::string_view name) {
  if (name == api::Name(api::Tier::kExact)) return api::Tier::kExact;
  return name == api::Name(api::Tier::kReady) ? api::Tier::kReady : api::Tier::kAuto;
}

// Adds the options that choose kernels and their precision.
void AddComputation(CLI::App& cli, GlobalOptions* options) {
  cli.add_option_function<std::string>(
         "--tier", [options](const std::string& tier) { options->tier = TierNamed(tier); },
         "Kernels: shape-specialised (exact), dynamic-shape and fast to compile (ready), or exact\n"
         "ones if they are compiled already (auto)")
      ->check(CLI::IsMember({"auto", "exact", "ready"}))
      ->type_name("TIER")
      ->default_str("auto");
  cli.add_option_function<std::string>(
         "--precision",
         [options](const std::string& name) { options->precision = *PrecisionFromName(name); },
         "Format of matmul factors on a GPU's tensor cores, or with bfloat16 on a CPU; sums are\n"
         "float32. int8: matmuls by weights multiply 8-bit integers, with a scale for each row\n"
         "and column")
      ->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16", "int8"}))
      ->type_name("FORMAT")
      ->default_str("float32");
}

// Adds resource limits, for hosts that run models and data of others.
void AddLimits(CLI::App& cli, ResourceLimits* limits) {
  const auto add = [&](const std::string& name, int64_t* bytes, const std::string& help) {
    cli.add_option_function<std::string>(
           name, [=](const std::string& text) { *bytes = ValueOrThrow(name, ParseBytes(text)); },
           help)
        ->type_name("SIZE");
  };
  add("--max-memory", &limits->memory_bytes,
      "Limit of the memory of the process, and of a GPU, such as 512M or 2G");
  add("--max-file-size", &limits->file_bytes,
      "Limit of the size of a file that is read, and of the data unpacked from one");
  AddDouble(&cli, "--max-time", &limits->seconds, 0, 1e9,
            "Seconds after which the command is ended");
}

std::unique_ptr<App> MakeApp() {
  auto app = std::make_unique<App>();
  CLI::App& cli = app->cli;
  GlobalOptions& options = app->options;
  cli.fallthrough();  // global options may follow the command
  // Only one command is parsed: a later word that equals another command's name is a model, a
  // folder or an action.
  cli.require_subcommand(0, 1);
  cli.set_version_flag("--version", kVersion);
  cli.add_option_function<std::string>(
         "--format",
         [&options](const std::string& format) {
           options.format = format == "json" ? Format::kJson : Format::kText;
         },
         "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
  cli.add_option("--device", options.device,
                 "Index, or part of the platform or device name [$TARTAN_DEVICE]; run and bench\n"
                 "take several, as in 0,1, and split the batch over them");
  cli.add_flag("-v", options.verbosity, "More output; -vv shows every stage of the compiler");
  cli.add_flag("--quiet", options.quiet, "Nothing on stderr but errors");
  cli.add_flag_callback(
      "--no-cache", [&options] { options.use_disk_cache = false; },
      "Neither read nor write the disk cache of compiled kernels");
  cli.add_flag("--unchecked", options.unchecked,
               "Do not check indices, lengths and labels at run time");
  AddComputation(cli, &options);
  AddLimits(cli, &options.limits);
  cli.footer(
      "Environment: TARTAN_DEVICE, TARTAN_CACHE_DIR (default $XDG_CACHE_HOME/tartan), NO_COLOR.\n\n"
      "Example:\n"
      "  tartan run examples/digits/digits.onnx --input x=@examples/digits/seven.png --topk 3\n\n"
      "tartan COMMAND --help describes a command.");
  app->commands = {AddDevices(cli),  AddInspect(cli),       AddRun(cli),       AddVerify(cli),
                   AddBench(cli),    AddTune(cli),          AddTile(cli),      AddTrain(cli),
                   AddGenerate(cli), AddQuantize(cli),      AddGradCheck(cli), AddPlanCluster(cli),
                   AddCache(cli),    AddCompileKernels(cli)};
  cli.get_formatter()->column_width(26);
  return app;
}

ExitCode Fail(ExitCode code, absl::string_view message) {
  WriteError(absl::StrCat("tartan: ", message));
  return code;
}

ExitCode Fail(const absl::Status& status) { return Fail(ExitCodeFor(status), status.message()); }

// The innermost command on the command line.
const CLI::App* SelectedCommand(const CLI::App& cli) {
  const CLI::App* asked = &cli;
  while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().back();
  return asked;
}

// An error message if the first word is neither a command nor an option; otherwise empty.
std::string UnknownCommand(const CLI::App& cli) {
  const std::vector<std::string> words = cli.remaining();
  if (!cli.get_subcommands().empty() || words.empty() || absl::StartsWith(words[0], "-")) return "";
  std::vector<std::string> names;
  for (const CLI::App* command : cli.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  const bool is_model = absl::EndsWith(words[0], ".onnx");
  return absl::StrCat("there is no command '", words[0], "'; the commands are ",
                      absl::StrJoin(names, ", "),
                      is_model ? absl::StrCat(", as in tartan run ", words[0]) : "");
}

// Handles CLI11's "errors", which include requests for help and version.
ExitCode AnswerParseError(const CLI::App& cli, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) {
    const std::string unknown = UnknownCommand(cli);
    if (!unknown.empty()) {
      return Fail(ExitCode::kUsage, absl::StrCat(unknown, " (see tartan --help)"));
    }
    std::string command = "tartan";
    for (const CLI::App* sub = SelectedCommand(cli); sub != &cli; sub = sub->get_parent()) {
      command.insert(6, absl::StrCat(" ", sub->get_name()));
    }
    return Fail(ExitCode::kUsage, absl::StrCat(error.what(), " (see ", command, " --help)"));
  }
  std::string text = absl::StrCat(kVersion, "\n");
  if (error.get_name() != "CallForVersion") {
    const CLI::App* asked = SelectedCommand(cli);
    std::string parents;
    for (const CLI::App* up = asked->get_parent(); up != nullptr; up = up->get_parent()) {
      parents = absl::StrCat(up->get_name(), parents.empty() ? "" : " ", parents);
    }
    text = asked->help(parents);
  }
  const absl::Status written = WriteOutput(text);
  return written.ok() ? ExitCode::kDone : Fail(written);
}

ExitCode RunCommand(const App& app) {
  for (const Command& command : app.commands) {
    if (!command.app->parsed()) continue;
    const absl::Status limited = ApplyLimits(app.options.limits);
    if (!limited.ok()) return Fail(limited);
    const Context context(app.options);
    const absl::StatusOr<ExitCode> code = command.run(context);
    return code.ok() ? *code : Fail(context.Explained(code.status()));
  }
  return Fail(ExitCode::kUsage, "a command is missing (see tartan --help)");
}

}  // namespace

ExitCode RunApp(int argc, char** argv) {
  const std::unique_ptr<App> app = MakeApp();
  ExitCode code = ExitCode::kDone;
  try {
    app->cli.parse(argc, argv);
    code = RunCommand(*app);
  } catch (const CLI::ParseError& error) {
    code = AnswerParseError(app->cli, error);
  } catch (const std::bad_alloc&) {
    code = Fail(ExitCode::kMemory, "out of memory");
  }
  return code;
}

}  // namespace tartan::cli
