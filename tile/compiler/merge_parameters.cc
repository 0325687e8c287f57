// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/merge_parameters.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/loop/rename.h"
#include "tile/loop/traverse.h"

namespace tartan::compiler {
namespace {

// Reads of one buffer and writes to another in a kernel, in program order.
class Accesses {
 public:
  Accesses(const loop::Kernel& kernel, std::string read, std::string written)
      : read_(std::move(read)),
        written_(std::move(written)),
        has_several_items_(std::any_of(std::begin(kernel.local_size), std::end(kernel.local_size),
                                       [](int64_t size) { return size > 1; })) {
    Visit(kernel.body);
  }

  bool AreNone() const { return is_simple_ && accesses_.empty(); }

  // Returns true if each element is read in the place where it is written, and not later. Valid for
  // kernels that write each element once.
  bool AreElementwise() const {
    if (!is_simple_) return false;
    for (size_t load = 0; load < accesses_.size(); ++load) {
      if (accesses_[load].is_store) continue;
      bool is_written = false;
      for (size_t store = 0; store < accesses_.size(); ++store) {
        if (!accesses_[store].is_store || accesses_[store].place != accesses_[load].place) continue;
        if (!IsWithin(accesses_[store].scope, accesses_[load].scope)) continue;
        // If only one of several work-items writes, the others may read later.
        if (has_several_items_ && accesses_[store].scope != accesses_[load].scope) return false;
        if (store < load) return false;
        is_written = true;
      }
      if (!is_written) return false;
    }
    return true;
  }

 private:
  struct Access {
    bool is_store = false;
    std::string place;
    std::vector<int> scope;
  };

  void Visit(const loop::StmtPtr& stmt) {
    const bool is_scope = std::holds_alternative<loop::For>(stmt->node) ||
                          std::holds_alternative<loop::If>(stmt->node);
    loop::ForEachChild(*stmt, Overloaded{[&](const loop::ExprPtr& expr) { Visit(expr); },
                                         [&](const loop::StmtPtr& child) {
                                           if (is_scope) scope_.push_back(scopes_++);
                                           Visit(child);
                                           if (is_scope) scope_.pop_back();
                                         }});
    const std::string* name = loop::NameOf(*stmt);
    if (name == nullptr || (*name != written_ && *name != read_)) return;
    if (const auto* store = std::get_if<loop::Store>(&stmt->node)) {
      Add(/*is_store=*/true, store->index, store->value->type.lanes);
    } else if (!std::holds_alternative<loop::Prefetch>(stmt->node)) {
      is_simple_ = false;
    }
  }

  static bool IsWithin(const std::vector<int>& inner, const std::vector<int>& outer) {
    return inner.size() >= outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
  }

  void Visit(const loop::ExprPtr& expr) {
    loop::ForEachChild(*expr, [&](const loop::ExprPtr& child) { Visit(child); });
    const auto* load = std::get_if<loop::Load>(&expr->node);
    if (load == nullptr) return;
    if (load->buffer == written_) is_simple_ = false;
    if (load->buffer == read_) Add(/*is_store=*/false, load->index, expr->type.lanes);
  }

  void Add(bool is_store, const loop::ExprPtr& index, int lanes) {
    accesses_.push_back({is_store, absl::StrCat(lanes, "@", loop::ToString(index)), scope_});
  }

