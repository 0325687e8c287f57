// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/attention.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/decoding_mode.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Writes the Tile function. Scores have the dimensions batch, key heads, query heads per key head
// (if more than one), queries, keys.
class AttentionWriter {
 public:
  explicit AttentionWriter(const AttentionCall& call)
      : call_(call),
        batch_(call.query.dims()[0]),
        key_heads_(call.key.dims()[1]),
        per_key_(key_heads_ == 0 ? 1 : call.heads() / key_heads_),
        queries_(call.query.dims()[2]),
        keys_(call.key.dims()[2]),
        size_(call.query.dims()[3]),
        value_size_(call.value.dims()[3]) {}

  absl::StatusOr<AttentionResult> Apply(const NodeContext& context) {
    AddScores();
    AddOperand("V", call_.value);
    AddCap();
    TARTAN_RETURN_IF_ERROR(AddMask());
    AddSoftmax();
    AddResult();
    std::string outputs = "Y";
    if (call_.stage != ScoreStage::kNone) outputs += ", SCORES";
    TARTAN_ASSIGN_OR_RETURN(
        std::vector<Tensor> made,
        context.Apply(TileFunction(absl::StrJoin(names_, ", "), outputs, statements_), operands_));
    AttentionResult result{made[0], Tensor()};
    if (made.size() > 1) result.scores = made[1];
    return result;
  }

  absl::StatusOr<Tensor> ApplyScores(const NodeContext& context) {
    AddScores();
    const std::string scores =
        is_grouped() ? ReshapeCall("SCALED", {batch_, call_.heads(), queries_, keys_}) : "SCALED";
    Add(absl::StrCat("Y = ", Cast(scores, call_.softmax_type.value_or(DataType::kFloat32))));
    return context.ApplyOne(TileFunction(absl::StrJoin(names_, ", "), "Y", statements_), operands_);
  }

  absl::StatusOr<Tensor> ApplyWeights(const NodeContext& context, const Tensor& probabilities) {
    AddOperand("GIVEN", probabilities);
    AddOperand("V", call_.value);
    Add(absl::StrCat("P = ", ReshapeCall("GIVEN", ScoreDims())));
    AddResult();
    return context.ApplyOne(TileFunction(absl::StrJoin(names_, ", "), "Y", statements_), operands_);
  }

 private:
  bool is_grouped() const { return per_key_ != 1; }

  void Add(std::string statement) { statements_.push_back(std::move(statement)); }

  void AddOperand(const std::string& name, const Tensor& tensor) {
    names_.push_back(name);
    operands_.push_back(tensor);
  }

  // Also splits the dimension of heads in two if heads are grouped. Returns the name of the result.
  std::string AddOperand(const std::string& name, const Tensor& tensor,
                         const std::vector<int64_t>& last, int64_t rows) {
    AddOperand(name, tensor);
    if (!is_grouped()) return name;
    std::vector<int64_t> dims = LeadDims({rows});
    dims.insert(dims.end(), last.begin(), last.end());
    Add(absl::StrCat(name, "G = ", ReshapeCall(name, dims)));
    return name + "G";
  }

  std::vector<std::string> LeadNames(const std::vector<std::string>& last) const {
    std::vector<std::string> names = {"b", "g"};
    if (is_grouped()) names.push_back("r");
    names.insert(names.end(), last.begin(), last.end());
    return names;
  }
  std::vector<int64_t> LeadDims(const std::vector<int64_t>& last) const {
    std::vector<int64_t> dims = {batch_, key_heads_};
    if (is_grouped()) dims.push_back(per_key_);
    dims.insert(dims.end(), last.begin(), last.end());
    return dims;
  }
  std::vector<std::string> ScoreNames() const { return LeadNames({"i", "j"}); }
  std::vector<int64_t> ScoreDims() const { return LeadDims({queries_, keys_}); }
  int64_t ScoreRank() const { return is_grouped() ? 5 : 4; }

  // A step of the calculation, rounded to step_type.
  std::string Step(const std::string& expression) const {
    return call_.step_type ? Cast(expression, *call_.step_type) : expression;
  }
  // A step of the softmax, which may have a type of its own.
  std::string SoftmaxStep(const std::string& expression) const {
    return call_.step_type ? Cast(expression, call_.softmax_type.value_or(*call_.step_type))
                           : expression;
  }

