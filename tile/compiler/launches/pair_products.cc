// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/pair_products.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "tile/plan/gpu/matrix_pair.h"
#include "tile/poly/form_key.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

// Which steps of a run use a value's memory.
struct Use {
  std::vector<size_t> readers;
  std::vector<size_t> writers;
};

class ProductPairs {
 public:
  ProductPairs(const ir::Program& program, const std::vector<ValueId>& storage,
               const HardwareSettings& settings, Schedule* schedule)
      : program_(program), storage_(storage), settings_(settings), schedule_(*schedule) {}

  void Run() {
    for (size_t s = 0; s < schedule_.steps.size(); ++s) {
      const StepValues values = ReadAndWritten(program_, schedule_.steps[s]);
      for (ValueId value : values.read) uses_[StorageOf(value)].readers.push_back(s);
      for (ValueId value : values.written) uses_[StorageOf(value)].writers.push_back(s);
      const auto* launch = std::get_if<PlannedLaunch>(&schedule_.steps[s].work);
      if (launch != nullptr) next_form_ = std::max(next_form_, launch->form + 1);
    }
    for (ValueId output : program_.outputs) uses_[StorageOf(output)].readers.push_back(kOutside);
    std::vector<bool> is_gone(schedule_.steps.size(), false);
    for (size_t s = 0; s < schedule_.steps.size(); ++s) {
      if (const std::optional<size_t> producer = PairWithProducer(s)) is_gone[*producer] = true;
    }
    std::vector<ScheduledStep> left;
    for (size_t s = 0; s < schedule_.steps.size(); ++s) {
      if (!is_gone[s]) left.push_back(std::move(schedule_.steps[s]));
    }
    schedule_.steps = std::move(left);
  }

 private:
  static constexpr size_t kOutside = SIZE_MAX;  // who asked for the program

  ValueId StorageOf(ValueId value) const {
    return value < schedule_.first_added ? storage_[value] : value;
  }

  // A launch on a matrix unit; null: another step.
  PlannedLaunch* MatrixLaunch(size_t step) {
    auto* launch = std::get_if<PlannedLaunch>(&schedule_.steps[step].work);
    const bool is_one = launch != nullptr && !schedule_.steps[step].is_setup &&
                        std::holds_alternative<plan::MatrixPlan>(launch->planned.plan);
    return is_one ? launch : nullptr;
  }

  // The step that makes `value` for this one alone, before it; nothing where there is none.
  std::optional<size_t> OnlyProducer(ValueId value, size_t step) const {
    const auto use = uses_.find(StorageOf(value));
    const std::vector<size_t>& writers = use->second.writers;
    const std::vector<size_t>& readers = use->second.readers;
    if (writers.size() != 1 || writers.front() >= step) return std::nullopt;
    const bool is_alone =
        std::all_of(readers.begin(), readers.end(), [&](size_t s) { return s == step; });
    if (!is_alone) return std::nullopt;
    return writers.front();
  }

  // The step that need not run any more.
  std::optional<size_t> PairWithProducer(size_t step) {
    PlannedLaunch* launch = MatrixLaunch(step);
    if (launch == nullptr) return std::nullopt;
    for (const ValueId value : launch->tensors) {
      const std::optional<size_t> producer = OnlyProducer(value, step);
      if (!producer.has_value()) continue;
      const PlannedLaunch* other = MatrixLaunch(*producer);
      if (other == nullptr || other->outputs.size() != 1) continue;
      if (Pair(*other, StorageOf(value), launch)) return producer;
    }
    return std::nullopt;
  }

  // False where they stay apart.
  bool Pair(const PlannedLaunch& producer, ValueId result, PlannedLaunch* reader) {
    std::optional<plan::PlannedKernel> pair =
        plan::PairMatrixProducts(WithValues(*reader), WithValues(producer), result, settings_);
    if (!pair.has_value()) return false;
    reader->tensors.clear();
    for (const poly::Tensor& tensor : pair->flat.tensors) reader->tensors.push_back(tensor.value);
    reader->flops += producer.flops;
    reader->bytes += producer.bytes;
    reader->form = FormOf(producer.form, reader->form, pair->flat);
    reader->planned = *std::move(pair);
    return true;
  }

  // Pairs of layers that are alike are one kernel: of the same two, which read the same of one
  // another.
  int FormOf(int producer, int reader, const poly::FlatContraction& pair) {
    if (producer < 0 || reader < 0) return -1;
    const auto [form, is_new] =
        forms_.try_emplace({producer, reader, poly::FormKey(pair)}, next_form_);
    if (is_new) ++next_form_;
    return form->second;
  }

  // Every tensor with the value whose memory it is, however it is read.
  plan::PlannedKernel WithValues(const PlannedLaunch& launch) const {
    plan::PlannedKernel planned = launch.planned;
    for (size_t t = 0; t < launch.tensors.size(); ++t) {
      planned.flat.tensors[t].value = StorageOf(launch.tensors[t]);
    }
    return planned;
  }

  const ir::Program& program_;
  const std::vector<ValueId>& storage_;
  const HardwareSettings& settings_;
  Schedule& schedule_;
  std::map<ValueId, Use> uses_;
  std::map<std::tuple<int, int, std::string>, int> forms_;  // of pairs
  int next_form_ = 0;
};

}  // namespace

void PairProducts(const ir::Program& program, const std::vector<ValueId>& storage,
                  const HardwareSettings& settings, Schedule* schedule) {
  if (settings.matrix_local_bytes == 0) return;
  ProductPairs(program, storage, settings, schedule).Run();
}

}  // namespace tartan::compiler