  const std::string read_;
  const std::string written_;
  const bool has_several_items_;  // a work-group has several work-items
  std::vector<int> scope_;
  int scopes_ = 0;
  std::vector<Access> accesses_;
  bool is_simple_ = true;
};

}  // namespace

bool ParameterMerger::Merge(int read_buffer, int written_buffer, LaunchStep* launch) {
  const loop::Kernel& kernel = list_.kernels[launch->kernel];
  std::vector<int> read;
  std::vector<int> written;
  for (size_t p = 0; p < launch->buffers.size(); ++p) {
    if (launch->buffers[p] == read_buffer) read.push_back(static_cast<int>(p));
    if (launch->buffers[p] == written_buffer) written.push_back(static_cast<int>(p));
  }
  if (written.size() != 1) return false;
  if (read.empty()) return true;
  const auto output = static_cast<size_t>(written[0]);
  if (output >= launch->writes_once.size() || !launch->writes_once[output]) return false;
  const auto key = std::tuple(launch->kernel, written[0], read);
  auto found = merged_.find(key);
  if (found == merged_.end()) {
    for (const int parameter : read) {
      const Accesses accesses(kernel, kernel.parameters[parameter].name,
                              kernel.parameters[written[0]].name);
      if (!accesses.AreElementwise()) return false;
    }
    list_.kernels.push_back(Merged(kernel, written[0], read));
    found = merged_.emplace(key, static_cast<int>(list_.kernels.size()) - 1).first;
  }
  launch->kernel = found->second;
  for (auto p = read.rbegin(); p != read.rend(); ++p) {
    launch->buffers.erase(launch->buffers.begin() + *p);
  }
  return true;
}

bool ParameterMerger::IgnoresParameter(const Step& step, int buffer) const {
  const auto* launch = std::get_if<LaunchStep>(&step);
  if (launch == nullptr) return false;
  const loop::Kernel& kernel = list_.kernels[launch->kernel];
  for (size_t p = 0; p < launch->buffers.size(); ++p) {
    if (launch->buffers[p] != buffer) continue;
    if (!Accesses(kernel, kernel.parameters[p].name, "").AreNone()) return false;
  }
  return true;
}

void ParameterMerger::Drop(int buffer, LaunchStep* launch) {
  for (size_t p = launch->buffers.size(); p-- > 0;) {
    if (launch->buffers[p] != buffer) continue;
    const auto key = std::tuple(launch->kernel, -1, std::vector<int>{static_cast<int>(p)});
    auto found = merged_.find(key);
    if (found == merged_.end()) {
      loop::Kernel kernel = list_.kernels[launch->kernel];
      kernel.name = VariantName(kernel.name);
      kernel.parameters.erase(kernel.parameters.begin() + static_cast<int64_t>(p));
      list_.kernels.push_back(std::move(kernel));
      found = merged_.emplace(key, static_cast<int>(list_.kernels.size()) - 1).first;
    }
    launch->kernel = found->second;
    launch->buffers.erase(launch->buffers.begin() + static_cast<int64_t>(p));
  }
}

// The name of the next kernel of the list, which is a form of the kernel `name`. Its length does
// not grow with the number of changes, because drivers name files by kernels.
std::string ParameterMerger::VariantName(const std::string& name) const {
  const size_t end = name.rfind("_form");
  return absl::StrCat(name.substr(0, end), "_form", list_.kernels.size());
}

loop::Kernel ParameterMerger::Merged(loop::Kernel kernel, int written,
                                     const std::vector<int>& read) const {
  loop::Renaming renaming;
  kernel.name = VariantName(kernel.name);
  for (auto p = read.rbegin(); p != read.rend(); ++p) {
    renaming.emplace(kernel.parameters[*p].name, kernel.parameters[written].name);
    kernel.parameters.erase(kernel.parameters.begin() + *p);
  }
  kernel.body = loop::Rename(kernel.body, renaming);
  return kernel;
}

void ParameterMerger::ReplaceBuffer(int from, int to) {
  const auto replace = [&](int& buffer) { buffer = buffer == from ? to : buffer; };
  for (Step& step : list_.steps) {
    Match(
        step,
        [&](LaunchStep& launch) {
          std::for_each(launch.buffers.begin(), launch.buffers.end(), replace);
        },
        [&](FillStep& fill) { replace(fill.buffer); },
        [&](CopyStep& copy) {
          replace(copy.from);
          replace(copy.to);
        });
  }
  std::for_each(list_.outputs.begin(), list_.outputs.end(), replace);
  // No step uses the old buffer any more.
  list_.buffers[from].kind = BufferKind::kTemporary;
  list_.buffers[from].bytes = 0;
}

}  // namespace tartan::compiler
