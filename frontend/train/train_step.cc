// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/train_step.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/api/gradient.h"
#include "frontend/api/tensor_node.h"
#include "frontend/train/clipping.h"
#include "frontend/train/graph/apply_loss.h"
#include "frontend/train/graph/batch_bindings.h"
#include "frontend/train/graph/lora.h"
#include "frontend/train/graph/sparse_rows.h"
#include "frontend/train/precision/round_graph.h"
#include "frontend/train/ranks/joined_sums.h"
#include "frontend/train/ranks/joint_statistics.h"
#include "frontend/train/ranks/norms.h"
#include "frontend/train/step_sums.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

using api::Tensor;

constexpr DataType kFloat = DataType::kFloat32;

class StepBuilder {
 public:
  StepBuilder(const onnx::OnnxModel* model, std::vector<Parameter>* parameters,
              const StepPlan& plan)
      : model_(model), parameters_(*parameters), plan_(plan) {}

  // Imports the graph and sets output_ to the value that the loss is applied to. `rounds`: uses the
  // plan's precision, as in a training step.
  absl::Status Import(const BatchShapes& shapes, const onnx::TrainingMode& mode,
                      const Augmentations& augment, bool rounds) {
    precision_ = rounds ? plan_.precision : Precision::kFloat32;
    while (true) {
      masters_.clear();
      graph_ = {};
      graph_.precision = precision_;
      TARTAN_ASSIGN_OR_RETURN(const std::vector<api::InputBinding> bindings,
                              Bindings(shapes, augment));
      given_ = GivenTensors(bindings);
      onnx::TrainingMode with_output = mode;
      with_output.outputs.push_back(plan_.output);
      TARTAN_ASSIGN_OR_RETURN(bound_, model_->BindToTrain(bindings, with_output));
      if (bound_.needed_values.empty()) break;
      TARTAN_RETURN_IF_ERROR(FreezeInputs(*model_, bound_.needed_values, &parameters_));
    }
    TARTAN_RETURN_IF_ERROR(RoundGraph(precision_, given_, &bound_));
    statistics_ = JointStatistics(&bound_);
    const api::Value& output = bound_.outputs.back();
    if (!output.is_tensor()) {
      return absl::InvalidArgumentError(absl::StrCat("'", plan_.output, "' is not a tensor"));
    }
    TARTAN_ASSIGN_OR_RETURN(output_, CastTo(output.tensor(), kFloat));
    if (shapes.target.has_value()) {
      target_ = Tensor::Placeholder("target", *shapes.target);
      graph_.inputs.push_back(target_);
      graph_.classes = ClassCount(plan_.loss, output_.shape(), target_.shape());
    }
    TARTAN_ASSIGN_OR_RETURN(terms_, ApplyLoss(plan_.loss, output_, target_));
    return absl::OkStatus();
  }

