// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/fusion_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tartan::graph {

namespace {

// The rules, in the order of FusionRule.
constexpr FusionRuleInfo kRules[] = {
    {FusionRule::kEpilogue, "epilogue", "fuse",
     "elementwise operations after a reduction run in its kernel"},
    {FusionRule::kInline, "inlining", "fuse", "a producer is computed in the kernel that reads it"},
    {FusionRule::kRowFusion, "row fusion", "fuse-rows",
     "kernels over the same rows are one launch, as in softmax and layer norm"},
    {FusionRule::kAttention, "fused attention", "fuse-attention",
     "GPUs: such a launch also has matmuls"},
    {FusionRule::kWinograd, "Winograd", "winograd",
     "Winograd's algorithm instead of a direct convolution"},
    {FusionRule::kPacked, "packed matmul", "pack-matmuls",
     "several low-precision multiplications per instruction"},
    {FusionRule::kQuantized, "quantized matmul", "quantize",
     "a float matmul is computed with int8 operands"},
    {FusionRule::kSplitK, "split-K", "split-k",
     "the consumer adds up the partial sums of a matmul"},
    {FusionRule::kDualGemm, "dual GEMM", "fuse-dual-gemm",
     "two matmuls of a gated linear unit are one launch"},
    {FusionRule::kIntoConsumer, "fusion into the consumer", "fuse-into-consumer",
     "a matmul runs in the elementwise launch that reads it, as in an LSTM"},
    {FusionRule::kPersistent, "persistent RNN", "persistent-rnn",
     "one work-group keeps the weights between launches"},
    {FusionRule::kRecompute, "recomputation in consumers", "recompute-in-consumers",
     "each consumer recomputes a launch of one work-group"},
};

}  // namespace

absl::Span<const FusionRuleInfo> FusionRules() { return kRules; }

absl::string_view Name(FusionRule rule) { return kRules[static_cast<size_t>(rule)].name; }

std::string ToString(const FusionDecision& decision) {
  std::string text = decision.producer;
  if (!decision.consumer.empty()) absl::StrAppend(&text, " -> ", decision.consumer);
  absl::StrAppend(&text, ": ", Name(decision.rule),
                  decision.is_accepted ? " accepted" : " refused");
  if (!decision.reason.empty()) absl::StrAppend(&text, ": ", decision.reason);
  if (decision.fused_us > 0 && decision.separate_us > 0) {
    absl::StrAppendFormat(&text, " (%.3g us %s, %.3g us %s)", decision.fused_us,
                          decision.consumer.empty() ? "with it" : "fused", decision.separate_us,
                          decision.consumer.empty() ? "without" : "separate");
  }
  return text;
}

void FusionLog::Add(FusionDecision decision) {
  const auto [position, is_new] = positions_.try_emplace(
      {decision.rule, decision.producer, decision.consumer, decision.kernel}, decisions_.size());
  if (is_new) {
    decisions_.push_back(std::move(decision));
  } else {
    decisions_[position->second] = std::move(decision);
  }
}

void FusionLog::Add(const FusionLog& other) {
  for (const FusionDecision& decision : other.decisions_) Add(decision);
}

}  // namespace tartan::graph
