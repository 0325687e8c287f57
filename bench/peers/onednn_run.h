// SPDX-License-Identifier: Apache-2.0
// An executable oneDNN primitive with its memory. Tensors are passed in plain layouts. The
// primitive uses its preferred layouts; the reorders are not timed.
#pragma once

#include <dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/bench/peer.h"

namespace tartan::bench {

inline dnnl::memory::desc Plain(const dnnl::memory::dims& dims, dnnl::memory::format_tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}

// Row-major layout of any rank up to 6.
inline dnnl::memory::desc Plain(const dnnl::memory::dims& dims) {
  using Tag = dnnl::memory::format_tag;
  constexpr Tag kTags[] = {Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde, Tag::abcdef};
  return Plain(dims, kTags[dims.size() - 1]);
}

inline dnnl::memory::desc Any(const dnnl::memory::dims& dims) {
  return Plain(dims, dnnl::memory::format_tag::any);
}

class OneDnnRun : public PeerRun {
 public:
  OneDnnRun() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  const dnnl::engine& engine() const { return engine_; }

  void SetPrimitive(dnnl::primitive primitive) { primitive_ = std::move(primitive); }
  // `data` has the layout `plain`; the primitive reads it as `wanted`.
  void AddInput(int argument, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted,
                const float* data);
  void SetOutput(int argument, const dnnl::memory::desc& made, const dnnl::memory::desc& plain);

  std::string Run(int64_t count) override;
  std::string Read(float* output) override;

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
  dnnl::memory output_;
  dnnl::memory::desc plain_output_;
};

}  // namespace tartan::bench
