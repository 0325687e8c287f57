// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/special/special_context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/plan/machine.h"

namespace tartan::lower {

using loop::ExprPtr;
using loop::StmtPtr;

namespace {

std::vector<TensorShape> ShapesOf(const TensorShape& result,
                                  absl::Span<const TensorShape> operands) {
  std::vector<TensorShape> shapes = {result};
  shapes.insert(shapes.end(), operands.begin(), operands.end());
  return shapes;
}

DataType IndexTypeOf(absl::Span<const TensorShape> shapes) {
  const bool is_wide = std::any_of(shapes.begin(), shapes.end(), [](const TensorShape& shape) {
    return shape.element_count() >= int64_t{1} << 31;
  });
  return is_wide ? DataType::kInt64 : DataType::kInt32;
}

}  // namespace

SpecialContext::SpecialContext(const ir::Special& special, absl::Span<const TensorShape> operands,
                               const TensorShape& result, const HardwareSettings& settings,
                               std::string name, const LowerOptions& options)
    : IndexBuilder(options.force_64bit_indices ? DataType::kInt64
                                               : IndexTypeOf(ShapesOf(result, operands))),
      special_(special),
      settings_(settings),
      name_(std::move(name)),
      shapes_(ShapesOf(result, operands)),
      takes_sizes_(options.size_arguments),
      sizes_(index_type_) {}

int SpecialContext::AddScratch(TensorShape shape, std::optional<double> value) {
  shapes_.push_back(shape);
  scratch_.push_back({std::move(shape), value});
  return static_cast<int>(shapes_.size()) - 1;
}

std::vector<SpecialContext::Argument> SpecialContext::ResultAndOperands() const {
  std::vector<Argument> arguments = {{"out0", 0, true}};
  for (int i = 0; i < static_cast<int>(special_.operands.size()); ++i) {
    arguments.push_back({absl::StrCat("in", i), i + 1});
  }
  return arguments;
}

void SpecialContext::Launch(int64_t items, const std::vector<Argument>& arguments,
                            std::vector<StmtPtr> body) {
  loop::Kernel kernel;
  kernel.name = launches_.empty() ? name_ : absl::StrCat(name_, "_", launches_.size());
  // The text of a dynamic-shape kernel, including comments, must not depend on the sizes.
  kernel.comments = {takes_sizes_
                         ? std::string(ir::Name(special_.kind))
                         : absl::StrCat(ir::Name(special_.kind), " ", result().ToString())};
  kernel.index_type = index_type_;
  std::vector<int> buffers;
  for (const Argument& argument : arguments) {
    const DataType stored =
        argument.bits == DataType::kInvalid ? shapes_[argument.buffer].type : argument.bits;
    kernel.parameters.push_back({argument.name, stored, argument.is_output});
    buffers.push_back(argument.buffer);
  }
  const ExprPtr work_item = loop::Work(loop::WorkId::kGlobal, 0, index_type_);
  if (is_cpu()) {
    const int64_t tasks = std::min(items, plan::cpu::kTasksPerCore * settings_.compute_units);
    const int64_t grain = (items + tasks - 1) / tasks;
    kernel.global_size[0] = (items + grain - 1) / grain;
    if (grain == 1 && !takes_sizes_) {
      body.insert(body.begin(), Declare("item", work_item));
      kernel.body = loop::MakeBlock(std::move(body));
    } else {
      const ExprPtr end = loop::Add(Var("first_item"), Size("grain", grain));
      const bool is_even = items % grain == 0 && !takes_sizes_;
      kernel.body =
          loop::MakeBlock({Declare("first_item", loop::Mul(work_item, Size("grain", grain))),
                           loop::MakeFor("item", Var("first_item"),
                                         is_even ? end : loop::Min(end, Size("items", items)),
                                         loop::MakeBlock(std::move(body)))});
    }
  } else {
    constexpr int64_t kFewThreads = 32;
    const int64_t threads =
        items >= settings_.threads ? settings_.threads : std::min(settings_.threads, kFewThreads);
    kernel.local_size[0] = threads;
    kernel.global_size[0] = (items + threads - 1) / threads * threads;
    StmtPtr work = loop::MakeBlock(std::move(body));
    if (items % threads != 0 || takes_sizes_) {
      work = loop::MakeIf(loop::Less(Var("item"), Size("items", items)), work);
    }
    kernel.body = loop::MakeBlock({Declare("item", work_item), work});
  }
  kernel.sizes = std::exchange(sizes_, SizeArguments(index_type_)).sizes();
  launches_.push_back({std::move(kernel), std::move(buffers)});
}

ExprPtr SpecialContext::Load(int operand, ExprPtr index, int lanes) const {
  return loop::LoadFrom(absl::StrCat("in", operand), shapes_[operand + 1].type, std::move(index),
                        lanes);
}

ExprPtr SpecialContext::LoadResult(ExprPtr index, int lanes) const {
  return loop::LoadFrom("out0", shapes_[0].type, std::move(index), lanes);
}

StmtPtr SpecialContext::StoreResult(ExprPtr index, ExprPtr value) const {
  return loop::MakeStore("out0", shapes_[0].type, std::move(index), std::move(value));
}

}  // namespace tartan::lower
