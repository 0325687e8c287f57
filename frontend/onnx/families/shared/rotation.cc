// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/rotation.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// The indices of both elements of pair i.
struct PairText {
  std::string first;
  std::string second;
};

PairText PairOf(const Rotation& rotation, int64_t half) {
  if (rotation.is_interleaved) return {"2*i", "2*i + 1"};
  return {"i", absl::StrCat("i + ", half)};
}

absl::Status CheckTables(const Tensor& x, const Rotation& rotation, int64_t half) {
  const std::vector<int64_t> rows = {x.dims()[0], x.dims()[2]};
  if (rotation.positions.defined() && rotation.positions.dims() != rows) {
    return Invalid("positions are ", rotation.positions.shape().ToString(), ", expected ",
                   DimsToString(rows));
  }
  for (const Tensor& table : {rotation.cosines, rotation.sines}) {
    const bool fits = rotation.positions.defined()
                          ? table.rank() == 2 && table.dims()[1] == half
                          : table.dims() == std::vector<int64_t>{rows[0], rows[1], half};
    if (fits) continue;
    return Invalid("a table of ", table.shape().ToString(), " for ", half, " pairs of ",
                   x.shape().ToString());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tensor> Rotate(const NodeContext& context, const Tensor& x,
                              const Rotation& rotation) {
  if (x.rank() != 4) {
    return Invalid("expected [batch, heads, positions, size], got ", x.shape().ToString());
  }
  const int64_t size = rotation.size == 0 ? x.dims()[3] : rotation.size;
  if (size < 0 || size > x.dims()[3] || size % 2 != 0) {
    return Invalid("cannot rotate ", size, " of ", x.dims()[3], " elements in pairs");
  }
  const int64_t half = size / 2;
  TARTAN_RETURN_IF_ERROR(CheckTables(x, rotation, half));
  const PairText pair = PairOf(rotation, half);
  const std::vector<int64_t> pairs = {x.dims()[0], x.dims()[1], x.dims()[2], half};
  const std::vector<int64_t> angles = {x.dims()[0], 1, x.dims()[2], half};
  std::vector<Tensor> operands = {x, rotation.cosines, rotation.sines};
  std::string names = "X, COS, SIN";
  std::vector<std::string> statements;
  if (rotation.positions.defined()) {
    operands.push_back(rotation.positions);
    names += ", AT";
  }
  for (const char* table : {"COS", "SIN"}) {
    const std::string rows =
        rotation.positions.defined() ? absl::StrCat("gather(", table, ", AT, 0)") : table;
    statements.push_back(absl::StrCat(table, "ROWS = ", rows));
    statements.push_back(
        absl::StrCat(table, "S = ", ReshapeCall(absl::StrCat(table, "ROWS"), angles)));
  }
  const auto part = [&](const char* name, const std::string& at) {
    return absl::StrCat(Write(name, {"b", "h", "s", "i"}, pairs), " = =(X[b, h, s, ", at, "])");
  };
  const auto put = [&](const char* name, const std::string& at, const char* value,
                       const char* otherwise) {
    return absl::StrCat(Write(name, {"b", "h", "s", at}, x.dims()), " = =(", value,
                        "[b, h, s, i]) default ", otherwise);
  };
  statements.push_back(part("A", pair.first));
  statements.push_back(part("B", pair.second));
  statements.push_back(absl::StrCat("REAL = ", Cast("A * COSS - B * SINS", x.type())));
  statements.push_back(absl::StrCat("IMAGINARY = ", Cast("A * SINS + B * COSS", x.type())));
  statements.push_back(put("FIRST", pair.first, "REAL", "X"));
  statements.push_back(put("Y", pair.second, "IMAGINARY", "FIRST"));
  return context.ApplyOne(TileFunction(names, "Y", statements), operands);
}

}  // namespace tartan::onnx