  void AddScores() {
    std::string query = AddOperand("Q", call_.query, {size_}, queries_);
    std::string key = "K";
    AddOperand("K", call_.key);
    const bool scales_apart = call_.step_type && call_.scale >= 0;
    if (scales_apart) {
      Add(absl::StrCat("ROOT = ", Cast(Literal(std::sqrt(call_.scale)), *call_.step_type)));
      Add(absl::StrCat("QSCALED = ", Step(absl::StrCat(query, " * ROOT"))));
      Add(absl::StrCat("KSCALED = ", Step("K * ROOT")));
      query = "QSCALED";
      key = "KSCALED";
    }
    Add(absl::StrCat(Write("QK", ScoreNames(), ScoreDims()), " = +(",
                     Read(query, LeadNames({"i", "d"})), " * ", key, "[b, g, j, d])"));
    const std::string scale = scales_apart ? "" : absl::StrCat(" * ", Literal(call_.scale));
    Add(absl::StrCat("SCALED = ", Step(absl::StrCat("QK", scale))));
  }

  void AddCap() {
    if (call_.softcap == 0) {
      Add("CAPPED = SCALED");
      return;
    }
    const std::string cap = Literal(call_.softcap);
    Add(absl::StrCat("RATIO = ", Step(absl::StrCat("SCALED / ", cap))));
    Add(absl::StrCat("BENT = ", Step("tanh(RATIO)")));
    Add(absl::StrCat("CAPPED = ", Step(absl::StrCat("BENT * ", cap))));
  }

  // Adds a mask in the dimensions of the scores. Its last dimension is complete or 1. Keys past the
  // end of a shorter mask are hidden by conditions_.
  absl::StatusOr<std::string> AddMaskOperand(const std::string& name, const Tensor& mask) {
    const std::vector<int64_t> whole = {batch_, call_.heads(), queries_, keys_};
    std::vector<int64_t> dims(4 - std::min<size_t>(4, mask.dims().size()), 1);
    dims.insert(dims.end(), mask.dims().begin(), mask.dims().end());
    bool fits = dims.size() == 4 && dims[3] <= keys_;
    for (size_t d = 0; fits && d < 3; ++d) fits = dims[d] == 1 || dims[d] == whole[d];
    if (!fits) {
      return Invalid("a mask of ", mask.shape().ToString(), " does not broadcast to the scores ",
                     DimsToString(whole));
    }
    AddOperand(name, mask);
    std::vector<int64_t> split = {dims[0], dims[1], dims[2], dims[3]};
    if (is_grouped()) {
      const bool varies = dims[1] != 1;
      split = {dims[0], varies ? key_heads_ : 1, varies ? per_key_ : 1, dims[2], dims[3]};
    }
    Add(absl::StrCat(name, "S = ", ReshapeCall(name, split)));
    if (dims[3] == keys_ || dims[3] == 1) return name + "S";
    const std::vector<std::string> indices = IndexNames(ScoreRank());
    const int64_t given = split.back();
    split.back() = keys_;
    Add(absl::StrCat(Write(name + "P", indices, split), " = =(", Read(name + "S", indices), ")"));
    conditions_.push_back(absl::StrCat("KEY < ", given));
    return name + "P";
  }

  // Adds the operand `name`, a vector of one integer per sample, shaped to broadcast.
  absl::StatusOr<std::string> AddPerSample(const std::string& name, const Tensor& vector) {
    if (vector.shape().element_count() != batch_) {
      return Invalid("expected an integer for each of ", batch_, " samples, got ",
                     vector.shape().ToString());
    }
    AddOperand(name, vector);
    std::vector<int64_t> dims(static_cast<size_t>(ScoreRank()), 1);
    dims[0] = batch_;
    Add(absl::StrCat(name, "B = ", Cast(ReshapeCall(name, dims), DataType::kInt32)));
    return name + "B";
  }

  absl::Status AddPositions() {
    if (call_.left < 0 && call_.right < 0) return absl::OkStatus();
    std::string offset = Literal(call_.offset);
    if (call_.offsets.defined()) {
      TARTAN_ASSIGN_OR_RETURN(offset, AddPerSample("OFFSETS", call_.offsets));
    }
    Add(absl::StrCat("AHEAD = KEY - index(QK, ", ScoreRank() - 2, ") - ", offset));
    if (call_.left >= 0) conditions_.push_back(absl::StrCat("AHEAD >= -", call_.left));
    if (call_.right >= 0) conditions_.push_back(absl::StrCat("AHEAD <= ", call_.right));
    return absl::OkStatus();
  }

