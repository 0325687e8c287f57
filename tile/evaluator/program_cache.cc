// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/program_cache.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"
#include "tile/codegen/write_kernel.h"
#include "tile/evaluator/build_identity.h"
#include "tile/evaluator/compile_kernels.h"

namespace tartan::evaluator {
namespace {

// Everything on which the compiled result depends. Program names occur only in messages.
std::string KeyOf(const proto::Program& program) {
  std::string key = absl::StrCat(program.code().size(), ":", program.code());
  for (const proto::Program::Input& input : program.inputs()) {
    absl::StrAppend(&key, "|", input.shape().type(), input.is_constant() ? "c" : "",
                    input.is_state() ? "s" : "", input.next());
    for (int64_t dim : input.shape().dims()) absl::StrAppend(&key, ",", dim);
  }
  for (const proto::Program::Part& part : program.parts()) {
    absl::StrAppend(&key, "|part ", KeyOf(part.program()), "|", part.iterations(), ",",
                    part.states(), ",", part.slices(), part.reversed() ? "r" : "", part.results(),
                    "|", absl::StrJoin(part.arguments(), ","), "|",
                    absl::StrJoin(part.row_elements(), ","));
  }
  if (!program.outputs().empty()) {
    absl::StrAppend(&key, "|outputs ", absl::StrJoin(program.outputs(), ","));
  }
  return key;
}

const std::string& ThisBuild() {
  static const auto& build = *new std::string(BuildIdentity());
  return build;
}

// The dynamic-shape tier must compile without waiting for measurements, so it does not use them.
hal::Knowledge KnowledgeFor(const compiler::CompileOptions& options) {
  return options.tier == compiler::Tier::kReady ? hal::Knowledge::kCompiler
                                                : hal::Knowledge::kMeasured;
}

// Processes that load their compilers while this one queries its own. Loading occupies a processor,
// and small programs need few.
constexpr int kFewProcesses = 3;

std::string StoreKey(const codegen::Dialect& dialect, const std::string& key) {
  return absl::StrCat("program\n", ThisBuild(), "\n", dialect.format, "\n", key);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CompiledProgram>> ProgramCache::Get(
    const proto::Program& program, compiler::CompileOptions options,
    const compiler::CompileHooks& hooks, const lang::Function* tree) {
  const CompilerProcesses processes = Processes(hooks);
  // While this process queries the compiler, others may load theirs.
  std::shared_ptr<void> prepared;
  if (processes.prepare && !device_->Knows(hal::Knowledge::kCompiler))
    prepared = processes.prepare(kFewProcesses);
  TARTAN_ASSIGN_OR_RETURN(options.settings, device_->Settings(KnowledgeFor(options)));
  const codegen::Dialect dialect = dialect_(options.settings);
  if (hooks.planner) return CompiledProgram::Create(program, device_, dialect, options, hooks);
  const std::string options_key = options.Key();
  const std::string key = absl::StrCat(options_key, "\n", KeyOf(program));
  const std::shared_ptr<Entry> entry = Find(key);
  std::lock_guard<std::mutex> lock(entry->compiling);
  if (entry->program != nullptr) return entry->program;
  BuildServices means;
  means.tree = tree;
  if (options.tier == compiler::Tier::kReady) {
    means.library = &library_;
    means.known = &known_;
    means.written = &written_;
    means.written_key = options_key;
    means.disk = {StoreFor(hooks), StoreKey(dialect, ""), processes.is_compiled};
  }
  // GPU drivers compile short texts in less time than starting another process takes.
  const bool is_short =
      options.tier == compiler::Tier::kReady && device_->info().type != hal::DeviceType::kCpu;
  if (processes.start && !is_short) means.processes = &processes;
  auto compiled = CompiledProgram::Restore(program, device_, dialect, options, hooks,
                                           StoreFor(hooks), StoreKey(dialect, key), means);
  if (!compiled.ok()) {
    Forget(key, entry);
    return compiled.status();
  }
  entry->program = *compiled;
  return entry->program;
}

std::shared_ptr<const CompiledProgram> ProgramCache::GetIfCompiled(
    const proto::Program& program, compiler::CompileOptions options,
    const compiler::CompileHooks& hooks,
    const std::function<bool(const hal::ExecutableSource&)>& is_compiled) {
  // If the device's settings are not known yet, nothing has been compiled for them.
  if (hooks.planner || !device_->Knows(KnowledgeFor(options))) return nullptr;
  const absl::StatusOr<HardwareSettings> settings = device_->Settings(KnowledgeFor(options));
  if (!settings.ok()) return nullptr;
  options.settings = *settings;
  const codegen::Dialect dialect = dialect_(options.settings);
  const std::string key = absl::StrCat(options.Key(), "\n", KeyOf(program));
  if (const std::shared_ptr<Entry> entry = FindRequested(key); entry != nullptr) {
    const std::unique_lock<std::mutex> lock(entry->compiling, std::try_to_lock);
    if (!lock.owns_lock()) return nullptr;
    if (entry->program != nullptr) {
      return entry->program->has_all_kernels() ? entry->program : nullptr;
    }
  }
  const ProgramStore store = StoreFor(hooks);
  const std::optional<std::string> stored =
      store.load ? store.load(StoreKey(dialect, key)) : std::nullopt;
  if (!stored.has_value()) return nullptr;
  std::optional<ProgramSource> made = ParseProgram(*stored);
  if (!made.has_value()) return nullptr;
  made->source.format = dialect.format;
  made->source.options = dialect.compiler_options;
  CompilerProcesses processes = Processes(hooks);
  processes.is_compiled = is_compiled;
  if (!made->source.kernels.empty() && !AreKernelsCompiled(made->source, processes)) return nullptr;
  auto compiled = Get(program, std::move(options), hooks);
  return compiled.ok() ? *std::move(compiled) : nullptr;
}

absl::StatusOr<std::shared_ptr<const CompiledProgram>> ProgramCache::GetOnHost(
    const proto::Program& program, const compiler::CompileOptions& options,
    const compiler::CompileHooks& hooks, double most_ms, int64_t times,
    const lang::Function* tree) {
  if (hooks.planner || hooks.dump || !hooks.stop_after.empty()) return nullptr;
  const std::string key = absl::StrCat("host ", most_ms, " ", times,
                                       options.in_float64 ? " in float64\n" : "\n", KeyOf(program));
  const std::shared_ptr<Entry> entry = Find(key);
  std::lock_guard<std::mutex> lock(entry->compiling);
  if (entry->program != nullptr) return entry->program;
  auto compiled = CompiledProgram::OnHost(program, device_, options, most_ms, times, tree);
  if (compiled.ok() && *compiled != nullptr) {
    entry->program = *compiled;
  } else {
    Forget(key, entry);
  }
  return compiled;
}

absl::StatusOr<std::vector<ProgramSource>> ProgramCache::GetParts(
    const proto::Program& program, compiler::CompileOptions options,
    const compiler::CompileHooks& hooks) {
  TARTAN_ASSIGN_OR_RETURN(options.settings, device_->Settings(KnowledgeFor(options)));
  const codegen::Dialect dialect = dialect_(options.settings);
  const std::string key = StoreKey(dialect, absl::StrCat(options.Key(), "\n", KeyOf(program)));
  const ProgramStore store = StoreFor(hooks);
  if (!store.load) return absl::FailedPreconditionError("there is no store for programs");
  std::optional<std::string> bytes = store.load(key);
  if (!bytes.has_value()) {
    TARTAN_ASSIGN_OR_RETURN(bytes, CompiledProgram::Serialize(program, dialect, options, hooks));
    store.store(key, *bytes);
    if (!store.load(key).has_value()) {
      return absl::FailedPreconditionError("programs cannot be stored");
    }
  }
  std::optional<ProgramSource> made = ParseProgram(*bytes);
  if (!made.has_value()) return absl::FailedPreconditionError("the stored program is damaged");
  made->source.format = dialect.format;
  made->source.options = dialect.compiler_options;
  return SplitProgram(*made, Processes(hooks));
}

absl::StatusOr<PlannedProgram> ProgramCache::Plan(const proto::Program& program,
                                                  compiler::CompileOptions options,
                                                  const compiler::CompileHooks& hooks) {
  TARTAN_ASSIGN_OR_RETURN(options.settings, device_->Settings(KnowledgeFor(options)));
  compiler::CompileHooks telling = hooks;
  telling.describes_launches = true;
  PlannedProgram planned;
  TARTAN_ASSIGN_OR_RETURN(planned.program,
                          CompiledProgram::Plan(program, device_->info(), options, telling));
  const codegen::Dialect dialect = dialect_(options.settings);
  for (const loop::Kernel& kernel : planned.program->list().kernels) {
    planned.sources.push_back(codegen::WriteKernel(kernel, dialect));
  }
  return planned;
}

std::shared_ptr<ProgramCache::Entry> ProgramCache::FindRequested(const std::string& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = slots_.find(key);
  return it == slots_.end() ? nullptr : it->second.entry;
}

std::shared_ptr<ProgramCache::Entry> ProgramCache::Find(const std::string& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto it = slots_.find(key); it != slots_.end()) {
    ++statistics_.hits;
    order_.splice(order_.begin(), order_, it->second.position);
    return it->second.entry;
  }
  ++statistics_.misses;
  order_.push_front(key);
  auto entry = std::make_shared<Entry>();
  slots_[key] = {entry, order_.begin()};
  if (slots_.size() > capacity_) {
    slots_.erase(order_.back());
    order_.pop_back();
  }
  return entry;
}

void ProgramCache::Forget(const std::string& key, const std::shared_ptr<Entry>& entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = slots_.find(key);
  if (it == slots_.end() || it->second.entry != entry) return;
  order_.erase(it->second.position);
  slots_.erase(it);
}

ProgramStore ProgramCache::StoreFor(const compiler::CompileHooks& hooks) const {
  if (ThisBuild().empty() || hooks.dump || !hooks.stop_after.empty()) return {};
  std::lock_guard<std::mutex> lock(mutex_);
  return store_;
}

CompilerProcesses ProgramCache::Processes(const compiler::CompileHooks& hooks) const {
  if (ThisBuild().empty() || hooks.dump) return {};
  CompilerProcesses processes;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    processes = processes_;
  }
  processes.compile_here =
      [device = device_](const ProgramSource& part) -> absl::StatusOr<hal::ExecutablePtr> {
    TARTAN_ASSIGN_OR_RETURN(const auto built, CompiledProgram::BuildPart(part, device));
    if (!built->has_all_kernels()) TARTAN_RETURN_IF_ERROR(CompileKernels(*built));
    return built->executables().front();
  };
  return processes;
}

void ProgramCache::SetProcesses(CompilerProcesses processes) {
  std::lock_guard<std::mutex> lock(mutex_);
  processes_ = std::move(processes);
}

void ProgramCache::SetStore(ProgramStore store) {
  std::lock_guard<std::mutex> lock(mutex_);
  store_ = std::move(store);
}

ProgramCacheStatistics ProgramCache::statistics() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return statistics_;
}

}  // namespace tartan::evaluator
