#include "tile/evaluator/program_cache.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/evaluator/build_identity.h"

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

std::string ToString(const HardwareSettings& s) {
  return absl::StrCat(
      absl::StrJoin({s.threads, s.vector_width, int64_t{s.has_local_memory}, s.local_memory_bytes,
                     s.l1_bytes, s.l2_bytes, s.cache_line_bytes, s.register_bytes, s.compute_units,
                     s.max_work_group_size, s.max_work_item_sizes[0], s.max_work_item_sizes[1],
                     s.max_work_item_sizes[2], int64_t{s.has_float16}, int64_t{s.has_float64},
                     s.packed_products, int64_t{s.packs_unsigned}, int64_t{s.has_fma}, s.clock_mhz},
                    ","),
      ",", s.gflops, ",", s.gbps, ",", s.launch_us);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CompiledProgram>> ProgramCache::Get(
    const proto::Program& program) {
  const compiler::CompileOptions now = options();
  const std::string key = absl::StrCat(static_cast<int>(now.winograd),
                                       now.in_float64 ? "|float64|" : "|", KeyOf(program));
  const std::shared_ptr<Entry> entry = Find(key);
  std::lock_guard<std::mutex> lock(entry->compiling);
  if (entry->program != nullptr) return entry->program;
  Request request = RequestNow(key);
  auto compiled = CompiledProgram::Restore(program, device_, dialect_, std::move(request.options),
                                           request.store, request.store_key);
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

ProgramCache::Request ProgramCache::RequestNow(const std::string& key) const {
  static const auto& build = *new std::string(BuildIdentity());
  std::lock_guard<std::mutex> lock(mutex_);
  Request request;
  request.options = options_;
  const HardwareSettings& settings = device_->info().settings;
  const bool can_be_stored = !build.empty() && !options_.dump && !options_.planner;
  if (can_be_stored && store_.load) {
    request.store = store_;
    request.store_key = absl::StrCat(
        "program\n", build, "\n", dialect_.format, "\n", ToString(settings), "\n",
        options_.force_64bit_indices, options_.fuse, options_.pad_inputs, options_.channels_last,
        options_.chain_rows, "\n", plans_bytes_.size(), ":", plans_bytes_, "\n", key);
  }
  if (plans_ != nullptr && plans_->size() > 0 && !options_.planner) {
    request.options.planner = [plans = plans_, settings](const poly::FlatContraction& flat,
                                                         const std::vector<bool>& is_constant) {
      return plan::PlanKernel(flat, settings, is_constant, *plans);
    };
  }
  return request;
}

void ProgramCache::SetPlans(std::shared_ptr<const plan::PlanBook> plans) {
  std::lock_guard<std::mutex> lock(mutex_);
  plans_ = std::move(plans);
  plans_bytes_ = plans_ == nullptr ? "" : plans_->Serialize();
  slots_.clear();
  order_.clear();
}

void ProgramCache::SetStore(ProgramStore store) {
  std::lock_guard<std::mutex> lock(mutex_);
  store_ = std::move(store);
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
