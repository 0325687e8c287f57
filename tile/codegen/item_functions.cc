// SPDX-License-Identifier: Apache-2.0
#include "tile/codegen/item_functions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tartan::codegen {

using loop::Type;

std::string PointerTo(const loop::Parameter& parameter, const Dialect& dialect) {
  return absl::StrCat(dialect.global_space, parameter.is_output ? "" : dialect.constant_qualifier,
                      dialect.stored_type_name(Type{parameter.stored, 1}, MemorySpace::kGlobal),
                      "* ");
}

std::string ParameterName(const loop::Size& size) {
  return size.is_float ? absl::StrCat(size.name, "_bits") : size.name;
}

std::vector<std::string> ArgumentsOfTable(const loop::Kernel& kernel, const Dialect& dialect,
                                          absl::string_view table) {
  const std::string number = dialect.type_name(Type{kernel.index_type, 1});
  std::vector<std::string> arguments;
  for (const loop::Parameter& parameter : kernel.parameters) {
    arguments.push_back(
        absl::StrCat("(", PointerTo(parameter, dialect), ")", table, "[", arguments.size(), "]"));
  }
  for (size_t s = 0; s < kernel.sizes.size(); ++s) {
    arguments.push_back(absl::StrCat("(", number, ")", table, "[", arguments.size(), "]"));
  }
  return arguments;
}

std::string WriteItemFunctions(const loop::Kernel& kernel, absl::string_view parameters,
                               absl::string_view body, const Dialect& dialect) {
  const std::string index = dialect.type_name(Type{DataType::kInt64, 1});
  const std::string address = dialect.type_name(Type{DataType::kUInt64, 1});
  std::vector<std::string> arguments = ArgumentsOfTable(kernel, dialect);
  std::vector<std::string> all = {std::string(parameters)};
  for (const char* item : kItem) {
    arguments.emplace_back(item);
    all.push_back(absl::StrCat("const ", index, " ", item));
  }
  const auto& [x, y, z] = kItem;
  return absl::StrCat(dialect.function_qualifier, "void ", kernel.name, "_item(",
                      absl::StrJoin(all, ", "), ") {\n", body, "}\n", dialect.function_qualifier,
                      "void ", kernel.name, "_items(", dialect.global_space,
                      dialect.constant_qualifier, address, "* arguments, ", index, " begin, ",
                      index, " end, ", index, " width, ", index, " height) {\n",  //
                      "  ", index, " ", x, " = begin % width;\n",                 //
                      "  ", index, " ", y, " = begin / width % height;\n",        //
                      "  ", index, " ", z, " = begin / width / height;\n",        //
                      "  for (; begin < end; ++begin) {\n    ", kernel.name, "_item(",
                      absl::StrJoin(arguments, ", "), ");\n",  //
                      "    if (++", x, " < width) continue;\n    ", x, " = 0;\n", "    if (++", y,
                      " < height) continue;\n    ", y, " = 0;\n    ++", z, ";\n  }\n}\n");
}

std::string WriteItemCall(const loop::Kernel& kernel, const Dialect& dialect) {
  std::vector<std::string> arguments;
  for (const loop::Parameter& parameter : kernel.parameters) arguments.push_back(parameter.name);
  for (const loop::Size& size : kernel.sizes) arguments.push_back(ParameterName(size));
  for (int dimension = 0; dimension < 3; ++dimension) {
    arguments.push_back(
        dialect.work_index(loop::WorkId::kGlobal, dimension, DataType::kInt64).text);
  }
  return absl::StrCat("  ", kernel.name, "_item(", absl::StrJoin(arguments, ", "), ");\n");
}

}  // namespace tartan::codegen
