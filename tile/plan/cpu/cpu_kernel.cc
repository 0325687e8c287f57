// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/cpu_kernel.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "tile/base/match.h"
#include "tile/plan/cpu/sliding_window.h"
#include "tile/poly/coords.h"

namespace tartan::plan {
namespace {

// Estimated vector instructions of an operation; empirical.
double OperationWeight(ScalarOp op) {
  switch (op) {
    case ScalarOp::kIdentity:
      return 0;
    case ScalarOp::kDiv:
    case ScalarOp::kRecip:
    case ScalarOp::kSqrt:
      return 8;
    case ScalarOp::kExp:
    case ScalarOp::kLog:
    case ScalarOp::kSigmoid:
    case ScalarOp::kTanh:
    case ScalarOp::kErf:
    case ScalarOp::kExpm1:
    case ScalarOp::kLog1p:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
      return 30;
    case ScalarOp::kPow:
    case ScalarOp::kAtan2:
    case ScalarOp::kMod:
    case ScalarOp::kFmod:
      return 80;
    default:
      return 1;
  }
}

// Additional instructions of a bfloat16 dot without hardware support, after the first one.
constexpr double kUnpackOperations = 3;

class Surveyor {
 public:
  Surveyor(const poly::FlatContraction& flat, CpuKernel* kernel, bool in_body)
      : flat_(flat), kernel_(kernel), in_body_(in_body) {}

  void Visit(const poly::ExprPtr& expr) {
    if (expr == nullptr || !seen_.insert(expr.get()).second) return;
    kernel_->element_bytes =
        std::max<int64_t>(kernel_->element_bytes, ByteWidth(ComputeType(expr->type)));
    Match(
        expr->node, [](const poly::Literal&) {}, [](const poly::Accumulator&) {},
        [&](const poly::Read& read) {
          const poly::TensorAccess& access = flat_.accesses[read.access];
          AddRead(access.tensor, FlatStrides(access.coords, access.tensor),
                  Conditions(access.guard), read.access);
        },
        [&](const poly::Coordinate& coordinate) { AddIrregular(coordinate.poly); },
        [&](const poly::Apply& apply) {
          (in_body_ ? kernel_->body_operations : kernel_->epilogue_operations) +=
              OperationWeight(apply.op);
          for (const poly::ExprPtr& operand : apply.operands) Visit(operand);
        },
        [&](const poly::InRange& in_range) {
          Conditions(in_range.constraints);
          if (!in_body_) return;
          for (const math::RangeConstraint& c : in_range.constraints) AddIrregular(c.poly);
        },
        [&](const poly::ReadAt& read) { VisitReadAt(read); },
        [&](const poly::Choice& choice) {
          for (const poly::ExprPtr& value : choice.values) Visit(value);
          for (size_t i = 0; i < flat_.indices.size(); ++i) {
            if (!choice.poly.coefficient(static_cast<int>(i)).is_zero()) kernel_->chosen[i] = true;
          }
        });
  }

 private:
  std::vector<int64_t> FlatStrides(const std::vector<math::Affine>& coords, int tensor) const {
    return poly::Flatten(coords, flat_.tensors[tensor].shape.dims,
                         static_cast<int>(flat_.indices.size()))
        .strides;
  }

  std::vector<bool> DependsOn(const std::vector<math::RangeConstraint>& constraints) const {
    std::vector<bool> depends(flat_.indices.size(), false);
    for (const math::RangeConstraint& constraint : constraints) {
      for (size_t i = 0; i < depends.size(); ++i) {
        if (!constraint.poly.coefficient(static_cast<int>(i)).is_zero()) depends[i] = true;
      }
    }
    return depends;
  }

  // Returns the indices along which conditions of the body differ. Conditions of the epilogue do
  // not count: they classify tiles, and epilogue_inside records their share.
  std::vector<bool> Conditions(const std::vector<math::RangeConstraint>& constraints) {
    if (in_body_) return DependsOn(constraints);
    for (const math::RangeConstraint& constraint : constraints) {
      if (!seen_conditions_.insert(constraint.ToString()).second) continue;
      const auto [least, greatest] = poly::ValueRange(constraint.poly, flat_.indices);
      const double share = static_cast<double>(constraint.range) /
                           static_cast<double>(std::max<int64_t>(greatest - least + 1, 1));
      for (size_t i = 0; i < flat_.indices.size(); ++i) {
        if (constraint.poly.coefficient(static_cast<int>(i)).is_zero()) continue;
        kernel_->epilogue_inside[i] *= std::min(1.0, share) * 0.999;
      }
    }
    return std::vector<bool>(flat_.indices.size(), false);
  }

  void AddRead(int tensor, std::vector<int64_t> strides, std::vector<bool> irregular,
               int access = -1) {
    kernel_->reads.push_back({std::move(strides), ByteWidth(flat_.tensors[tensor].shape.type),
                              std::move(irregular), in_body_, access});
  }

  void AddIrregular(const math::Affine& poly) {
    std::vector<int>& irregular = in_body_ ? kernel_->body_irregular : kernel_->epilogue_irregular;
    for (size_t i = 0; i < irregular.size(); ++i) {
      if (!poly.coefficient(static_cast<int>(i)).is_zero()) ++irregular[i];
    }
  }

