// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/last_scores.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

class LastScoresModel final : public api::Model {
 public:
  LastScoresModel(std::shared_ptr<const api::Model> model, size_t scores)
      : model_(std::move(model)), scores_(scores) {}

  const std::string& name() const override { return model_->name(); }
  const std::vector<api::TensorSpec>& inputs() const override { return model_->inputs(); }
  const std::vector<api::TensorSpec>& outputs() const override { return model_->outputs(); }

  absl::StatusOr<api::BoundGraph> Bind(absl::Span<const api::InputBinding> bindings,
                                       api::Resolver* resolver) const override {
    TARTAN_ASSIGN_OR_RETURN(api::BoundGraph graph, model_->Bind(bindings, resolver));
    if (!graph.needed_values.empty()) return graph;
    api::Value& scores = graph.outputs[scores_];
    if (!scores.is_tensor() || scores.tensor().rank() != 3 || scores.tensor().dims()[1] < 2) {
      return graph;
    }
    const std::vector<int64_t>& dims = scores.tensor().dims();
    TARTAN_ASSIGN_OR_RETURN(
        const api::Function last,
        api::Function::FromTile(absl::StrCat("function (X) -> (Y) { Y[b, s, v : ", dims[0], ", 1, ",
                                             dims[2], "] = =(X[b, s + ", dims[1] - 1, ", v]); }")));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<api::Tensor> rows, last.Apply({scores.tensor()}));
    scores = api::Value(rows[0]);
    return graph;
  }

 private:
  const std::shared_ptr<const api::Model> model_;
  const size_t scores_;
};

}  // namespace

std::shared_ptr<const api::Model> WithLastScores(std::shared_ptr<const api::Model> model,
                                                 size_t scores) {
  return std::make_shared<const LastScoresModel>(std::move(model), scores);
}

}  // namespace tartan::generate
