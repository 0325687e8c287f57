// SPDX-License-Identifier: Apache-2.0
// oneDNN implementations of the problems. "onednn" uses the direct algorithm for convolutions,
// "onednn-auto" the fastest available algorithm; they are the same for other problems.
#include <chrono>
#include <memory>
#include <type_traits>
#include <vector>

#include "bench/peers/gemm.h"
#include "bench/peers/onednn_run.h"

namespace tartan::bench {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using RunPtr = std::unique_ptr<OneDnnRun>;

RunPtr Make(const MatmulProblem& p, const PeerRequest& request) {
  const Gemm g = MakeGemm(p, request);
  auto run = std::make_unique<OneDnnRun>();
  const auto matrix = [&](int64_t rows, int64_t columns, bool transposed) {
    if (p.batch == 1) return Plain({rows, columns}, transposed ? Tag::ba : Tag::ab);
    return Plain({p.batch, rows, columns}, transposed ? Tag::acb : Tag::abc);
  };
  const auto a = matrix(g.m, g.k, g.transpose_a);
  const auto b = matrix(g.k, g.n, g.transpose_b);
  const auto c = matrix(g.m, g.n, false);
  // A weight is packed before the measurement; other operands keep their layout.
  const bool b_is_weight =
      p.batch == 1 && request.problem->direction != Direction::kBackwardWeights;
  const auto b_wanted = b_is_weight ? Any({g.k, g.n}) : b;
  const dnnl::matmul::primitive_desc pd({a, b_wanted, c}, run->engine());
  run->SetPrimitive(dnnl::matmul(pd));
  run->AddInput(DNNL_ARG_SRC, a, pd.src_desc(), g.a);
  run->AddInput(DNNL_ARG_WEIGHTS, b, pd.weights_desc(), g.b);
  run->SetOutput(DNNL_ARG_DST, pd.dst_desc(), c);
  return run;
}

struct ConvolutionTensors {
  dnnl::memory::desc data, weights, output;  // in the layouts of the caller
  Dims strides, dilations, padding;
};

ConvolutionTensors Describe(const ConvolutionProblem& p) {
  const Tag tag = p.channels_last ? Tag::nhwc : Tag::nchw;
  ConvolutionTensors t;
  t.data = Plain({p.batch, p.channels, p.height, p.width}, tag);
  t.output = Plain({p.batch, p.outputs, p.output_height(), p.output_width()}, tag);
  const int64_t group_channels = p.channels / p.groups;
  t.weights = p.groups == 1
                  ? Plain({p.outputs, p.channels, p.kernel, p.kernel})
                  : Plain({p.groups, p.outputs / p.groups, group_channels, p.kernel, p.kernel});
  t.strides = {p.stride, p.stride};
  t.dilations = {p.dilation - 1, p.dilation - 1};
  t.padding = {p.padding, p.padding};
  return t;
}

RunPtr MakeConvolution(const ConvolutionProblem& p, algorithm algorithm,
                       const PeerRequest& request) {
  const ConvolutionTensors t = Describe(p);
  auto run = std::make_unique<OneDnnRun>();
  const auto any = [](const dnnl::memory::desc& desc) { return Any(desc.dims()); };
  const bool is_forward = request.problem->direction == Direction::kForward;
  const dnnl::convolution_forward::primitive_desc forward(
      {is_forward ? prop_kind::forward_inference : prop_kind::forward_training, algorithm,
       any(t.data), any(t.weights), any(t.output), t.strides, t.dilations, t.padding, t.padding},
      run->engine());
  const std::vector<const float*>& in = request.inputs;
  if (is_forward) {
    run->SetPrimitive(dnnl::convolution_forward(forward));
    run->AddInput(DNNL_ARG_SRC, t.data, forward.src_desc(), in[0]);
    run->AddInput(DNNL_ARG_WEIGHTS, t.weights, forward.weights_desc(), in[1]);
    run->SetOutput(DNNL_ARG_DST, forward.dst_desc(), t.output);
  } else if (request.problem->direction == Direction::kBackwardData) {
    const dnnl::convolution_backward_data::primitive_desc pd(
        {algorithm, any(t.data), any(t.weights), any(t.output), t.strides, t.dilations, t.padding,
         t.padding},
        run->engine(), forward);
    run->SetPrimitive(dnnl::convolution_backward_data(pd));
    run->AddInput(DNNL_ARG_DIFF_DST, t.output, pd.diff_dst_desc(), in[2]);
    run->AddInput(DNNL_ARG_WEIGHTS, t.weights, pd.weights_desc(), in[1]);
    run->SetOutput(DNNL_ARG_DIFF_SRC, pd.diff_src_desc(), t.data);
  } else {
    const dnnl::convolution_backward_weights::primitive_desc pd(
        {algorithm, any(t.data), any(t.weights), any(t.output), t.strides, t.dilations, t.padding,
         t.padding},
        run->engine(), forward);
    run->SetPrimitive(dnnl::convolution_backward_weights(pd));
    run->AddInput(DNNL_ARG_SRC, t.data, pd.src_desc(), in[0]);
    run->AddInput(DNNL_ARG_DIFF_DST, t.output, pd.diff_dst_desc(), in[2]);
    run->SetOutput(DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc(), t.weights);
  }
  return run;
}

double BestMilliseconds(OneDnnRun& run) {
  double best = 1e30;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run.Run(1);
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, elapsed.count());
  }
  return best;
}

