// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/describe/describe_fusion.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tartan::compiler {
namespace {

using graph::FusionDecision;
using graph::FusionRule;

constexpr int kAtLoad = -1;

// Returns the names of the values in a description such as "P float32[6, 4], S float32[6]; T".
std::vector<std::string> NamesIn(absl::string_view description) {
  std::vector<std::string> names;
  absl::string_view before;
  for (const absl::string_view word : absl::StrSplit(description, absl::ByAnyChar(" ,;"))) {
    if (absl::StrContains(word, '[') && !before.empty()) names.emplace_back(before);
    if (!word.empty()) before = word;
  }
  if (names.empty() && !before.empty()) names.emplace_back(before);
  return names;
}

class FusionReport {
 public:
  explicit FusionReport(const KernelList& list) : list_(list) {}

  std::vector<LaunchFusion> Run() {
    for (const Step& step : list_.setup) AddNames(step, kAtLoad);
    for (const Step& step : list_.steps) AddLaunch(step);
    // Values that are computed inside a launch have its number.
    for (const FusionDecision& decision : list_.decisions) {
      const auto kernel = launch_of_.find(decision.kernel);
      if (!decision.is_accepted || kernel == launch_of_.end()) continue;
      launch_of_.try_emplace(decision.producer, kernel->second);
      launch_of_.try_emplace(decision.consumer, kernel->second);
    }
    for (const FusionDecision& decision : list_.decisions) AddDecision(decision);
    AddMissing();
    return std::move(launches_);
  }

 private:
  void AddLaunch(const Step& step) {
    const auto* launch = std::get_if<LaunchStep>(&step);
    if (launch == nullptr) return;
    launches_.push_back({.kernel = list_.kernels[launch->kernel].name,
                         .computes = launch->description,
                         .predicted_us = launch->predicted_us});
    const int number = static_cast<int>(launches_.size()) - 1;
    for (const int buffer : BuffersOf(list_, step).read) {
      for (const int writer : writers_[buffer]) reads_.insert({number, writer, buffer});
    }
    AddNames(step, number);
  }

  void AddNames(const Step& step, int number) {
    for (const int buffer : BuffersOf(list_, step).written) {
      launch_of_.try_emplace(list_.buffers[buffer].name, number);
      writers_[buffer].insert(number);
    }
    const auto* launch = std::get_if<LaunchStep>(&step);
    if (launch == nullptr) return;
    for (std::string& name : NamesIn(launch->description)) {
      launch_of_.try_emplace(std::move(name), number);
    }
  }

  // Returns the launch that computes the value; nothing if none is known.
  const int* LaunchOf(const std::string& name) const {
    const auto found = launch_of_.find(name);
    return found == launch_of_.end() ? nullptr : &found->second;
  }

  void AddDecision(const FusionDecision& decision) {
    if (decision.consumer.empty()) {
      const int* launch = LaunchOf(decision.producer);
      if (launch != nullptr && *launch >= 0) launches_[*launch].algorithm.push_back(decision);
      return;
    }
    const int* consumer = LaunchOf(decision.kernel);
    const int* producer = LaunchOf(decision.producer);
    if (consumer == nullptr || *consumer < 0) return;
    LaunchFusion& launch = launches_[*consumer];
    if (decision.is_accepted) {
      launch.accepted.push_back(decision);
    } else if (producer != nullptr && *producer < *consumer) {
      launch.refused.push_back({*producer, decision});
    }
  }

  // Adds a reason where no rule was asked about two launches.
  void AddMissing() {
    for (const auto& [number, producer, buffer] : reads_) {
      LaunchFusion& launch = launches_[number];
      const bool has_reason = std::any_of(
          launch.refused.begin(), launch.refused.end(),
          [producer = producer](const RefusedFusion& r) { return r.producer == producer; });
      if (has_reason) continue;
      const std::vector<std::string> names = NamesIn(launch.computes);
      const bool is_setup = producer == kAtLoad;
      launch.refused.push_back({producer,
                                {.rule = FusionRule::kInline,
                                 .producer = list_.buffers[buffer].name,
                                 .consumer = names.empty() ? launch.kernel : names.front(),
                                 .reason = is_setup ? "the producer is computed once, at load"
                                                    : "no rule fuses these kinds of launches"}});
    }
  }