  absl::Status AddMask() {
    Add(absl::StrCat("KEY = index(QK, ", ScoreRank() - 1, ")"));
    TARTAN_RETURN_IF_ERROR(AddPositions());
    if (call_.lengths.defined()) {
      TARTAN_ASSIGN_OR_RETURN(const std::string lengths, AddPerSample("LENGTHS", call_.lengths));
      conditions_.push_back(absl::StrCat("KEY < ", lengths));
    }
    if (call_.visible.defined()) {
      TARTAN_ASSIGN_OR_RETURN(const std::string visible, AddMaskOperand("VISIBLE", call_.visible));
      conditions_.push_back(visible);
    }
    std::string masked = "CAPPED";
    if (call_.bias.defined()) {
      TARTAN_ASSIGN_OR_RETURN(const std::string bias, AddMaskOperand("BIAS", call_.bias));
      // A bias of -infinity hides the key for every score, even NaN.
      masked = absl::StrCat("(", bias, " == (-inf()) ? ", bias, " : CAPPED + ", bias, ")");
    }
    if (!conditions_.empty()) {
      masked = absl::StrCat(absl::StrJoin(conditions_, " && "), " ? ", masked, " : (-inf())");
    }
    Add(absl::StrCat("MASKED = ", call_.bias.defined() ? Step(masked) : masked));
    return absl::OkStatus();
  }

  // True if a query may see no key. Plain causal attention shows the first key to every query.
  bool MaySeeNothing() const {
    if (call_.sink.defined()) return false;
    const bool is_plainly_causal = call_.left < 0 && !call_.offsets.defined() && call_.offset >= 0;
    return call_.bias.defined() || call_.visible.defined() || call_.lengths.defined() ||
           ((call_.left >= 0 || call_.right >= 0) && !is_plainly_causal);
  }

  // Subtracts the maximum score first, so that no exponential overflows.
  void AddSoftmax() {
    Add(absl::StrCat("X = ", call_.softmax_type ? Cast("MASKED", *call_.softmax_type) : "MASKED"));
    const std::vector<int64_t> axes = {ScoreRank() - 1};
    Add(ReduceStatement("GREATEST", '>', "X", ScoreDims(), axes));
    std::string greatest = "GREATEST";
    if (call_.sink.defined()) {
      AddOperand("SINK", call_.sink);
      std::vector<int64_t> dims(static_cast<size_t>(ScoreRank()), 1);
      dims[1] = key_heads_;
      if (is_grouped()) dims[2] = per_key_;
      Add(absl::StrCat("SINKS = ", ReshapeCall("SINK", dims)));
      Add("TOP = max(GREATEST, SINKS)");
      greatest = "TOP";
    } else if (MaySeeNothing()) {
      Add("TOP = GREATEST == (-inf()) ? 0 : GREATEST");
      greatest = "TOP";
    }
    Add(absl::StrCat("DISTANCE = ", SoftmaxStep(absl::StrCat("X - ", greatest))));
    Add(absl::StrCat("E = ", SoftmaxStep("exp(DISTANCE)")));
    Add(ReduceStatement("ADDED", '+', "E", ScoreDims(), axes));
    Add(absl::StrCat("SUM = ", SoftmaxStep("ADDED")));
    if (call_.sink.defined()) {
      Add("TOTAL = SUM + exp(SINKS - TOP)");
    } else if (MaySeeNothing()) {
      Add("TOTAL = GREATEST == (-inf()) ? 1 : SUM");
    }
    const bool has_total = call_.sink.defined() || MaySeeNothing();
    const std::string quotient = absl::StrCat("E / ", has_total ? "TOTAL" : "SUM");
    Add(absl::StrCat("P = ", Step(call_.step_type ? SoftmaxStep(quotient) : quotient)));
  }

  const char* StageName() const {
    switch (call_.stage) {
      case ScoreStage::kScaled:
        return "SCALED";
      case ScoreStage::kCapped:
        return "CAPPED";
      case ScoreStage::kMasked:
        return "MASKED";
      case ScoreStage::kNone:
      case ScoreStage::kProbabilities:
        break;
    }
    return "P";
  }

  void AddResult() {
    const std::vector<int64_t>& q = call_.query.dims();
    std::vector<std::string> names = LeadNames({"i", "d"});
    std::vector<int64_t> dims = LeadDims({queries_, value_size_});
    std::vector<int64_t> joined = {q[0], q[1], queries_, value_size_};
    if (call_.joins_heads) {
      // The dimension of queries moves directly after the batch.
      const auto move = [](auto& list) {
        std::rotate(list.begin() + 1, list.end() - 2, list.end() - 1);
      };
      move(names);
      move(dims);
      joined = {q[0], queries_, q[1] * value_size_};
    }
    Add(absl::StrCat(Write("O", names, dims), " = +(", Read("P", ScoreNames()),
                     " * V[b, g, j, d])"));
    Add(absl::StrCat("Y = ",
                     Cast(dims == joined ? "O" : ReshapeCall("O", joined), call_.query.type())));
    if (call_.stage == ScoreStage::kNone) return;
    const std::string scores =
        is_grouped() ? ReshapeCall(StageName(), {q[0], q[1], queries_, keys_}) : StageName();
    Add(absl::StrCat("SCORES = ", Cast(scores, call_.query.type())));
  }

