// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/forward_stores.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "tile/loop/traverse.h"

namespace tartan::loop {
namespace {

class Forwarder {
 public:
  explicit Forwarder(const std::function<bool(const std::string&)>& is_private)
      : is_private_(is_private) {}

  StmtPtr operator()(const StmtPtr& stmt) {
    // A store in a branch or loop may not have been executed, so it is not forwarded past it.
    const bool is_scope =
        std::holds_alternative<For>(stmt->node) || std::holds_alternative<If>(stmt->node);
    const bool was_certain = std::exchange(is_certain_, is_certain_ && !is_scope);
    StmtPtr result = MapChildren(stmt, *this);
    is_certain_ = was_certain;
    const auto* store = std::get_if<Store>(&result->node);
    if (store != nullptr && is_certain_) Note(*store);
    return result;
  }

  ExprPtr operator()(const ExprPtr& expr) {
    ExprPtr result = MapChildren(expr, *this);
    if (const auto* load = std::get_if<Load>(&result->node)) {
      for (const Store& store : stores_[load->buffer]) {
        if (store.value->type == expr->type && Equal(store.index, load->index)) return store.value;
      }
    }
    return result;
  }

 private:
  void Note(const Store& store) {
    const bool is_kept = std::holds_alternative<Variable>(store.value->node) &&
                         store.value->type.element == store.stored;
    if (is_kept && is_private_(store.buffer)) stores_[store.buffer].push_back(store);
  }

  const std::function<bool(const std::string&)>& is_private_;
  std::unordered_map<std::string, std::vector<Store>> stores_;
  bool is_certain_ = true;
};

}  // namespace

StmtPtr ForwardStores(const StmtPtr& stmt,
                      const std::function<bool(const std::string& buffer)>& is_private) {
  return stmt == nullptr ? nullptr : Forwarder(is_private)(stmt);
}

}  // namespace tartan::loop
