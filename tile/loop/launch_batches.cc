// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/launch_batches.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tile/loop/traverse.h"

namespace tartan::loop {
namespace {

// The buffers that a kernel's statements use; those in Once are separate.
struct Buffers {
  std::set<std::string> read_once;
  std::set<std::string> written_once;
  std::vector<Fetch> fetches;
  int onces = 0;        // Once statements not nested in other statements
  int nested = 0;       // Once statements nested in other statements
  bool begins = false;  // buffers are accessed before the Once statement
  bool waits = false;   // each launch contains a barrier
};

std::string BufferOf(const ExprPtr& expr) {
  const auto* load = std::get_if<Load>(&expr->node);
  return load == nullptr ? "" : load->buffer;
}

class Collector {
 public:
  explicit Collector(const Kernel& kernel) {
    for (const Parameter& parameter : kernel.parameters) parameters_.insert(parameter.name);
    if (kernel.body != nullptr) Visit(kernel.body, 0);
  }

  Buffers Take() && { return std::move(found_); }

 private:
  void Visit(const ExprPtr& expr) {
    if (const std::string buffer = BufferOf(expr); parameters_.count(buffer) > 0) Note(buffer);
    ForEachChild(*expr, [&](const ExprPtr& child) { Visit(child); });
  }

  void Visit(const StmtPtr& stmt, int depth) {
    const bool is_once = std::holds_alternative<Once>(stmt->node);
    if (is_once) ++(depth == 0 ? found_.onces : found_.nested);
    found_.waits |= std::holds_alternative<Barrier>(stmt->node) && depth == 0 && found_.onces > 0;
    if (const auto* fetch = std::get_if<Fetch>(&stmt->node)) found_.fetches.push_back(*fetch);
    const std::string* name = NameOf(*stmt);
    if (name != nullptr && parameters_.count(*name) > 0) {
      if (is_in_once_) found_.written_once.insert(*name);
      Note(*name);
    }
    const bool was_in_once = is_in_once_;
    is_in_once_ |= is_once;
    const int inner = std::holds_alternative<Block>(stmt->node) ? depth : depth + 1;
    ForEachChild(*stmt, Overloaded{[&](const ExprPtr& child) { Visit(child); },
                                   [&](const StmtPtr& child) { Visit(child, inner); }});
    is_in_once_ = was_in_once;
  }

  void Note(const std::string& buffer) {
    if (is_in_once_) found_.read_once.insert(buffer);
    found_.begins |= !is_in_once_ && found_.onces == 0;
  }

  std::set<std::string> parameters_;
  bool is_in_once_ = false;
  Buffers found_;
};

Buffers BuffersOf(const Kernel& kernel) { return Collector(kernel).Take(); }

bool IsParameter(const Kernel& kernel, const std::string& name, bool is_output) {
  return std::any_of(kernel.parameters.begin(), kernel.parameters.end(),
                     [&](const Parameter& parameter) {
                       return parameter.name == name && parameter.is_output == is_output;
                     });
}

}  // namespace

std::vector<int> PersistentParameters(const Kernel& kernel) {
  const Buffers found = BuffersOf(kernel);
  std::vector<int> kept;
  for (size_t p = 0; p < kernel.parameters.size(); ++p) {
    const bool is_kept = found.read_once.count(kernel.parameters[p].name) > 0;
    if (is_kept) kept.push_back(static_cast<int>(p));
  }
  return kept;
}

std::vector<std::string> ForwardedOutputs(const Kernel& kernel) {
  std::set<std::string> outputs;
  const Buffers found = BuffersOf(kernel);
  for (const Fetch& fetch : found.fetches) {
    outputs.insert(BufferOf(fetch.output));
  }
  return {outputs.begin(), outputs.end()};
}

std::string ReasonInvalidBatch(const Kernel& kernel) {
  const Buffers found = BuffersOf(kernel);
  for (const Fetch& fetch : found.fetches) {
    const std::string input = BufferOf(fetch.input);
    const std::string output = BufferOf(fetch.output);
    if (!IsParameter(kernel, input, false) || !IsParameter(kernel, output, true)) {
      return absl::StrCat("'", input, "' is not an input that was the output '", output, "'");
    }
  }
  if (found.nested > 0 || found.onces > 1) return "a Once statement is nested or repeated";
  if (found.onces == 0)
    return found.fetches.empty() ? "" : "a Fetch statement without a Once statement";
  // The barrier ensures that all work-items have read the launch's arguments.
  if (!found.waits) return "a launch batch without a barrier";
  if (found.begins) return "a buffer is used before the Once statement";
  for (const std::string& buffer : found.read_once) {
    if (!IsParameter(kernel, buffer, false) || found.written_once.count(buffer) > 0) {
      return absl::StrCat("'", buffer, "' is used by a Once statement, but is not an input");
    }
  }
  for (int i = 0; i < 3; ++i) {
    if (kernel.global_size[i] != kernel.local_size[i])
      return "a Once statement in a kernel with several work-groups";
  }
  return "";
}

}  // namespace tartan::loop