RunPtr Make(const ConvolutionProblem& p, const PeerRequest& request) {
  if (request.engine == "onednn") {
    return MakeConvolution(p, algorithm::convolution_direct, request);
  }
  RunPtr best;
  double best_ms = 0;
  for (const algorithm candidate : {algorithm::convolution_auto, algorithm::convolution_direct,
                                    algorithm::convolution_winograd}) {
    RunPtr run;
    try {
      run = MakeConvolution(p, candidate, request);
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_unimplemented) continue;
      throw;
    }
    const double ms = BestMilliseconds(*run);
    if (best != nullptr && ms >= best_ms) continue;
    best = std::move(run);
    best_ms = ms;
  }
  return best;
}

// An operator with one input and one output, both in the layouts of the caller.
template <class Primitive>
RunPtr MakeUnary(const typename Primitive::primitive_desc& pd, RunPtr run,
                 const dnnl::memory::desc& source, const dnnl::memory::desc& result,
                 const PeerRequest& request) {
  run->SetPrimitive(Primitive(pd));
  run->AddInput(DNNL_ARG_SRC, source, source, request.inputs[0]);
  run->SetOutput(DNNL_ARG_DST, result, result);
  return run;
}

RunPtr MakePool(const PoolProblem& p, Tag tag, const PeerRequest& request) {
  auto run = std::make_unique<OneDnnRun>();
  const Dims source = {p.batch, p.channels, p.height, p.width};
  const Dims result = {p.batch, p.channels, p.output_height(), p.output_width()};
  // Padding at the end that no window reaches is not counted.
  const auto behind = [&p](int64_t size, int64_t outputs) {
    return std::max<int64_t>((outputs - 1) * p.stride + p.kernel - size - p.padding, 0);
  };
  const Dims after = {behind(p.height, p.output_height()), behind(p.width, p.output_width())};
  const dnnl::pooling_forward::primitive_desc pd(
      {prop_kind::forward_inference,
       p.kind == PoolKind::kMax ? algorithm::pooling_max : algorithm::pooling_avg_include_padding,
       Plain(source, tag),
       Plain(result, tag),
       {p.stride, p.stride},
       {p.kernel, p.kernel},
       {p.padding, p.padding},
       after},
      run->engine());
  run->SetPrimitive(dnnl::pooling_forward(pd));
  run->AddInput(DNNL_ARG_SRC, Plain(source), pd.src_desc(), request.inputs[0]);
  run->SetOutput(DNNL_ARG_DST, pd.dst_desc(), Plain(result));
  return run;
}

// Pooling supports any layout; the fastest one is used.
RunPtr Make(const PoolProblem& p, const PeerRequest& request) {
  RunPtr best;
  double best_ms = 0;
  for (const Tag tag : {Tag::nChw16c, Tag::nChw8c, Tag::nhwc, Tag::nchw}) {
    RunPtr run = MakePool(p, tag, request);
    const double ms = BestMilliseconds(*run);
    if (best != nullptr && ms >= best_ms) continue;
    best = std::move(run);
    best_ms = ms;
  }
  return best;
}

RunPtr Make(const ReduceProblem& p, const PeerRequest& request) {
  constexpr algorithm kAlgorithms[] = {algorithm::reduction_sum, algorithm::reduction_mean,
                                       algorithm::reduction_max, algorithm::reduction_min};
  auto run = std::make_unique<OneDnnRun>();
  Dims reduced = p.dims;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (p.axis < 0 || static_cast<int>(d) == p.axis) reduced[d] = 1;
  }
  const auto source = Plain(p.dims);
  const auto result = Plain(reduced);
  const dnnl::reduction::primitive_desc pd(
      {kAlgorithms[static_cast<int>(p.kind)], source, result, 0, 0}, run->engine());
  return MakeUnary<dnnl::reduction>(pd, std::move(run), source, result, request);
}

