#include "tile/evaluator/program_cache.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::evaluator {
namespace {

// Everything the compiled result depends on; names of programs are for messages only.
std::string KeyOf(const proto::Program& program) {
  std::string key = absl::StrCat(program.code().size(), ":", program.code());
  for (const proto::Program::Input& input : program.inputs()) {
    absl::StrAppend(&key, "|", input.shape().type(), input.is_constant() ? "c" : "",
                    input.donated() ? "d" : "");
    for (int64_t dim : input.shape().dims()) absl::StrAppend(&key, ",", dim);
  }
  return key;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CompiledProgram>> ProgramCache::Get(
    const proto::Program& program) {
  const std::string key = KeyOf(program);
  const std::shared_ptr<Entry> entry = Find(key);
  std::lock_guard<std::mutex> lock(entry->compiling);
  if (entry->program != nullptr) return entry->program;
  auto compiled = CompiledProgram::Create(program, device_, dialect_, OptionsNow());
  if (!compiled.ok()) {
    Forget(key, entry);
    return compiled.status();
  }
  entry->program = *compiled;
  return entry->program;
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

compiler::CompileOptions ProgramCache::OptionsNow() const {
  std::lock_guard<std::mutex> lock(mutex_);
  compiler::CompileOptions options = options_;
  if (plans_ == nullptr || plans_->size() == 0 || options.planner) return options;
  options.planner = [plans = plans_, settings = device_->info().settings](
                        const poly::FlatContraction& flat, const std::vector<bool>& is_constant) {
    return plan::PlanKernel(flat, settings, is_constant, *plans);
  };
  return options;
}

void ProgramCache::SetPlans(std::shared_ptr<const plan::PlanBook> plans) {
  std::lock_guard<std::mutex> lock(mutex_);
  plans_ = std::move(plans);
  slots_.clear();
  order_.clear();
}

void ProgramCache::SetOptions(compiler::CompileOptions options) {
  std::lock_guard<std::mutex> lock(mutex_);
  options_ = std::move(options);
}

compiler::CompileOptions ProgramCache::options() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return options_;
}

ProgramCacheStatistics ProgramCache::statistics() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return statistics_;
}

}  // namespace tartan::evaluator
