// SPDX-License-Identifier: Apache-2.0
// A fuzz target for the parser, the binder and the printers; scripts/fuzz.sh builds and runs it.
// Any text is either refused with InvalidArgument or bound to a program that prints back to itself.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/tile/lang/tile_text.h"
#include "tile/ir/program.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::lang {
namespace {

[[noreturn]] void Fail(const char* what, const absl::Status& status, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n%s\n", what, status.ToString().c_str(), text.c_str());
  std::abort();
}

// Returns the shapes of the "// shapes:" line, or small ones: sizes 2, 3, 4 … for each input.
std::vector<TensorShape> ShapesFor(const Function& function, const std::string& text) {
  std::vector<TensorShape> shapes = HeaderShapes(text);
  if (shapes.size() == function.inputs.size()) return shapes;
  shapes.clear();
  for (const Parameter& input : function.inputs) {
    TensorShape shape{DataType::kFloat32, {}};
    const size_t rank = input.has_dims ? input.dims.size() : 2;
    for (size_t d = 0; d < rank; ++d) shape.dims.push_back(2 + static_cast<int64_t>(d % 3));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

void CheckStatus(const absl::Status& status, const std::string& text) {
  if (status.ok() || absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) return;
  Fail("an error that is not a fault of the text", status, text);
}

void CheckPrinted(const Function& function, const std::string& text) {
  const absl::StatusOr<Function> again = Parse(Print(function));
  if (!again.ok()) Fail("what was printed does not parse", again.status(), text);
  if (!Equal(function, *again)) Fail("what was printed is not equal", absl::OkStatus(), text);
}

void CheckProgram(const ir::Program& program, const std::string& text) {
  std::vector<TensorShape> shapes;
  for (const ir::ValueId input : program.inputs) shapes.push_back(program.values[input].shape);
  const std::string printed = ir::ToTile(program);
  const absl::Status again = ParseAndBind(printed, shapes, "printed").status();
  if (!again.ok()) Fail("the printed program does not bind", again, text + "\n" + printed);
}

void CheckText(const std::string& text) {
  const absl::StatusOr<Function> function = Parse(text);
  CheckStatus(function.status(), text);
  if (!function.ok()) return;
  CheckPrinted(*function, text);
  BindOptions options;
  options.text = text;
  const absl::StatusOr<ir::Program> program = Bind(*function, ShapesFor(*function, text), options);
  CheckStatus(program.status(), text);
  if (program.ok()) CheckProgram(*program, text);
}

}  // namespace
}  // namespace tartan::lang

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tartan::lang::CheckText(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