  absl::StatusOr<StepGraph> Step() {
    AddNumbers();
    AddSeeds();
    TARTAN_ASSIGN_OR_RETURN(const Tensor loss, BatchLoss(terms_));
    TARTAN_ASSIGN_OR_RETURN(const Tensor healthy, AddSums(loss));
    if (plan_.sparse_embeddings) TARTAN_RETURN_IF_ERROR(rows_.Find(loss, parameters_, masters_));
    std::vector<Tensor> wrt;
    for (const Parameter& parameter : parameters_) {
      if (parameter.is_trained) wrt.push_back(rows_.SourceOf(masters_.at(parameter.name)));
    }
    statistics_.AppendTo(&wrt);
    api::GradientOptions options;
    options.straight_through = plan_.straight_through;
    Tensor scale;
    if (plan_.loss_scale.has_value()) {
      scale_ = Tensor::Placeholder(kScaleName, {kFloat, {kScaleCount}});
      TARTAN_ASSIGN_OR_RETURN(scale, ScaleOf(scale_));
      TARTAN_ASSIGN_OR_RETURN(scale, statistics_.ScaleByExample(scale, terms_.denominator));
    }
    if (plan_.joins) {
      TARTAN_ASSIGN_OR_RETURN(weight_, WeightOf(terms_));
    }
    TARTAN_ASSIGN_OR_RETURN(const Tensor seed, statistics_.SeedOf(scale, weight_));
    const api::SeededTensor seeded{loss, seed};
    TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> gradients,
                            api::Gradient(absl::MakeConstSpan(&seeded, 1), wrt, options));
    const auto add_state = [this](std::string name, const Tensor& input, Tensor next) {
      AddState({std::move(name), input.shape()}, input, std::move(next));
    };
    statistics_.AddStates(&gradients, add_state);
    if (plan_.loss_scale.has_value()) TARTAN_RETURN_IF_ERROR(UnscaleAll(scale, &gradients));
    TARTAN_RETURN_IF_ERROR(rows_.Sum(parameters_, masters_, &gradients));
    Tensor is_taken = healthy;
    if (plan_.accumulates) {
      TARTAN_RETURN_IF_ERROR(Accumulate(gradients, healthy));
      if (plan_.loss_scale.has_value())
        AddState({kScaleName, scale_.shape()}, scale_, Tensor());  // read-only
    } else {
      TARTAN_ASSIGN_OR_RETURN(is_taken, UpdateAll(std::move(gradients), healthy));
    }
    TARTAN_RETURN_IF_ERROR(AddStatistics(is_taken));
    return std::move(graph_);
  }

  absl::StatusOr<StepGraph> Apply() {
    AddNumbers();
    std::vector<Tensor> gradients;
    for (const Parameter& parameter : parameters_) {
      if (!parameter.is_trained) continue;
      masters_[parameter.name] = Tensor::Placeholder(parameter.name, Master(parameter.shape));
      const StateSpec spec = {StateName("gradient", parameter.name),
                              plan_.SumShape(parameter.shape)};
      const Tensor sum = Tensor::Placeholder(spec.name, spec.shape);
      TARTAN_ASSIGN_OR_RETURN(const Tensor zero, api::Filled(sum.shape(), 0));
      AddState(spec, sum, plan_.replaces_sums ? Tensor() : zero);
      TARTAN_ASSIGN_OR_RETURN(gradients.emplace_back(), CastTo(sum, kFloat));
    }
    TARTAN_ASSIGN_OR_RETURN(const Tensor healthy, AddApplied(&gradients));
    scale_ = Tensor::Placeholder(kScaleName, {kFloat, {kScaleCount}});
    if (plan_.NeedsNorms()) {
      norms_ = Tensor::Placeholder(kNorms, {kFloat, {kNormCount}});
      AddState({kNorms, norms_.shape()}, norms_, Tensor());
    }
    TARTAN_RETURN_IF_ERROR(UpdateAll(std::move(gradients), healthy).status());
    return std::move(graph_);
  }

  absl::StatusOr<StepGraph> Evaluation() {
    AddParametersAsTheyAre();
    graph_.outputs = {terms_.numerator, terms_.denominator, output_};
    return std::move(graph_);
  }

  // Requires: Import with all values of the graph among the mode's outputs.
  absl::StatusOr<StepGraph> Search(const std::vector<std::string>& values,
                                   std::vector<std::string>* names) {
    const auto add_count = [&](std::string name, const Tensor& value) {
      return AddCount(std::move(name), value, &graph_.outputs, names);
    };
    for (const auto& [name, master] : masters_) {
      TARTAN_RETURN_IF_ERROR(add_count(absl::StrCat("the parameter '", name, "'"), master));
    }
    for (const Tensor& input : graph_.inputs) {
      TARTAN_RETURN_IF_ERROR(
          add_count(absl::StrCat("the input '", input.node()->name, "'"), input));
    }
    const size_t first = bound_.outputs.size() - 1 - values.size();
    for (size_t v = 0; v < values.size(); ++v) {
      const api::Value& value = bound_.outputs[first + v];
      if (!value.is_tensor()) continue;
      const std::string producer = model_->ProducerOf(values[v]);
      TARTAN_RETURN_IF_ERROR(
          add_count(absl::StrCat("'", values[v], "', from ", producer, ","), value.tensor()));
    }
    AddParametersAsTheyAre();
    AddSeeds();
    return std::move(graph_);
  }

 private:
  void AddParametersAsTheyAre() {
    for (const auto& [name, master] : masters_)
      AddState({StateName("parameter", name), master.shape()}, master, Tensor());
  }

  absl::StatusOr<std::vector<api::InputBinding>> Bindings(const BatchShapes& shapes,
                                                          const Augmentations& augment) {
    TARTAN_ASSIGN_OR_RETURN(std::vector<api::InputBinding> bindings,
                            BindBatch(*model_, shapes.inputs));
    graph_.inputs = GivenTensors(bindings);
    if (!augment.list.empty()) {
      TARTAN_ASSIGN_OR_RETURN(augment_seed_, AugmentInputs(*model_, augment, &bindings));
    }
    for (const Parameter& parameter : parameters_) {
      if (!parameter.is_state(plan_.mode.batch_norm)) continue;
      masters_[parameter.name] = Tensor::Placeholder(parameter.name, Master(parameter.shape));
    }
    for (const Parameter& parameter : parameters_) {
      if (parameter.is_factor()) continue;
      api::InputBinding& binding = bindings[parameter.input];
      binding.given = parameter.is_state(plan_.mode.batch_norm) || parameter.lora_rank > 0;
      if (!binding.given) continue;
      TARTAN_ASSIGN_OR_RETURN(const Tensor master, ValueOf(*model_, parameter, masters_));
      binding.shape = parameter.shape;
      TARTAN_ASSIGN_OR_RETURN(binding.tensor, CopyOf(master, parameter, precision_));
    }
    return bindings;
  }

  void AddSeeds() {
    for (const Tensor& seed : {bound_.random_seed, augment_seed_}) {
      if (!seed.defined()) continue;
      graph_.inputs.push_back(seed);
      ++graph_.seeds;
    }
  }

  void AddNumbers() {
    numbers_ = Tensor::Placeholder("numbers", {kFloat, {kStepScalarCount}});
    graph_.inputs.push_back(numbers_);
  }

  void AddState(StateSpec spec, const Tensor& input, Tensor next) {
    graph_.specs.push_back(std::move(spec));
    graph_.states.push_back({input, std::move(next)});
  }

  // Adds the sums, and the number of steps skipped since a loss was not finite. Returns whether
  // this step takes effect.
  absl::StatusOr<Tensor> AddSums(const Tensor& loss) {
    const TensorShape counter{DataType::kInt32, {}};
    const Tensor skipped = Tensor::Placeholder(kSkipped, counter);
    TARTAN_ASSIGN_OR_RETURN(const Tensor healthy, TakesEffect(skipped, loss));
    TARTAN_ASSIGN_OR_RETURN(next_skipped_, NextSkipped(skipped, healthy));
    AddState({kSkipped, counter}, skipped, next_skipped_);
    const TensorShape shape{kFloat, {kSumCount}};
    const Tensor sums = Tensor::Placeholder(kSums, shape);
    TARTAN_ASSIGN_OR_RETURN(const Tensor next,
                            NextSums(sums, healthy, plan_.loss, terms_, output_, target_));
    AddState({kSums, shape}, sums, next);
    return healthy;
  }

  absl::Status Accumulate(const std::vector<Tensor>& gradients, const Tensor& healthy) {
    size_t next = 0;
    Tensor weight = weight_;
    if (plan_.joins) {
      const Tensor joined = Tensor::Placeholder(kJoined, {kFloat, {kJoinedCount}});
      TARTAN_ASSIGN_OR_RETURN(Tensor after, NextJoined(joined, healthy, weight, next_skipped_));
      AddState({kJoined, joined.shape()}, joined, std::move(after));
      if (!statistics_.empty()) {  // the loss is weighted
        TARTAN_ASSIGN_OR_RETURN(weight, api::Filled(weight.shape(), 1));
      }
    }
    for (const Parameter& parameter : parameters_) {
      if (!parameter.is_trained) continue;
      const Tensor& gradient = gradients[next++];
      // Only the forward pass reads it.
      const Tensor& master = masters_.at(parameter.name);
      AddState({StateName("parameter", parameter.name), master.shape()}, master, Tensor());
      const StateSpec spec = {StateName("gradient", parameter.name),
                              plan_.SumShape(parameter.shape)};
      const Tensor sum = Tensor::Placeholder(spec.name, spec.shape);
      TARTAN_ASSIGN_OR_RETURN(
          Tensor added, AddToSum(plan_.replaces_sums ? Tensor() : sum, gradient, healthy, weight,
                                 absl::StrCat(parameter.name, "_sum")));
      TARTAN_ASSIGN_OR_RETURN(added, CastTo(added, spec.shape.type));
      AddState(spec, sum, std::move(added));
    }
    return absl::OkStatus();
  }

  // The states with which the sums are applied. Returns whether the update is made; makes means of
  // `gradients` if they are sums over ranks.
  absl::StatusOr<Tensor> AddApplied(std::vector<Tensor>* gradients) {
    const StateSpec spec = {kSkipped, {DataType::kInt32, {}}};
    const Tensor skipped = Tensor::Placeholder(spec.name, spec.shape);
    if (!plan_.joins) {
      AddState(spec, skipped, Tensor());
      return api::Apply("function (S) -> (OK) { OK = S == 0; }", {skipped}, "ok");
    }
    TARTAN_ASSIGN_OR_RETURN(JoinedUpdate update, ApplyJoined(skipped, gradients));
    AddState({kJoined, update.joined.shape()}, update.joined, std::move(update.next_joined));
    AddState(spec, skipped, std::move(update.next_skipped));
    return update.healthy;
  }

  // Returns whether the update is made: requires `healthy` and, with a scaled loss, finite
  // gradients.
  absl::StatusOr<Tensor> UpdateAll(std::vector<Tensor> gradients, const Tensor& healthy) {
    TARTAN_ASSIGN_OR_RETURN(const Tensor is_taken, FollowScale(gradients, healthy));
    if (plan_.clip_value > 0) {
      for (Tensor& gradient : gradients) {
        TARTAN_ASSIGN_OR_RETURN(gradient, ClipElements(gradient, plan_.clip_value));
      }
    }
    Tensor factor;
    if (plan_.clip_norm > 0) {
      TARTAN_ASSIGN_OR_RETURN(const Tensor squares,
                              norms_.defined() ? SquaresOf(norms_) : SumOfSquares(gradients));
      TARTAN_ASSIGN_OR_RETURN(factor, ClipFactor(squares, plan_.clip_norm, numbers_));
    }
    const std::vector<std::string> slots = SlotNames(plan_.optimizer);
    size_t next = 0;
    for (const Parameter& parameter : parameters_) {
      if (!parameter.is_trained) continue;
      const Tensor& master = masters_.at(parameter.name);
      std::vector<Tensor> old;
      for (const std::string& slot : slots) {
        old.push_back(Tensor::Placeholder(StateName(slot, parameter.name), master.shape()));
      }
      TARTAN_ASSIGN_OR_RETURN(
          Updated updated, rows_.Update(plan_.optimizer, parameter.group, master, gradients[next++],
                                        old, numbers_, factor, is_taken, parameter.name));
      AddState({StateName("parameter", parameter.name), master.shape()}, master,
               std::move(updated.parameter));
      for (size_t s = 0; s < slots.size(); ++s) {
        AddState({StateName(slots[s], parameter.name), master.shape()}, old[s],
                 std::move(updated.slots[s]));
      }
    }
    return is_taken;
  }

  absl::StatusOr<Tensor> FollowScale(const std::vector<Tensor>& gradients, const Tensor& healthy) {
    if (!plan_.loss_scale.has_value()) return healthy;
    TARTAN_ASSIGN_OR_RETURN(const Tensor finite,
                            norms_.defined() ? FiniteOf(norms_) : AllFinite(gradients));
    TARTAN_ASSIGN_OR_RETURN(Tensor next,
                            NextScale(*plan_.loss_scale, plan_.optimizer, scale_, finite, healthy));
    TARTAN_ASSIGN_OR_RETURN(numbers_, CorrectedStepScalars(numbers_, next));
    AddState({kScaleName, scale_.shape()}, scale_, std::move(next));
    return api::Apply("function (A, B) -> (OK) { OK = A && B; }", {healthy, finite}, "ok");
  }

  // Adds the running statistics: updated ones as states with next values, others read-only.
  absl::Status AddStatistics(const Tensor& healthy) {
    for (const Parameter& parameter : parameters_) {
      if (parameter.is_trained || !parameter.is_state(plan_.mode.batch_norm)) continue;
      const Tensor& master = masters_.at(parameter.name);
      Tensor next;
      for (const auto& [tensor, value] : bound_.updates) {
        if (!(tensor == master)) continue;
        TARTAN_ASSIGN_OR_RETURN(next, api::Apply("function (S, N, OK) -> (R) { R = OK ? N : S; }",
                                                 {master, value, healthy}, parameter.name));
      }
      AddState({StateName("parameter", parameter.name), master.shape()}, master, std::move(next));
    }
    return absl::OkStatus();
  }

  const onnx::OnnxModel* const model_;
  std::vector<Parameter>& parameters_;
  const StepPlan& plan_;
  StepGraph graph_;
  api::BoundGraph bound_;
  std::map<std::string, Tensor> masters_;
  RowUpdates rows_;  // of embeddings
  Tensor output_;
  Tensor target_;
  Tensor numbers_;
  Tensor augment_seed_;
  std::vector<Tensor> given_;  // inputs of the graph, after augmentation, and parameters
  Tensor scale_;               // state of the loss scale
  Tensor norms_;               // of the gradients of all ranks, if each updates its part
  Tensor next_skipped_;        // number of skipped steps after this one
  Precision precision_ = Precision::kFloat32;
  LossTerms terms_;
  Tensor weight_;  // of the batch, if ranks join gradients
  JointStatistics statistics_;
};

}  // namespace

