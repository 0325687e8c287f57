#include "frontend/api/session.h"

#include <chrono>
#include <list>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/load.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

// A model bound to one signature, compiled and loaded.
struct Bound {
  std::vector<int> runtime_inputs;        // model inputs that are program inputs, in order
  std::vector<HostTensor> fixed_outputs;  // per output: set where the value is known from binding
  std::vector<bool> is_fixed;
  std::shared_ptr<evaluator::LoadedProgram> loaded;  // null when every output is fixed
};

absl::Status CheckAgainstSpec(const TensorSpec& spec, const HostTensor& value) {
  const TensorShape& shape = value.shape();
  bool fits = spec.type == DataType::kInvalid || spec.type == shape.type;
  if (spec.has_rank) {
    fits &= spec.dims.size() == shape.dims.size();
    for (size_t d = 0; fits && d < spec.dims.size(); ++d) {
      fits &= spec.dims[d] < 0 || spec.dims[d] == shape.dims[d];
    }
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input '", spec.name, "' is ", shape.ToString(),
                                                 " but the model declares ", spec.ToString()));
}

}  // namespace

struct Session::Impl {
  std::shared_ptr<const Model> model;
  std::shared_ptr<Device> device;
  SessionOptions options;

  std::mutex mutex;
  // Model inputs whose values decide shapes, found while binding.
  std::vector<bool> by_value;
  struct Entry {
    std::string signature;
    std::shared_ptr<const Bound> bound;
  };
  std::list<Entry> bound;  // most recently used first

  absl::StatusOr<std::vector<const HostTensor*>> Arrange(
      const std::map<std::string, HostTensor>& inputs) const;
  std::string Signature(absl::Span<const HostTensor* const> values) const;
  absl::StatusOr<std::shared_ptr<const Bound>> Find(absl::Span<const HostTensor* const> values,
                                                    RunStatistics* statistics);
  absl::StatusOr<std::shared_ptr<const Bound>> Bind(absl::Span<const HostTensor* const> values,
                                                    RunStatistics* statistics);
  absl::Status Load(const BoundGraph& graph, Bound* bound, RunStatistics* statistics) const;
};

absl::StatusOr<std::vector<const HostTensor*>> Session::Impl::Arrange(
    const std::map<std::string, HostTensor>& inputs) const {
  const std::vector<TensorSpec>& specs = model->inputs();
  std::vector<const HostTensor*> values(specs.size(), nullptr);
  size_t used = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto it = inputs.find(specs[i].name);
    if (it == inputs.end()) {
      if (specs[i].is_optional) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input '", specs[i].name, "' is missing: ", specs[i].ToString()));
    }
    ++used;
    TARTAN_RETURN_IF_ERROR(CheckAgainstSpec(specs[i], it->second));
    values[i] = &it->second;
  }
  if (used == inputs.size()) return values;
  for (const auto& [name, value] : inputs) {
    bool known = false;
    for (const TensorSpec& spec : specs) known |= spec.name == name;
    if (known) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the model has no input '", name,
        "'; it has: ", absl::StrJoin(specs, ", ", [](std::string* out, const TensorSpec& spec) {
          absl::StrAppend(out, spec.name);
        })));
  }
  return values;
}

// Shapes of all inputs, and the bytes of those whose values decide shapes.
std::string Session::Impl::Signature(absl::Span<const HostTensor* const> values) const {
  std::string signature;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == nullptr) {
      absl::StrAppend(&signature, "-;");
      continue;
    }
    absl::StrAppend(&signature, values[i]->shape().ToString(), ";");
    if (by_value[i]) {
      signature.append(reinterpret_cast<const char*>(values[i]->bytes().data()),
                       values[i]->bytes().size());
    }
  }
  return signature;
}