RunPtr Make(const SoftmaxProblem& p, const PeerRequest& request) {
  auto run = std::make_unique<OneDnnRun>();
  const auto tensor = Plain(p.dims);
  const dnnl::softmax_forward::primitive_desc pd(
      {prop_kind::forward_inference, tensor, static_cast<int>(p.dims.size()) - 1}, run->engine());
  return MakeUnary<dnnl::softmax_forward>(pd, std::move(run), tensor, tensor, request);
}

RunPtr Make(const LayerNormProblem& p, const PeerRequest& request) {
  auto run = std::make_unique<OneDnnRun>();
  const auto tensor = Plain(p.dims);
  const auto row = Plain({p.dims.back()});
  const dnnl::layer_normalization_forward::primitive_desc pd(
      {prop_kind::forward_inference, tensor, 1e-5f,
       dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift},
      run->engine());
  run->AddInput(DNNL_ARG_SCALE, row, row, request.inputs[1]);
  run->AddInput(DNNL_ARG_SHIFT, row, row, request.inputs[2]);
  return MakeUnary<dnnl::layer_normalization_forward>(pd, std::move(run), tensor, tensor, request);
}

// A reorder of the input to the same axes with the strides of the output.
RunPtr Make(const TransposeProblem& p, const PeerRequest& request) {
  auto run = std::make_unique<OneDnnRun>();
  const auto source = Plain(p.dims);
  Dims strides(p.dims.size());
  int64_t stride = 1;
  for (size_t d = p.order.size(); d-- > 0;) {
    const auto axis = static_cast<size_t>(p.order[d]);
    strides[axis] = stride;
    stride *= p.dims[axis];
  }
  const dnnl::memory::desc result(p.dims, dnnl::memory::data_type::f32, strides);
  const dnnl::reorder::primitive_desc pd(run->engine(), source, run->engine(), result);
  return MakeUnary<dnnl::reorder>(pd, std::move(run), source, result, request);
}

RunPtr Make(const ElementwiseProblem& p, const PeerRequest& request) {
  auto run = std::make_unique<OneDnnRun>();
  const auto tensor = Plain(p.dims);
  if (p.function == "add" || p.function == "mul") {
    const dnnl::binary::primitive_desc pd(
        {p.function == "add" ? algorithm::binary_add : algorithm::binary_mul, tensor, tensor,
         tensor},
        run->engine());
    run->AddInput(DNNL_ARG_SRC_1, tensor, tensor, request.inputs[1]);
    return MakeUnary<dnnl::binary>(pd, std::move(run), tensor, tensor, request);
  }
  struct Function {
    const char* name;
    algorithm kind;
    float alpha;
  };
  constexpr Function kFunctions[] = {
      {"relu", algorithm::eltwise_relu, 0},     {"sigmoid", algorithm::eltwise_logistic, 0},
      {"tanh", algorithm::eltwise_tanh, 0},     {"exp", algorithm::eltwise_exp, 0},
      {"gelu", algorithm::eltwise_gelu_erf, 0}, {"swish", algorithm::eltwise_swish, 1},
  };
  for (const Function& function : kFunctions) {
    if (p.function != function.name) continue;
    const dnnl::eltwise_forward::primitive_desc pd(
        {prop_kind::forward_inference, function.kind, tensor, function.alpha, 0}, run->engine());
    return MakeUnary<dnnl::eltwise_forward>(pd, std::move(run), tensor, tensor, request);
  }
  return nullptr;
}

template <class T>
RunPtr Make(const T&, const PeerRequest&) {
  return nullptr;
}

RunPtr MakeRun(const PeerRequest& request) {
  const Problem& problem = *request.problem;
  return std::visit(
      [&](const auto& op) -> RunPtr {
        using Op = std::decay_t<decltype(op)>;
        constexpr bool kHasGradient =
            std::is_same_v<Op, MatmulProblem> || std::is_same_v<Op, ConvolutionProblem>;
        if (problem.direction != Direction::kForward && !kHasGradient) return nullptr;
        return Make(op, request);
      },
      problem.op);
}

}  // namespace
}  // namespace tartan::bench

extern "C" __attribute__((visibility("default"))) tartan::bench::PeerRun* TartanMakePeerRun(
    const tartan::bench::PeerRequest& request, std::string* error) {
  try {
    return tartan::bench::MakeRun(request).release();
  } catch (const dnnl::error& failure) {
    if (failure.status != dnnl_unimplemented) *error = failure.what();
    return nullptr;
  }
}
