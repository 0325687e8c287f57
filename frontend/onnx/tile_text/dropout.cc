// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/tile_text/dropout.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// The second key word of training's random numbers, which keeps them distinct from other
// generators.
constexpr uint32_t kTrainingStream = 0x7a7a2b00;

absl::Status CheckDropout(const api::Tensor& x, double ratio) {
  if (!(ratio >= 0 && ratio < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("a ratio of ", ratio, " is not in [0, 1)"));
  }
  if (!IsFloat(x.type())) {
    return absl::InvalidArgumentError(
        absl::StrCat(x.shape().ToString(), " is not a float tensor: dropout is not defined"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<api::Tensor>> Drop(const api::Tensor& x, double ratio,
                                              const api::Tensor& seed, uint32_t stream,
                                              absl::string_view name, bool with_mask) {
  const int64_t count = x.shape().element_count();
  const api::Tensor key = api::Tensor::Constant(HostTensor::FromVector(
      TensorShape{DataType::kUInt32, {2}}, std::vector<uint32_t>{stream, kTrainingStream}));
  // The gradient flows through the factor alone.
  std::vector<std::string> statements = {
      "S = SEED + KEY",
      absl::StrCat("R = prng(S, 2, ", count, ")"),
      absl::StrCat("U[i : ", count, "] = =(R[0, i])"),
      absl::StrCat("F = U >= ", Literal(ratio), " ? ", Literal(1 / (1 - ratio)), " : 0"),
      absl::StrCat("K = ", ReshapeCall("F", x.dims())),
      absl::StrCat("Y = ", Cast("X * K", x.type()))};
  if (with_mask) statements.emplace_back("M = K > 0");
  TARTAN_ASSIGN_OR_RETURN(
      const api::Function function,
      api::Function::FromTile(TileFunction("X, SEED, KEY", with_mask ? "Y, M" : "Y", statements)));
  return function.Apply({x, seed, key}, absl::StrCat(name, "_dropout"));
}

}  // namespace

absl::StatusOr<api::Tensor> Dropped(const api::Tensor& x, double ratio, const api::Tensor& seed,
                                    uint32_t stream, absl::string_view name) {
  TARTAN_RETURN_IF_ERROR(CheckDropout(x, ratio));
  if (ratio == 0 || x.shape().element_count() == 0) return x;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::Tensor> made,
                          Drop(x, ratio, seed, stream, name, /*with_mask=*/false));
  return made[0];
}

absl::StatusOr<std::vector<api::Tensor>> DroppedWithMask(const api::Tensor& x, double ratio,
                                                         const api::Tensor& seed, uint32_t stream,
                                                         absl::string_view name) {
  TARTAN_RETURN_IF_ERROR(CheckDropout(x, ratio));
  return Drop(x, ratio, seed, stream, name, /*with_mask=*/true);
}

}  // namespace tartan::onnx
