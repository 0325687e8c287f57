// SPDX-License-Identifier: Apache-2.0
// Exhaustive visitation of a std::variant: a missing case does not compile.
#pragma once

#include <utility>
#include <variant>

namespace tartan {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

// Match(variant, [](const A&) {...}, [](const B&) {...}).
template <class Variant, class... Fs>
decltype(auto) Match(Variant&& variant, Fs&&... fs) {
  return std::visit(Overloaded{std::forward<Fs>(fs)...}, std::forward<Variant>(variant));
}

}  // namespace tartan