  const KernelList& list_;
  std::map<std::string, int> launch_of_;       // by value
  std::map<int, std::set<int>> writers_;       // launches that write each buffer
  std::set<std::tuple<int, int, int>> reads_;  // consumer, producer, buffer
  std::vector<LaunchFusion> launches_;
};

void AddNew(const std::string& name, std::vector<std::string>* names) {
  if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

// Returns one line for all operations that a rule fuses for the same reason.
std::vector<std::string> AcceptedLines(const LaunchFusion& launch) {
  std::vector<FusionDecision> kinds;
  std::vector<std::vector<std::string>> names;
  for (FusionDecision decision : launch.accepted) {
    const std::string producer = std::exchange(decision.producer, "");
    const std::string consumer = std::exchange(decision.consumer, "");
    decision.kernel.clear();
    const auto found = std::find(kinds.begin(), kinds.end(), decision);
    const size_t at = static_cast<size_t>(found - kinds.begin());
    if (found == kinds.end()) {
      kinds.push_back(decision);
      names.emplace_back();
    }
    AddNew(producer, &names[at]);
    AddNew(consumer, &names[at]);
  }
  std::vector<std::string> lines;
  for (size_t k = 0; k < kinds.size(); ++k) {
    const bool has_times = kinds[k].fused_us > 0;
    kinds[k].producer = absl::StrJoin(names[k], ", ");
    kinds[k].consumer = has_times ? "one launch" : "";
    lines.push_back(has_times ? graph::ToString(kinds[k])
                              : absl::StrCat(graph::Name(kinds[k].rule), ": ", kinds[k].producer));
  }
  return lines;
}

// Returns one line for all consumers that a rule refuses for the same reason.
std::vector<std::string> RefusedLines(const LaunchFusion& launch) {
  std::vector<RefusedFusion> kinds;
  std::vector<std::vector<std::string>> consumers;
  for (RefusedFusion refused : launch.refused) {
    const std::string consumer = std::exchange(refused.decision.consumer, "");
    refused.decision.kernel.clear();
    const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const RefusedFusion& kind) {
      return kind.producer == refused.producer && kind.decision == refused.decision;
    });
    const size_t at = static_cast<size_t>(found - kinds.begin());
    if (found == kinds.end()) {
      kinds.push_back(refused);
      consumers.emplace_back();
    }
    AddNew(consumer, &consumers[at]);
  }
  std::vector<std::string> lines;
  for (size_t k = 0; k < kinds.size(); ++k) {
    kinds[k].decision.consumer = absl::StrJoin(consumers[k], ", ");
    const int producer = kinds[k].producer;
    lines.push_back(absl::StrCat(graph::ToString(kinds[k].decision), " [",
                                 producer < 0 ? "at load" : absl::StrCat("launch ", producer + 1),
                                 "]"));
  }
  return lines;
}

// Explains the rules of the launches.
std::string RulesText(const std::vector<LaunchFusion>& launches) {
  std::set<FusionRule> used;
  for (const LaunchFusion& launch : launches) {
    for (const FusionDecision& decision : launch.accepted) used.insert(decision.rule);
    for (const FusionDecision& decision : launch.algorithm) used.insert(decision.rule);
    for (const RefusedFusion& refused : launch.refused) used.insert(refused.decision.rule);
  }
  std::string text;
  for (const graph::FusionRuleInfo& rule : graph::FusionRules()) {
    if (used.count(rule.rule) == 0) continue;
    absl::StrAppend(&text, "rule ", rule.name, " (pass ", rule.pass, "): ", rule.why, "\n");
  }
  return text;
}

}  // namespace

std::vector<LaunchFusion> FusionOf(const KernelList& list) { return FusionReport(list).Run(); }

std::string FusionText(const std::vector<LaunchFusion>& launches) {
  std::string text;
  for (size_t l = 0; l < launches.size(); ++l) {
    const LaunchFusion& launch = launches[l];
    absl::StrAppend(&text, "launch ", l + 1, ": ", launch.computes);
    if (launch.predicted_us > 0) absl::StrAppendFormat(&text, " (%.3g us)", launch.predicted_us);
    absl::StrAppend(&text, "\n");
    for (const std::string& line : AcceptedLines(launch)) {
      absl::StrAppend(&text, "  + ", line, "\n");
    }
    for (const FusionDecision& decision : launch.algorithm) {
      absl::StrAppend(&text, decision.is_accepted ? "  + " : "  - ", graph::ToString(decision),
                      "\n");
    }
    for (const std::string& line : RefusedLines(launch)) {
      absl::StrAppend(&text, "  - ", line, "\n");
    }
  }
  return text + RulesText(launches);
}

}  // namespace tartan::compiler