  // Coordinates that are affine functions of the indices move the access like a plain read.
  void VisitReadAt(const poly::ReadAt& read) {
    std::vector<bool> irregular = Conditions(read.guard);
    std::vector<math::Affine> coords;
    for (const poly::ExprPtr& coordinate : read.coordinates) {
      coords.emplace_back();
      if (const auto* plain = std::get_if<poly::Coordinate>(&coordinate->node)) {
        coords.back() = plain->poly;
        continue;
      }
      const size_t before = kernel_->reads.size();
      Visit(coordinate);
      for (size_t r = before; r < kernel_->reads.size(); ++r) {
        for (size_t i = 0; i < irregular.size(); ++i) {
          if (kernel_->reads[r].strides[i] != 0) irregular[i] = true;
        }
      }
    }
    AddRead(read.tensor, FlatStrides(coords, read.tensor), std::move(irregular));
  }

  const poly::FlatContraction& flat_;
  CpuKernel* kernel_;
  const bool in_body_;
  std::set<const poly::Expr*> seen_;
  std::set<std::string> seen_conditions_;
};

std::vector<int> ByStride(const std::vector<int64_t>& strides) {
  std::vector<int> indices;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] != 0) indices.push_back(static_cast<int>(i));
  }
  std::stable_sort(indices.begin(), indices.end(),
                   [&](int a, int b) { return std::abs(strides[a]) < std::abs(strides[b]); });
  return indices;
}

std::vector<CpuKernel::Window> FindWindows(const CpuKernel& kernel) {
  constexpr int64_t kLargestWindow = 7;  // maximum values of an index of a window
  const poly::FlatContraction& flat = kernel.flat;
  std::vector<CpuKernel::Window> windows;
  for (int r = flat.output_index_count; r < static_cast<int>(flat.indices.size()); ++r) {
    const size_t before = windows.size();
    for (int i = 0; i < flat.output_index_count; ++i) {
      const bool slides =
          std::any_of(kernel.reads.begin(), kernel.reads.end(), [&](const CpuKernel::Access& read) {
            return read.in_body && Slides(flat, read.strides, i, r);
          });
      if (slides) windows.push_back({i, r});
    }
    if (flat.indices[r].range > kLargestWindow || windows.size() == before) return {};
  }
  return windows;
}

}  // namespace

CpuKernel::CpuKernel(const poly::FlatContraction& kernel_flat, const HardwareSettings& hardware,
                     const LaunchContext& launch_context)
    : flat(kernel_flat), settings(hardware), launch(launch_context), machine(hardware) {
  const size_t count = flat.indices.size();
  body_irregular.assign(count, 0);
  epilogue_irregular.assign(count, 0);
  epilogue_inside.assign(count, 1);
  constrained.assign(count, false);
  chosen.assign(count, false);
  for (const math::RangeConstraint& constraint : flat.constraints) {
    for (size_t i = 0; i < count; ++i) {
      if (!constraint.poly.coefficient(static_cast<int>(i)).is_zero()) constrained[i] = true;
    }
  }
  registers =
      std::max(8.0, static_cast<double>(hardware.register_bytes) /
                        static_cast<double>(std::max<int64_t>(hardware.vector_width, 1) * 4));
  if (flat.is_reduction()) {
    Surveyor(flat, this, true).Visit(flat.body);
    const auto* apply = std::get_if<poly::Apply>(&flat.body->node);
    // A multiplication is fused with the addition. A bfloat16 dot is one instruction if the
    // hardware has it; otherwise its two pairs are unpacked and added one after the other.
    const bool is_sum = apply != nullptr && flat.aggregation == Aggregation::kSum;
    const bool is_dot = is_sum && apply->op == ScalarOp::kDotBFloat16;
    const bool fused = (is_sum && apply->op == ScalarOp::kMul) || is_dot;
    if (!fused) body_operations += 1;
    if (is_dot && hardware.multiplies_bfloat16) accumulate_cycles = cpu::kDotCycles;
    if (is_dot && !hardware.multiplies_bfloat16) body_operations += kUnpackOperations;
  }
  Surveyor epilogue(flat, this, false);
  const std::vector<int64_t> strides =
      poly::Flatten(flat.output_coords, flat.output_dims, static_cast<int>(count)).strides;
  for (const poly::Output& output : flat.outputs) {
    epilogue.Visit(output.expr);
    writes.push_back({strides, ByteWidth(output.shape.type), std::vector<bool>(count, false)});
  }
  epilogue.Visit(flat.empty_value);
  windows = FindWindows(*this);
  if (flat.is_reduction() && windows.empty()) core = machine.core;
  for (std::vector<Access>* accesses : {&reads, &writes}) {
    for (Access& access : *accesses) access.by_stride = ByStride(access.strides);
  }
  // A poly::Choice counts the operations of all its values together.
  for (size_t i = 0; i < count; ++i) {
    if (!chosen[i]) continue;
    (flat.is_reduction() ? body_operations : epilogue_operations) /=
        static_cast<double>(flat.indices[i].range);
  }
}

double ElementCount(const poly::FlatContraction& flat, const CpuKernel::Access& access) {
  double elements = 1;
  for (size_t i = 0; i < flat.indices.size(); ++i) {
    if (access.strides[i] != 0) elements *= static_cast<double>(flat.indices[i].range);
  }
  return elements;
}

bool HasChoices(const CpuKernel& kernel) {
  return std::find(kernel.chosen.begin(), kernel.chosen.end(), true) != kernel.chosen.end();
}

}  // namespace tartan::plan
