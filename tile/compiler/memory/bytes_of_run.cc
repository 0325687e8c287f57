// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/memory/bytes_of_run.h"

#include <set>
#include <variant>

#include "tile/base/match.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

// Collects the program values that a kernel form reads.
class ReadValues {
 public:
  explicit ReadValues(std::set<ValueId>* values) : values_(*values) {}

  void Add(const ir::Program& program, const KernelForm& form) {
    Match(
        form, [&](const poly::FlatContraction& flat) { Add(flat); },
        [&](const poly::WinogradKernels& winograd) { Add(winograd); },
        [&](const poly::PackedMatmul& packed) {
          Add(packed.products);
          for (const poly::PackedMatmul::Operand& operand : packed.operands) {
            Add(operand.kernel);
          }
        },
        [&](const fuse::PlannedChain& planned) {
          for (const poly::RowKernel& kernel : planned.chain.kernels) Add(kernel.flat);
        },
        [&](const SpecialKernel& special) {
          const auto& operands = std::get<ir::Special>(program.values[special.value].op).operands;
          values_.insert(operands.begin(), operands.end());
        });
  }

 private:
  void Add(const poly::FlatContraction& flat) {
    for (const poly::Tensor& tensor : flat.tensors) values_.insert(tensor.value);
  }

  void Add(const poly::WinogradKernels& kernels) {
    if (kernels.padded.has_value()) Add(*kernels.padded);
    for (const auto* flat : {&kernels.data, &kernels.weights, &kernels.result}) Add(*flat);
  }

  std::set<ValueId>& values_;
};

}  // namespace

double BytesOfRun(const ir::Program& program, const std::vector<bool>& is_constant,
                  const Partition& partition) {
  std::set<ValueId> values;
  for (const PartitionedKernel& kernel : partition.kernels) {
    if (is_constant[kernel.outputs.front()]) continue;
    values.insert(kernel.outputs.begin(), kernel.outputs.end());
    ReadValues(&values).Add(program, kernel.form);
  }
  double bytes = 0;
  for (const ValueId value : values) {
    // Values that one kernel computes for another are not numbered yet.
    if (value < 0 || value >= static_cast<ValueId>(program.values.size())) continue;
    bytes += static_cast<double>(program.values[value].shape.byte_size());
  }
  return bytes;
}

bool StaysInCache(const ir::Program& program, const std::vector<bool>& is_constant,
                  const Partition& partition, const HardwareSettings& settings) {
  // Share of the L2 cache that a program can count on. Empirical.
  constexpr double kShareOfCache = 0.9;
  if (settings.threads > 1 || !settings.prefers_one_stream) return false;
  return BytesOfRun(program, is_constant, partition) <=
         kShareOfCache * static_cast<double>(settings.l2_bytes);
}

}  // namespace tartan::compiler