std::string StateName(absl::string_view kind, absl::string_view parameter) {
  return absl::StrCat(kind, "/", parameter);
}

absl::StatusOr<StepGraph> BuildStep(const onnx::OnnxModel& model,
                                    std::vector<Parameter>* parameters, const StepPlan& plan,
                                    const BatchShapes& shapes) {
  StepBuilder builder(&model, parameters, plan);
  TARTAN_RETURN_IF_ERROR(builder.Import(shapes, plan.mode, plan.augment, /*rounds=*/true));
  return builder.Step();
}

absl::StatusOr<StepGraph> BuildApply(std::vector<Parameter> parameters, const StepPlan& plan) {
  return StepBuilder(nullptr, &parameters, plan).Apply();
}

absl::StatusOr<StepGraph> BuildEvaluation(const onnx::OnnxModel& model,
                                          std::vector<Parameter>* parameters, const StepPlan& plan,
                                          const BatchShapes& shapes) {
  StepBuilder builder(&model, parameters, plan);
  TARTAN_RETURN_IF_ERROR(
      builder.Import(shapes, onnx::TrainingMode(), Augmentations(), /*rounds=*/false));
  return builder.Evaluation();
}

absl::StatusOr<StepGraph> BuildSearch(const onnx::OnnxModel& model,
                                      std::vector<Parameter>* parameters, const StepPlan& plan,
                                      const BatchShapes& shapes, std::vector<std::string>* names) {
  StepBuilder builder(&model, parameters, plan);
  onnx::TrainingMode mode = plan.mode;
  mode.outputs = model.ValuesInOrder();
  mode.joint_ranks = 0;  // other ranks do not search
  TARTAN_RETURN_IF_ERROR(builder.Import(shapes, mode, plan.augment, /*rounds=*/true));
  return builder.Search(mode.outputs, names);
}

}  // namespace tartan::train
