// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/tile_text/dropout.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/onnx/tile_text/tile_text.h"

namespace tartan::onnx {
namespace {

// The second key word of training's random numbers, which keeps them distinct from other
// generators.
constexpr uint32_t kTrainingStream = 0x7a7a2b00;

}  // namespace

absl::StatusOr<api::Tensor> Dropped(const api::Tensor& x, double ratio, const api::Tensor& seed,
                                    uint32_t stream, absl::string_view name) {
  if (!(ratio >= 0 && ratio < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("a ratio of ", ratio, " is not in [0, 1)"));
  }
  if (!IsFloat(x.type())) {
    return absl::InvalidArgumentError(
        absl::StrCat(x.shape().ToString(), " is not a float tensor: dropout is not defined"));
  }
  const int64_t count = x.shape().element_count();
  if (ratio == 0 || count == 0) return x;
  const api::Tensor key = api::Tensor::Constant(HostTensor::FromVector(
      TensorShape{DataType::kUInt32, {2}}, std::vector<uint32_t>{stream, kTrainingStream}));
  // The gradient flows through the factor alone.
  return api::Apply(TileFunction("X, SEED, KEY", "Y",
                                 {"S = SEED + KEY", absl::StrCat("R = prng(S, 2, ", count, ")"),
                                  absl::StrCat("U[i : ", count, "] = =(R[0, i])"),
                                  absl::StrCat("F = U >= ", Literal(ratio), " ? ",
                                               Literal(1 / (1 - ratio)), " : 0"),
                                  absl::StrCat("K = ", ReshapeCall("F", x.dims())),
                                  absl::StrCat("Y = ", Cast("X * K", x.type()))}),
                    {x, seed, key}, absl::StrCat(name, "_dropout"));
}

}  // namespace tartan::onnx