  const AttentionCall& call_;
  const int64_t batch_;
  const int64_t key_heads_;
  const int64_t per_key_;  // query heads per key head
  const int64_t queries_;
  const int64_t keys_;
  const int64_t size_;
  const int64_t value_size_;
  std::vector<std::string> names_;
  std::vector<Tensor> operands_;
  std::vector<std::string> statements_;
  std::vector<std::string> conditions_;  // a key is visible if all hold
};

absl::Status CheckSizes(const AttentionCall& call) {
  const std::vector<int64_t>& q = call.query.dims();
  const std::vector<int64_t>& k = call.key.dims();
  const std::vector<int64_t>& v = call.value.dims();
  const bool have_rank = q.size() == 4 && k.size() == 4 && v.size() == 4;
  if (!have_rank || q[0] != k[0] || k[0] != v[0] || k[1] != v[1] || k[2] != v[2] || q[3] != k[3]) {
    return Invalid("query ", call.query.shape().ToString(), ", key ", call.key.shape().ToString(),
                   " and value ", call.value.shape().ToString(), " do not match");
  }
  if (k[1] < 1 || q[1] % k[1] != 0) {
    return Invalid(k[1], " heads of the key do not divide ", q[1], " heads of the query");
  }
  if (call.sink.defined() && call.sink.shape().element_count() != q[1]) {
    return Invalid("sinks ", call.sink.shape().ToString(), " for ", q[1], " heads");
  }
  return absl::OkStatus();
}

}  // namespace

namespace {

// Adapts the call to a preallocated cache (decoding_mode.h): hides keys past the current length,
// and shifts the query positions to follow the keys before this step.
absl::StatusOr<AttentionCall> WithPreallocatedCache(const NodeContext& context,
                                                    AttentionCall call) {
  const DecodingMode* mode = context.decoding();
  if (mode == nullptr || call.key.dims()[2] != mode->capacity ||
      call.query.dims()[2] != mode->step) {
    return call;
  }
  const auto per_sample = [&](int64_t more) {
    return context.ApplyOne(
        TileFunction("N", "L",
                     {absl::StrCat("A[b : ", call.query.dims()[0], "] = =(N[0])"),
                      absl::StrCat("L = A + ", more)}),
        {mode->length});
  };
  if (!call.lengths.defined()) {
    TARTAN_ASSIGN_OR_RETURN(call.lengths, per_sample(mode->step));
  }
  if (!call.offsets.defined() && call.offset == mode->capacity - mode->step) {
    TARTAN_ASSIGN_OR_RETURN(call.offsets, per_sample(0));
  }
  return call;
}

}  // namespace

absl::StatusOr<AttentionResult> Attend(const NodeContext& context, const AttentionCall& call) {
  TARTAN_RETURN_IF_ERROR(CheckSizes(call));
  TARTAN_ASSIGN_OR_RETURN(const AttentionCall with_cache, WithPreallocatedCache(context, call));
  return AttentionWriter(with_cache).Apply(context);
}

absl::StatusOr<Tensor> Scores(const NodeContext& context, const AttentionCall& call) {
  TARTAN_RETURN_IF_ERROR(CheckSizes(call));
  TARTAN_ASSIGN_OR_RETURN(const AttentionCall with_cache, WithPreallocatedCache(context, call));
  return AttentionWriter(with_cache).ApplyScores(context);
}

absl::StatusOr<Tensor> ApplyProbabilities(const NodeContext& context, const AttentionCall& call,
                                          const Tensor& probabilities) {
  return AttentionWriter(call).ApplyWeights(context, probabilities);
}

absl::StatusOr<Tensor> SplitHeads(const NodeContext& context, const Tensor& x, int64_t heads) {
  if (x.rank() != 3 || heads < 1 || x.dims()[2] % heads != 0) {
    return Invalid("expected [batch, positions, ", heads, " heads * size], got ",
                   x.shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(
      const Tensor split,
      Reshape(context, x, {x.dims()[0], x.dims()[1], heads, x.dims()[2] / heads}));
  return Transpose(context, split, {0, 2, 1, 3});
}

absl::StatusOr<Tensor> JoinHeads(const NodeContext& context, const Tensor& x) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor transposed, Transpose(context, x, {0, 2, 1, 3}));
  const std::vector<int64_t>& dims = transposed.dims();
  return Reshape(context, transposed, {dims[0], dims[1], dims[2] * dims[3]});
}

}  // namespace tartan::onnx
