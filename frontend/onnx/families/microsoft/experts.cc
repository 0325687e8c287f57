// SPDX-License-Identifier: Apache-2.0
// Microsoft's mixture-of-experts operators. A router chooses some of many small networks for each
// token, and their results are added with weights.
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/sampling_text.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// One layer of all experts: weights [experts, outputs, inputs], bias [experts, outputs] or
// undefined.
struct ExpertLayer {
  Tensor weights;
  Tensor bias;
};

struct Experts {
  ExpertLayer first;   // from hidden to inner; 2 * inner outputs with fused gates
  ExpertLayer second;  // from inner to hidden
  ExpertLayer third;   // gated by the first layer; undefined: absent or fused with the first
  Tensor mix;          // result weights [tokens, experts]; undefined: from the router
  int64_t chosen = 1;  // experts per token
  bool normalizes = false;
  std::string activation;
  // Gate and linear part in one layer: 0 separate, 1 interleaved, 2 concatenated.
  int64_t fusion = 0;
  float alpha = 1;
  float beta = 0;
  std::optional<float> limit;

  int64_t count() const { return first.weights.dims()[0]; }
  int64_t hidden() const { return second.weights.dims()[1]; }
  int64_t inner() const { return second.weights.dims()[2]; }
};

absl::Status ReadAttributes(const NodeContext& context, Experts* experts) {
  TARTAN_RETURN_IF_ERROR(RefuseAttributes(context, {"use_sparse_mixer"}));
  TARTAN_ASSIGN_OR_RETURN(experts->chosen, context.Int("k", 1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t normalizes, context.Int("normalize_routing_weights", 0));
  experts->normalizes = normalizes != 0;
  TARTAN_ASSIGN_OR_RETURN(experts->activation, context.String("activation_type", "relu"));
  TARTAN_ASSIGN_OR_RETURN(experts->fusion, context.Int("swiglu_fusion", 0));
  TARTAN_ASSIGN_OR_RETURN(experts->alpha, context.Float("activation_alpha", 1.0f));
  TARTAN_ASSIGN_OR_RETURN(experts->beta, context.Float("activation_beta", 0.0f));
  if (context.HasAttribute("swiglu_limit")) {
    TARTAN_ASSIGN_OR_RETURN(experts->limit.emplace(), context.Float("swiglu_limit"));
  }
  return absl::OkStatus();
}

absl::Status CheckLayer(const ExpertLayer& layer, absl::string_view name,
                        const std::vector<int64_t>& expected) {
  if (!layer.weights.defined()) return absl::OkStatus();
  if (layer.weights.dims() != expected) {
    return Invalid("weights ", layer.weights.shape().ToString(), " of ", name, ", expected ",
                   DimsToString(expected));
  }
  const std::vector<int64_t> rows(expected.begin(), expected.end() - 1);
  if (!layer.bias.defined() || layer.bias.dims() == rows) return absl::OkStatus();
  return Invalid("bias ", layer.bias.shape().ToString(), " of ", name, ", expected ",
                 DimsToString(rows));
}

absl::Status CheckExperts(const Experts& experts, int64_t tokens, const Tensor& x,
                          const Tensor& router) {
  for (const ExpertLayer* layer : {&experts.first, &experts.second}) {
    if (!layer->weights.defined()) return Invalid("the weights of fc1 or fc2 are missing");
    if (layer->weights.rank() != 3) {
      return Invalid("weights ", layer->weights.shape().ToString(), ", expected rank 3");
    }
  }
  const bool is_fused = experts.activation == "swiglu" && experts.fusion != 0;
  const int64_t count = experts.count();
  const int64_t width = experts.inner() * (is_fused ? 2 : 1);
  TARTAN_RETURN_IF_ERROR(CheckLayer(experts.first, "fc1", {count, width, experts.hidden()}));
  TARTAN_RETURN_IF_ERROR(
      CheckLayer(experts.second, "fc2", {count, experts.hidden(), experts.inner()}));
  TARTAN_RETURN_IF_ERROR(
      CheckLayer(experts.third, "fc3", {count, experts.inner(), experts.hidden()}));
  if (x.dims().back() != experts.hidden()) {
    return Invalid("operand 0 is ", x.shape().ToString(), ", expected rows of ", experts.hidden());
  }
  for (const Tensor& table : {router, experts.mix}) {
    if (!table.defined() || table.dims() == std::vector<int64_t>{tokens, count}) continue;
    return Invalid("the router's ", table.shape().ToString(), " for ", tokens, " tokens and ",
                   count, " experts");
  }
  if (experts.chosen < 1 || experts.chosen > count) {
    return Invalid("attribute 'k' is ", experts.chosen, " of ", count, " experts");
  }
  if (experts.fusion < 0 || experts.fusion > 2) {
    return Invalid("attribute 'swiglu_fusion' is ", experts.fusion);
  }
  if (experts.activation == "swiglu" && !is_fused && !experts.third.weights.defined()) {
    return Invalid("swiglu without fusion needs fc3");
  }
  return absl::OkStatus();
}

class ExpertWriter {
 public:
  ExpertWriter(const Experts& experts, int64_t tokens)
      : experts_(experts),
        tokens_(tokens),
        // Only the weights of the chosen experts are read for few tokens.
        gathers_(tokens * experts.chosen < experts.count()),
        width_(gathers_ ? experts.chosen : experts.count()) {}

  Outputs Apply(const NodeContext& context, const Tensor& x, const Tensor& router) {
    AddRouting(router);
    text_.AddOperand("XIN", x);
    text_.Add("X = ", ReshapeCall("XIN", {tokens_, experts_.hidden()}));
    AddLayer("FC1", experts_.first, "X[t, i]");
    if (experts_.third.weights.defined()) AddLayer("FC3", experts_.third, "X[t, i]");
    TARTAN_RETURN_IF_ERROR(AddActivation());
    AddLayer("FC2", experts_.second, "A[t, e, i]");
    text_.Add("SHARE = ", ReshapeCall("MIX", {tokens_, width_, 1}));
    text_.Add("PART = SHARE == 0 ? 0 : SHARE * FC2");
    text_.Add(Write("SUM", {"t", "h"}, {tokens_, experts_.hidden()}), " = +(PART[t, e, h])");
    text_.Add("Y = ", Cast(ReshapeCall("SUM", x.dims()), x.type()));
    return text_.Apply(context);
  }

 private:
  // Adds MIX [tokens, width], the weight of each expert, and PICK [tokens, width], the chosen
  // experts if not all are computed.
  void AddRouting(const Tensor& router) {
    const auto rows = [&](const char* name) { return Write(name, {"t", "0"}, {tokens_, 1}); };
    text_.AddOperand("ROUTER", router);
    text_.Add("LOGITS = ", Cast("ROUTER", DataType::kFloat32));
    text_.Add("ORDER = argsort(LOGITS, 1, 1)");
    if (experts_.mix.defined()) {
      text_.AddOperand("GIVEN", experts_.mix);
      text_.Add("SHARES = ", Cast("GIVEN", DataType::kFloat32));
    } else {
      text_.Add(rows("GREATEST"), " = >(LOGITS[t, e])");
      text_.Add("POWERS = exp(LOGITS - GREATEST)");
      text_.Add(rows("TOTAL"), " = +(POWERS[t, e])");
      text_.Add("SHARES = POWERS / TOTAL");
    }
    if (gathers_) {
      text_.Add(Write("PICK", {"t", "j"}, {tokens_, width_}), " = =(ORDER[t, j])");
      text_.Add("CHOSEN = gather_elements(SHARES, PICK, 1)");
    } else {
      text_.Add("RANK = argsort(ORDER, 1)");
      text_.Add("CHOSEN = RANK < ", experts_.chosen, " ? SHARES : 0");
    }
    if (!experts_.normalizes) return text_.Add("MIX = CHOSEN");
    text_.Add(rows("ALL"), " = +(CHOSEN[t, e])");
    text_.Add("MIX = CHOSEN / ALL");
  }

  // Adds `name` [tokens, width, outputs], the layer of each expert.
  void AddLayer(const std::string& name, const ExpertLayer& layer, absl::string_view input) {
    const int64_t outputs = layer.weights.dims()[1];
    text_.AddOperand(name + "_W", layer.weights);
    if (gathers_) text_.Add(name, "_G = gather(", name, "_W, PICK, 0)");
    text_.Add(Write(name + "_P", {"t", "e", "o"}, {tokens_, width_, outputs}), " = +(", input,
              " * ", name, gathers_ ? "_G[t, e, o, i])" : "_W[e, o, i])");
    if (!layer.bias.defined()) return text_.Add(name, " = ", name, "_P");
    text_.AddOperand(name + "_B", layer.bias);
    text_.Add(name, " = ", name, "_P + ",
              gathers_ ? absl::StrCat("gather(", name, "_B, PICK, 0)")
                       : ReshapeCall(name + "_B", {1, width_, outputs}));
  }

  // Adds A [tokens, width, inner].
  absl::Status AddActivation() {
    if (experts_.activation == "swiglu") {
      AddSwiGlu();
      return absl::OkStatus();
    }
    const char* form = nullptr;
    if (experts_.activation == "relu") form = "relu(FC1)";
    if (experts_.activation == "silu") form = "FC1 * sigmoid(FC1)";
    if (experts_.activation == "identity") form = "FC1";
    if (experts_.activation == "gelu") {
      form = "0.5 * FC1 * (1 + tanh(0.7978845608 * (FC1 + 0.044715 * FC1 * FC1 * FC1)))";
    }
    if (form == nullptr) return Invalid("attribute 'activation_type' is ", experts_.activation);
    text_.Add("ACTIVE = ", form);
    text_.Add("A = ", experts_.third.weights.defined() ? "ACTIVE * FC3" : "ACTIVE");
    return absl::OkStatus();
  }

  void AddSwiGlu() {
    if (experts_.fusion == 0) {
      text_.Add("GATE = FC1");
      text_.Add("VALUE = FC3");
    } else {
      const std::vector<int64_t> dims = {tokens_, width_, experts_.inner()};
      const bool is_mixed = experts_.fusion == 1;
      text_.Add(Write("GATE", {"t", "e", "i"}, dims), " = =(FC1[t, e, ", is_mixed ? "2*i" : "i",
                "])");
      text_.Add(Write("VALUE", {"t", "e", "i"}, dims), " = =(FC1[t, e, ",
                is_mixed ? std::string("2*i + 1") : absl::StrCat("i + ", experts_.inner()), "])");
    }
    if (experts_.limit.has_value()) {
      const std::string limit = Literal(static_cast<double>(*experts_.limit));
      text_.Add("G = min(GATE, ", limit, ")");
      text_.Add("L = max(min(VALUE, ", limit, "), -", limit, ")");
    } else {
      text_.Add("G = GATE");
      text_.Add("L = VALUE");
    }
    text_.Add("A = G * sigmoid(", Literal(static_cast<double>(experts_.alpha)), " * G) * (L + ",
              Literal(static_cast<double>(experts_.beta)), ")");
  }

  const Experts& experts_;
  const int64_t tokens_;
  const bool gathers_;
  const int64_t width_;
  TileBuilder text_;
};

Outputs Run(NodeContext& context, const Experts& experts) {
  const Tensor& x = context.input(0);
  if (x.rank() != 2 && x.rank() != 3) return Invalid("operand 0 is ", x.shape().ToString());
  const int64_t tokens = x.rank() == 2 ? x.dims()[0] : x.dims()[0] * x.dims()[1];
  TARTAN_RETURN_IF_ERROR(CheckExperts(experts, tokens, x, context.input(1)));
  return ExpertWriter(experts, tokens).Apply(context, x, context.input(1));
}

// Operands: input, router, then weights and bias of fc1, fc2 and fc3.
Outputs MoE(NodeContext& context) {
  Experts experts;
  TARTAN_RETURN_IF_ERROR(ReadAttributes(context, &experts));
  experts.first = {context.value(2).tensor(), context.value(3).tensor()};
  experts.second = {context.value(4).tensor(), context.value(5).tensor()};
  experts.third = {context.value(6).tensor(), context.value(7).tensor()};
  return Run(context, experts);
}

// --- QMoE

// The encoding of one layer's weights.
struct Packing {
  int64_t bits = 4;
  int64_t block = 0;  // along the inputs; 0: one scale per output
};

// Unpacks values from bytes, lowest bits first, along the last dimension of [experts, rows, …].
std::vector<std::string> UnpackStatements(const std::string& name, const Tensor& x, int64_t bits) {
  std::vector<int64_t> dims = x.dims();
  std::vector<int64_t> apart = dims;
  apart.push_back(1);
  dims.back() *= 8 / bits;
  return {absl::StrCat(name, "_B = ", ReshapeCall(Cast(name, DataType::kInt32), apart)),
          absl::StrCat(name, "_E = (", name, "_B >> (PART * ", bits, ")) & ", (1 << bits) - 1),
          absl::StrCat(name, "_N = ", ReshapeCall(name + "_E", dims))};
}

// Dequantizes packed weights [experts, outputs, bytes] with the operands `scales` and `zeros`.
absl::StatusOr<Tensor> Unpacked(const NodeContext& context, int weights, int scales, int zeros,
                                const Packing& packing) {
  if (!context.HasInput(weights)) return Invalid("operand ", weights, ", weights, is missing");
  const Tensor& w = context.input(weights);
  if (!context.HasInput(scales)) return Invalid("operand ", scales, ", scales, is missing");
  if (w.rank() != 3) return Invalid("operand ", weights, " is ", w.shape().ToString());
  const int64_t parts = 8 / packing.bits;
  const int64_t inputs = w.dims()[2] * parts;
  const int64_t block = packing.block > 0 ? packing.block : inputs;
  const int64_t blocks = block == 0 ? 0 : inputs / block;
  const std::vector<int64_t> rows = {w.dims()[0], w.dims()[1], blocks};
  const Tensor& scale = context.input(scales);
  if (scale.shape().element_count() != rows[0] * rows[1] * rows[2] || inputs % block != 0) {
    return Invalid("operand ", scales, " is ", scale.shape().ToString(), ", expected ",
                   DimsToString(rows));
  }
  std::vector<std::string> statements = UnpackStatements("W", w, packing.bits);
  std::vector<Tensor> operands = {w, scale, Positions(DataType::kInt32, parts)};
  std::string zero = absl::StrCat(int64_t{1} << (packing.bits - 1));
  if (context.HasInput(zeros)) {
    const Tensor& z = context.input(zeros);
    operands.push_back(z);
    for (std::string& s : UnpackStatements("Z", z, packing.bits))
      statements.push_back(std::move(s));
    // Rows are padded to whole bytes.
    const bool has_blocks = z.rank() == 3;
    const std::vector<std::string> at =
        has_blocks ? std::vector<std::string>{"e", "o", "b"} : std::vector<std::string>{"e", "o"};
    const std::vector<int64_t> kept = has_blocks ? rows : std::vector<int64_t>{rows[0], rows[1]};
    if (z.dims().back() * parts < kept.back() || (!has_blocks && blocks != 1)) {
      return Invalid("operand ", zeros, " is ", z.shape().ToString(), " for ", DimsToString(rows));
    }
    statements.push_back(absl::StrCat(Write("ZEROS", at, kept), " = =(", Read("Z_N", at), ")"));
    zero = ReshapeCall("ZEROS", {rows[0], rows[1], blocks, 1});
  }
  statements.push_back("Q = " + ReshapeCall("W_N", {rows[0], rows[1], blocks, block}));
  statements.push_back(absl::StrCat("D = ", Cast(absl::StrCat("Q - ", zero), DataType::kFloat32),
                                    " * ", ReshapeCall("S", {rows[0], rows[1], blocks, 1})));
  statements.push_back("Y = " + ReshapeCall("D", {rows[0], rows[1], inputs}));
  return context.ApplyOne(
      TileFunction(operands.size() == 4 ? "W, S, PART, Z" : "W, S, PART", "Y", statements),
      operands);
}

absl::StatusOr<Packing> ReadPacking(const NodeContext& context, int layer) {
  Packing packing;
  TARTAN_ASSIGN_OR_RETURN(const int64_t bits, context.Int("expert_weight_bits", 4));
  TARTAN_ASSIGN_OR_RETURN(packing.bits,
                          context.Int(absl::StrCat("fc", layer, "_expert_weight_bits"), bits));
  TARTAN_ASSIGN_OR_RETURN(packing.block, context.Int("block_size", 0));
  if (packing.bits != 2 && packing.bits != 4 && packing.bits != 8) {
    return Unsupported("weights of ", packing.bits, " bits");
  }
  return packing;
}

// Operands: input, router, then weights, scales and bias of fc1, fc2 and fc3, their zero points,
// and the result weights.
Outputs QMoE(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string kind, context.String("quant_type", "int"));
  if (kind != "int") return Unsupported("attribute 'quant_type' is ", kind);
  TARTAN_ASSIGN_OR_RETURN(const int64_t prepacked, context.Int("weights_prepacked", -1));
  if (prepacked == 1) return Unsupported("attribute 'weights_prepacked' is ", prepacked);
  TARTAN_RETURN_IF_ERROR(RefuseOperands(context, {15, 16, 17, 18, 19, 20}));
  Experts experts;
  TARTAN_RETURN_IF_ERROR(ReadAttributes(context, &experts));
  ExpertLayer* const layers[] = {&experts.first, &experts.second, &experts.third};
  for (int layer = 0; layer < 3; ++layer) {
    const int weights = 2 + 3 * layer;
    if (layer == 2 && !context.HasInput(weights)) break;
    TARTAN_ASSIGN_OR_RETURN(const Packing packing, ReadPacking(context, layer + 1));
    TARTAN_ASSIGN_OR_RETURN(layers[layer]->weights,
                            Unpacked(context, weights, weights + 1, 11 + layer, packing));
    layers[layer]->bias = context.value(weights + 2).tensor();
  }
  experts.mix = context.value(14).tensor();
  return Run(context, experts);
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("MoE", {2, 8}, MoE),
    MicrosoftRow("QMoE", {2, 21}, QMoE),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftExpertOperators() { return kOperators; }

}  // namespace tartan::onnx