absl::StatusOr<std::shared_ptr<const Bound>> Session::Impl::Find(
    absl::Span<const HostTensor* const> values, RunStatistics* statistics) {
  std::lock_guard<std::mutex> lock(mutex);
  const std::string signature = Signature(values);
  for (auto it = bound.begin(); it != bound.end(); ++it) {
    if (it->signature != signature) continue;
    bound.splice(bound.begin(), bound, it);
    return bound.front().bound;
  }
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<const Bound> made, Bind(values, statistics));
  // Binding may have found that more values decide shapes.
  bound.push_front({Signature(values), made});
  if (static_cast<int>(bound.size()) > options.max_signatures) bound.pop_back();
  return made;
}

absl::StatusOr<std::shared_ptr<const Bound>> Session::Impl::Bind(
    absl::Span<const HostTensor* const> values, RunStatistics* statistics) {
  const auto start = Clock::now();
  BoundGraph graph;
  while (true) {
    std::vector<InputBinding> bindings(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      bindings[i].given = values[i] != nullptr;
      if (values[i] == nullptr) continue;
      bindings[i].shape = values[i]->shape();
      if (by_value[i]) bindings[i].value = values[i];
    }
    TARTAN_ASSIGN_OR_RETURN(graph, model->Bind(bindings));
    if (graph.needed_values.empty()) break;
    bool more = false;
    for (int input : graph.needed_values) {
      more |= !by_value[input];
      by_value[input] = true;
    }
    if (!more) return absl::InternalError("the model asks again for values it has");
  }
  auto bound_model = std::make_shared<Bound>();
  statistics->bind_ms += Milliseconds(start);
  TARTAN_RETURN_IF_ERROR(Load(graph, bound_model.get(), statistics));
  return bound_model;
}

absl::Status Session::Impl::Load(const BoundGraph& graph, Bound* made,
                                 RunStatistics* statistics) const {
  std::vector<Tensor> placeholders;
  for (size_t i = 0; i < graph.placeholders.size(); ++i) {
    if (!graph.placeholders[i].defined()) continue;
    made->runtime_inputs.push_back(static_cast<int>(i));
    placeholders.push_back(graph.placeholders[i]);
  }
  std::vector<Tensor> computed;
  for (const Tensor& output : graph.outputs) {
    const HostTensor* value = output.constant();
    made->is_fixed.push_back(value != nullptr);
    made->fixed_outputs.push_back(value != nullptr ? *value : HostTensor());
    if (value == nullptr) computed.push_back(output);
  }
  if (computed.empty()) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(made->loaded,
                          api::Load(*device, placeholders, computed, model->name(), statistics));
  return absl::OkStatus();
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

const Model& Session::model() const { return *impl_->model; }
Device& Session::device() const { return *impl_->device; }

absl::StatusOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Model> model,
                                                         std::shared_ptr<Device> device,
                                                         SessionOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->by_value.assign(model->inputs().size(), false);
  impl->model = std::move(model);
  impl->device = std::move(device);
  impl->options = options;
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(
    const std::map<std::string, HostTensor>& inputs, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) {
  RunStatistics ignored;
  if (statistics == nullptr) statistics = &ignored;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<const HostTensor*> values, impl_->Arrange(inputs));
  TARTAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Bound> bound,
                          impl_->Find(values, statistics));
  const auto start = Clock::now();
  std::vector<HostTensor> outputs = bound->fixed_outputs;
  if (bound->loaded != nullptr) {
    std::vector<HostTensor> runtime;
    for (int input : bound->runtime_inputs) runtime.push_back(*values[input]);
    std::vector<evaluator::KernelTime> times;
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> computed,
                            bound->loaded->Run(runtime, profile == nullptr ? nullptr : &times));
    size_t next = 0;
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (!bound->is_fixed[o]) outputs[o] = std::move(computed[next++]);
    }
    if (profile != nullptr) {
      for (const evaluator::KernelTime& time : times) {
        profile->push_back({time.kernel, time.description, time.ms, time.flops, time.bytes});
      }
    }
    statistics->kernels = bound->loaded->program().launches_per_run();
  }
  statistics->latency_ms = Milliseconds(start);
  return outputs;
}

}  // namespace tartan::api
