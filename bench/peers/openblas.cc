// SPDX-License-Identifier: Apache-2.0
// Matmuls with OpenBLAS.
#include <cblas.h>

#include <algorithm>
#include <vector>

#include "bench/peers/gemm.h"
#include "frontend/bench/peer.h"

namespace tartan::bench {
namespace {

class GemmRun : public PeerRun {
 public:
  explicit GemmRun(const Gemm& gemm)
      : gemm_(gemm), c_(static_cast<size_t>(gemm.batch * gemm.c_stride())) {}

  std::string Run(int64_t count) override {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t b = 0; b < gemm_.batch; ++b) Multiply(b);
    }
    return "";
  }

  std::string Read(float* output) override {
    std::copy(c_.begin(), c_.end(), output);
    return "";
  }

 private:
  static CBLAS_TRANSPOSE Transposed(bool is) { return is ? CblasTrans : CblasNoTrans; }

  void Multiply(int64_t b) {
    const Gemm& g = gemm_;
    cblas_sgemm(CblasRowMajor, Transposed(g.transpose_a), Transposed(g.transpose_b),
                static_cast<int>(g.m), static_cast<int>(g.n), static_cast<int>(g.k), 1,
                g.a + b * g.a_stride(), static_cast<int>(g.a_row()), g.b + b * g.b_stride(),
                static_cast<int>(g.b_row()), 0, c_.data() + b * g.c_stride(),
                static_cast<int>(g.n));
  }

  const Gemm gemm_;
  std::vector<float> c_;
};

}  // namespace
}  // namespace tartan::bench

extern "C" __attribute__((visibility("default"))) tartan::bench::PeerRun* TartanMakePeerRun(
    const tartan::bench::PeerRequest& request, std::string*) {
  const auto* matmul = std::get_if<tartan::bench::MatmulProblem>(&request.problem->op);
  if (matmul == nullptr) return nullptr;
  return new tartan::bench::GemmRun(tartan::bench::MakeGemm(*matmul, request));
}
