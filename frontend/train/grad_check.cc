// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/grad_check.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/api/gradient.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/train/tile_pieces.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/ir/in_float64.h"

namespace tartan::train {
namespace {

using api::Tensor;

// Steps relative to a parameter's size, each ten times smaller than the one before: where the first
// leads over a kink, a smaller one may not.
constexpr int kSteps = 5;
constexpr double kFirstStep = 1e-3;
// What rounding makes of the loss, relative to the sum of its terms' magnitudes.
constexpr double kRounding = 1e-14;
// Quotients that agree so far are of a function that is smooth there.
constexpr double kSmooth = 1e-3;

class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}
  double Uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  // Away from 0, of either sign.
  double Signed() { return (Uniform() < 0.5 ? -1 : 1) * (0.5 + Uniform()); }
  int64_t Below(int64_t count) {
    return static_cast<int64_t>(bits_() % static_cast<uint64_t>(count));
  }

 private:
  std::mt19937_64 bits_;
};

// A loss and how large its terms are.
struct Sum {
  double value = 0;
  double magnitude = 0;
};

// The elements of a parameter that move together, and how far for a step of 1.
using Direction = std::vector<std::pair<int64_t, double>>;

struct Finding {
  GradCheckStatus status = GradCheckStatus::kKink;
  double difference = 0;
  double greatest = 0;  // of the analytic derivative and the quotient
};

