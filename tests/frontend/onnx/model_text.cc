// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/model_text.h"

#include <google/protobuf/text_format.h>

#include <cstdlib>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "proto/onnx.pb.h"

namespace tartan::onnx {

std::string ModelBytes(const std::string& text, int opset) {
  ModelProto model;
  const std::string full =
      absl::StrCat("ir_version: 8 opset_import { version: ", opset, " } ", text);
  if (!google::protobuf::TextFormat::MergeFromString(full, &model)) std::abort();
  return model.SerializeAsString();
}

std::string ValueText(const std::string& field, const std::string& name, int type,
                      const std::string& dims) {
  std::string shape;
  std::istringstream stream(dims);
  for (std::string dim; stream >> dim;) {
    const bool is_number = dim.find_first_not_of("0123456789") == std::string::npos;
    absl::StrAppend(
        &shape, "dim { ",
        is_number ? absl::StrCat("dim_value: ", dim) : absl::StrCat("dim_param: '", dim, "'"),
        " } ");
  }
  return absl::StrCat(field, " { name: '", name, "' type { tensor_type { elem_type: ", type,
                      " shape { ", shape, "} } } } ");
}

std::string NodeText(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::string& rest) {
  std::string text = absl::StrCat(" node { op_type: '", op, "'");
  for (const std::string& input : inputs) absl::StrAppend(&text, " input: '", input, "'");
  for (const std::string& output : outputs) absl::StrAppend(&text, " output: '", output, "'");
  return absl::StrCat(text, " ", rest, " } ");
}

std::string GraphAttribute(const std::string& name, const std::string& graph) {
  return absl::StrCat(" attribute { name: '", name, "' type: GRAPH g { ", graph, " } } ");
}

}  // namespace tartan::onnx
