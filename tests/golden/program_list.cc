// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/program_list.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/golden/machines.h"
#include "tests/golden/onnx_text.h"
#include "tile/autodiff/gradient.h"
#include "tile/base/status_macros.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::golden {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kBegin = "//// ";
constexpr absl::string_view kKeys[] = {"inputs", "gradient", "options", "kernels", "candidates"};

absl::Status AddLine(absl::string_view line, GoldenProgram* program) {
  absl::string_view rest = line;
  if (!absl::ConsumePrefix(&rest, "// ")) {
    absl::StrAppend(&program->text, line, "\n");
    return absl::OkStatus();
  }
  const std::vector<std::string> parts = absl::StrSplit(rest, absl::MaxSplits(": ", 1));
  const bool is_header = std::count(std::begin(kKeys), std::end(kKeys), parts[0]) > 0;
  if (is_header && parts.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(program->path(), ": no value in ", line));
  }
  if (!is_header) return absl::OkStatus();
  program->headers[parts[0]] = parts[1];
  const auto is_full = [&](const Machine& machine) {
    return machine.name == program->full_machine();
  };
  if (std::any_of(Machines().begin(), Machines().end(), is_full)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(program->path(), ": no machine in ", line));
}

absl::Status AddFile(const fs::path& path, std::vector<GoldenProgram>* programs) {
  std::ifstream stream(path);
  bool has_begun = false;
  for (std::string line; std::getline(stream, line);) {
    absl::string_view name = line;
    if (absl::ConsumePrefix(&name, kBegin)) {
      GoldenProgram program;
      program.family = path.stem().string();
      program.name = std::string(name);
      program.is_onnx = path.extension() == ".nodes";
      programs->push_back(std::move(program));
      has_begun = true;
    } else if (has_begun) {
      TARTAN_RETURN_IF_ERROR(AddLine(line, &programs->back()));
    }
  }
  return absl::OkStatus();
}

// One input of a Tile function. "const float32 3 4" is a tensor that is known at load.
struct InputText {
  TensorShape shape;
  ir::Input flags;
};

absl::StatusOr<InputText> ParseInput(absl::string_view text) {
  InputText input;
  std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (!words.empty() && words[0] == "const") {
    input.flags.is_constant = true;
    words.erase(words.begin());
  }
  if (!words.empty()) input.shape.type = DataTypeFromName(words[0]);
  if (input.shape.type == DataType::kInvalid) {
    return absl::InvalidArgumentError(absl::StrCat("no type in '", text, "'"));
  }
  for (size_t i = 1; i < words.size(); ++i) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(words[i], &size)) {
      return absl::InvalidArgumentError(absl::StrCat("no size in '", text, "': ", words[i]));
    }
    input.shape.dims.push_back(size);
  }
  return input;
}

absl::StatusOr<ir::Program> BindTile(const GoldenProgram& program) {
  TARTAN_ASSIGN_OR_RETURN(const lang::Function function, lang::Parse(program.text, program.name));
  lang::BindOptions options;
  options.file = program.path();
  options.text = program.text;
  std::vector<TensorShape> shapes;
  const auto inputs = program.headers.find("inputs");
  if (inputs != program.headers.end()) {
    for (const absl::string_view text : absl::StrSplit(inputs->second, ';')) {
      TARTAN_ASSIGN_OR_RETURN(InputText input, ParseInput(text));
      shapes.push_back(std::move(input.shape));
      options.inputs.push_back(input.flags);
    }
  }
  TARTAN_ASSIGN_OR_RETURN(ir::Program bound, lang::Bind(function, shapes, options));
  bound.name = program.name;
  return bound;
}

absl::Status SetOption(const std::string& word, compiler::CompileOptions* options) {
  const std::vector<std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
  const std::string value = parts.size() == 2 ? parts[1] : "";
  const std::map<std::string, bool compiler::CompileOptions::*> switches = {
      {"force_64bit_indices", &compiler::CompileOptions::force_64bit_indices},
      {"in_float64", &compiler::CompileOptions::in_float64}};
  const std::map<std::string, plan::Winograd> winograd = {
      {"never", plan::Winograd::kNever},
      {"where_faster", plan::Winograd::kWhereFaster},
      {"always", plan::Winograd::kAlways}};
  if (const auto it = switches.find(parts[0]);
      it != switches.end() && (value == "on" || value == "off")) {
    options->*it->second = value == "on";
  } else if (parts[0] == "winograd" && winograd.count(value) > 0) {
    options->winograd = winograd.at(value);
  } else if (const auto precision = PrecisionFromName(value);
             parts[0] == "precision" && precision.has_value()) {
    options->precision = *precision;
  } else if (parts[0] == "without") {
    options->disabled_passes.insert(value);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("no option: '", word, "'"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string GoldenProgram::full_machine() const {
  const auto it = headers.find("kernels");
  return it == headers.end() ? "avx2" : it->second;
}

int GoldenProgram::candidates() const {
  const auto it = headers.find("candidates");
  int count = 0;
  return it != headers.end() && absl::SimpleAtoi(it->second, &count) ? count : 0;
}

absl::StatusOr<std::vector<GoldenProgram>> ReadPrograms(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<GoldenProgram> programs;
  for (const fs::path& path : paths) TARTAN_RETURN_IF_ERROR(AddFile(path, &programs));
  std::set<std::string> names;
  for (const GoldenProgram& program : programs) {
    if (!names.insert(program.path()).second) {
      return absl::InvalidArgumentError(absl::StrCat(program.path(), " stands twice"));
    }
  }
  return programs;
}

absl::StatusOr<ir::Program> Bind(const GoldenProgram& program) {
  TARTAN_ASSIGN_OR_RETURN(ir::Program bound, program.is_onnx
                                                 ? ImportModel(program.text, program.name)
                                                 : BindTile(program));
  const auto gradient = program.headers.find("gradient");
  if (gradient == program.headers.end()) return bound;
  std::vector<int> wrt;
  for (const absl::string_view word : absl::StrSplit(gradient->second, ' ', absl::SkipEmpty())) {
    int input = 0;
    if (!absl::SimpleAtoi(word, &input)) {
      return absl::InvalidArgumentError(absl::StrCat("no position of an input: ", word));
    }
    wrt.push_back(input);
  }
  return autodiff::Gradient(bound, wrt);
}

absl::StatusOr<compiler::CompileOptions> OptionsOf(const GoldenProgram& program) {
  compiler::CompileOptions options;
  const auto text = program.headers.find("options");
  if (text == program.headers.end()) return options;
  for (const absl::string_view word : absl::StrSplit(text->second, ' ', absl::SkipEmpty())) {
    TARTAN_RETURN_IF_ERROR(SetOption(std::string(word), &options));
  }
  return options;
}

}  // namespace tartan::golden