double RootMeanSquare(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

class Checker {
 public:
  Checker(std::shared_ptr<api::Device> device, absl::Span<const GivenTensor> parameters,
          absl::Span<const GivenTensor> inputs, const GradCheckOptions& options)
      : device_(std::move(device)),
        parameters_(parameters),
        options_(options),
        random_(options.seed) {
    for (const GivenTensor& input : inputs) {
      placeholders_.push_back(input.placeholder);
      input_values_.push_back(input.value);
    }
  }

  absl::Status Load(absl::Span<const Tensor> outputs) {
    std::vector<Tensor> sums;
    std::vector<api::SeededTensor> seeded;
    for (const Tensor& output : outputs) {
      if (!IsFloat(output.type()) || output.shape().element_count() == 0) continue;
      seeded.push_back({output, Seed(output.shape())});
      TARTAN_RETURN_IF_ERROR(AddSums(seeded.back(), &sums));
    }
    if (seeded.empty()) return absl::InvalidArgumentError("no output is a tensor of floats");
    std::vector<Tensor> wrt;
    std::vector<api::ProgramState> states;
    for (const GivenTensor& parameter : parameters_) {
      wrt.push_back(parameter.placeholder);
      states.push_back({parameter.placeholder, Tensor()});
      values_.push_back(ir::InFloat64(parameter.value));
      TARTAN_ASSIGN_OR_RETURN(tensors_.emplace_back(),
                              api::DeviceTensor::FromHost(*device_, values_.back()));
    }
    TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> gradients, api::Gradient(seeded, wrt));
    TARTAN_RETURN_IF_ERROR(ComputeGradients(states, std::move(gradients)));
    TARTAN_ASSIGN_OR_RETURN(forward_,
                            api::DeviceProgram::Create(device_, placeholders_, std::move(states),
                                                       std::move(sums), "forward"));
    TARTAN_RETURN_IF_ERROR(forward_->Bind(tensors_));
    TARTAN_ASSIGN_OR_RETURN(start_, Evaluate());
    if (std::isfinite(start_.value)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the outputs hold ", start_.value, ": gradients cannot be checked there"));
  }

  absl::StatusOr<ParameterCheck> Check(size_t p) {
    ParameterCheck check;
    check.name = parameters_[p].name;
    const int64_t count = values_[p].element_count();
    if (count == 0) {
      check.status = GradCheckStatus::kOk;
      return check;
    }
    const double size = RootMeanSquare(values_[p].ToDoubles());
    const double scale = size > 0 ? size : 1;
    Direction all;
    for (int64_t i = 0; i < count; ++i) all.emplace_back(i, scale * random_.Signed());
    TARTAN_RETURN_IF_ERROR(Add(p, all, &check).status());
    const bool takes_all = options_.samples <= 0 || count <= options_.samples;
    const int64_t tries = takes_all ? count : 3 * options_.samples;
    std::set<int64_t> seen;
    for (int64_t t = 0; t < tries; ++t) {
      if (!takes_all && check.checked >= options_.samples) break;
      const int64_t element = takes_all ? t : random_.Below(count);
      if (!seen.insert(element).second) continue;
      const double step = std::max(scale, std::abs(values_[p].GetDouble(element)));
      TARTAN_ASSIGN_OR_RETURN(const bool is_smooth, Add(p, {{element, step}}, &check));
      if (is_smooth) ++check.checked;
    }
    return check;
  }

 private:
  Tensor Seed(const TensorShape& shape) {
    std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
    for (int64_t i = 0; i < shape.element_count(); ++i) {
      StoreElement(shape.type, random_.Signed(), i, bytes.data());
    }
    return Tensor::Constant(HostTensor(shape, bytes), "seed");
  }

  static absl::Status AddSums(const api::SeededTensor& seeded, std::vector<Tensor>* sums) {
    const std::string at = Indices(seeded.tensor.rank());
    TARTAN_ASSIGN_OR_RETURN(
        const api::Function function,
        api::Function::FromTile(absl::StrCat("function (Y, S) -> (L, A) { P = Y * S; L[] = +(P[",
                                             at, "]); Q = abs(P); A[] = +(Q[", at, "]); }")));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> both,
                            function.Apply({seeded.tensor, seeded.seed}, "loss"));
    sums->insert(sums->end(), both.begin(), both.end());
    return absl::OkStatus();
  }

  absl::Status ComputeGradients(const std::vector<api::ProgramState>& states,
                                std::vector<Tensor> gradients) {
    TARTAN_ASSIGN_OR_RETURN(const auto backward,
                            api::DeviceProgram::Create(device_, placeholders_, states,
                                                       std::move(gradients), "gradients"));
    TARTAN_RETURN_IF_ERROR(backward->Bind(tensors_));
    TARTAN_RETURN_IF_ERROR(backward->Start(input_values_));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> results, backward->Outputs());
    for (const HostTensor& result : results) gradients_.push_back(result.ToDoubles());
    return absl::OkStatus();
  }

  absl::StatusOr<Sum> Evaluate() {
    TARTAN_RETURN_IF_ERROR(forward_->Start(input_values_));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs, forward_->Outputs());
    Sum sum;
    for (size_t o = 0; o < outputs.size(); o += 2) {
      sum.value += outputs[o].GetDouble(0);
      sum.magnitude += outputs[o + 1].GetDouble(0);
    }
    return sum;
  }

  absl::StatusOr<double> ValueAt(size_t p, const Direction& direction, double step) {
    std::vector<double> moved = values_[p].ToDoubles();
    for (const auto& [element, by] : direction) moved[static_cast<size_t>(element)] += step * by;
    TARTAN_RETURN_IF_ERROR(tensors_[p].Assign(HostTensor::FromVector(values_[p].shape(), moved)));
    TARTAN_ASSIGN_OR_RETURN(const Sum sum, Evaluate());
    return sum.value;
  }

  // Difference quotients for a step and its half.
  struct Quotients {
    double whole = 0;
    double half = 0;
    double limit = 0;  // what both tend to for a smooth function
    double gap = 0;    // of the quotients to either side, at half the step
    bool has_corner = false;
  };

  absl::StatusOr<Quotients> Differences(size_t p, const Direction& direction, double step) {
    TARTAN_ASSIGN_OR_RETURN(const double up, ValueAt(p, direction, step));
    TARTAN_ASSIGN_OR_RETURN(const double down, ValueAt(p, direction, -step));
    TARTAN_ASSIGN_OR_RETURN(const double half_up, ValueAt(p, direction, step / 2));
    TARTAN_ASSIGN_OR_RETURN(const double half_down, ValueAt(p, direction, -step / 2));
    Quotients q;
    q.whole = (up - down) / (2 * step);
    q.half = (half_up - half_down) / step;
    q.limit = (4 * q.half - q.whole) / 3;
    const double whole_gap = std::abs(up + down - 2 * start_.value) / step;
    q.gap = std::abs(half_up + half_down - 2 * start_.value) / (step / 2);
    q.has_corner = q.gap > 0.75 * whole_gap;  // a smooth function's would be half as large
    return q;
  }

  // Looks for a step that confirms `analytic`; else whether steps contradict it with one voice.
  absl::StatusOr<Finding> Compare(size_t p, const Direction& direction, double analytic,
                                  double usual) {
    Finding finding;
    bool was_smooth = false;
    double last = 0;
    double step = kFirstStep;
    for (int s = 0; s < kSteps; ++s, step /= 10) {
      TARTAN_ASSIGN_OR_RETURN(const Quotients q, Differences(p, direction, step));
      const double noise = kRounding * start_.magnitude / step;
      const double greatest = std::max(std::abs(analytic), std::abs(q.limit));
      const double tells = std::max(greatest, usual);
      if (s > 0 && noise > 10 * options_.tolerance * tells) break;
      const double difference = std::abs(analytic - q.limit);
      const bool is_corner = q.has_corner && q.gap > kSmooth * tells + 4 * noise;
      if (!is_corner && difference <= options_.tolerance * (greatest + usual / 100) + noise) {
        return Finding{GradCheckStatus::kOk, difference, tells};
      }
      const bool agree = std::abs(q.whole - q.half) <= kSmooth * tells + noise;
      const bool is_smooth = std::isfinite(q.limit) && agree && !is_corner;
      if (is_smooth && was_smooth && std::abs(last - q.limit) <= kSmooth * tells + noise) {
        finding = {GradCheckStatus::kDiffers, difference, tells};
      }
      was_smooth = is_smooth;
      last = q.limit;
    }
    return finding;
  }

  // Whether there is a derivative in that direction.
  absl::StatusOr<bool> Add(size_t p, const Direction& direction, ParameterCheck* check) {
    double analytic = 0;
    double squares = 0;
    for (const auto& [element, by] : direction) {
      analytic += gradients_[p][static_cast<size_t>(element)] * by;
      squares += by * by;
    }
    const double usual = RootMeanSquare(gradients_[p]) * std::sqrt(squares);
    Finding finding;
    if (std::isfinite(analytic)) {
      TARTAN_ASSIGN_OR_RETURN(finding, Compare(p, direction, analytic, usual));
      TARTAN_RETURN_IF_ERROR(tensors_[p].Assign(values_[p]));
    } else {
      finding = {GradCheckStatus::kDiffers, INFINITY, 1};
    }
    if (finding.status == GradCheckStatus::kKink) {
      ++check->kinks;
      return false;
    }
    if (check->status != GradCheckStatus::kDiffers) check->status = finding.status;
    const double size = std::sqrt(squares);
    check->max_abs_error = std::max(check->max_abs_error, finding.difference / size);
    check->greatest = std::max(check->greatest, finding.greatest / size);
    if (finding.greatest > 0) {
      check->max_rel_error = std::max(check->max_rel_error, finding.difference / finding.greatest);
    }
    return true;
  }

  const std::shared_ptr<api::Device> device_;
  const absl::Span<const GivenTensor> parameters_;
  const GradCheckOptions& options_;
  Random random_;
  std::vector<Tensor> placeholders_;
  std::vector<HostTensor> input_values_;
  std::vector<HostTensor> values_;
  std::vector<api::DeviceTensor> tensors_;
  std::vector<std::vector<double>> gradients_;
  std::unique_ptr<api::DeviceProgram> forward_;
  Sum start_;
};

}  // namespace

