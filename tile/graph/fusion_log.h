// SPDX-License-Identifier: Apache-2.0
// Record of fusion decisions, for reading: which operations share a kernel or a launch, which do
// not, and why.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan::graph {

enum class FusionRule : uint8_t {
  kEpilogue,
  kInline,
  kRowFusion,
  kAttention,
  kWinograd,
  kPacked,
  kQuantized,
  kSplitK,
  kDualGemm,
  kIntoConsumer,
  kPersistent,
  kRecompute,
};

struct FusionRuleInfo {
  FusionRule rule;
  absl::string_view name;  // for readers, such as "row fusion"
  absl::string_view pass;  // optional pass of the compiler that turns the rule off
  absl::string_view why;   // one line: what the rule fuses
};

// All rules, in the order of FusionRule.
absl::Span<const FusionRuleInfo> FusionRules();
absl::string_view Name(FusionRule rule);

// One decision about a producer and a consumer, or about the algorithm of the producer alone.
struct FusionDecision {
  FusionRule rule = FusionRule::kEpilogue;
  bool is_accepted = false;
  std::string producer = {};  // name of the first operation's value
  // Name of the second operation's value. Empty: the decision is about the producer's algorithm.
  std::string consumer = {};
  std::string kernel = {};  // name of a value that the consumer's kernel stores
  std::string reason = {};
  // Predicted microseconds, fused and separate; 0: not estimated.
  double fused_us = 0;
  double separate_us = 0;

  bool operator==(const FusionDecision&) const = default;
};

// Returns a line such as "P -> S: row fusion refused: S reads other rows (12 us fused, 9.1 us
// separate)".
std::string ToString(const FusionDecision& decision);

// The decisions of a compilation, in the order in which they were first made. A later decision
// about the same rule, producer, consumer and kernel replaces an earlier one.
class FusionLog {
 public:
  void Add(FusionDecision decision);
  void Add(const FusionLog& other);

  const std::vector<FusionDecision>& decisions() const { return decisions_; }

 private:
  std::vector<FusionDecision> decisions_;
  std::map<std::tuple<FusionRule, std::string, std::string, std::string>, size_t> positions_;
};

}  // namespace tartan::graph