absl::string_view Name(GradCheckStatus status) {
  switch (status) {
    case GradCheckStatus::kOk:
      return "ok";
    case GradCheckStatus::kDiffers:
      return "differs";
    case GradCheckStatus::kKink:
      break;
  }
  return "kink";
}

bool GradCheckResult::passed() const {
  bool any = false;
  for (const ParameterCheck& parameter : parameters) {
    if (parameter.status == GradCheckStatus::kDiffers) return false;
    any = any || (parameter.status == GradCheckStatus::kOk && parameter.greatest > 0);
  }
  return any;
}

absl::StatusOr<GradCheckResult> CheckGradients(const std::shared_ptr<api::Device>& device,
                                               absl::Span<const api::Tensor> outputs,
                                               absl::Span<const GivenTensor> parameters,
                                               absl::Span<const GivenTensor> inputs,
                                               const GradCheckOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<GradCheckResult> {
    TARTAN_ASSIGN_OR_RETURN(const auto wide, device->InFloat64());
    Checker checker(wide, parameters, inputs, options);
    TARTAN_RETURN_IF_ERROR(checker.Load(outputs));
    GradCheckResult result;
    for (size_t p = 0; p < parameters.size(); ++p) {
      TARTAN_ASSIGN_OR_RETURN(result.parameters.emplace_back(), checker.Check(p));
    }
    return result;
  });
}

}  // namespace tartan::train
