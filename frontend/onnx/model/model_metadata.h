// SPDX-License-Identifier: Apache-2.0
// The metadata of a model's file. No field changes the computation.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tartan::onnx {

// Fields that the file lacks are empty or 0.
struct ModelMetadata {
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  int64_t version = 0;      // of the model
  std::string description;  // of the model, for people
  std::string graph_name;
  std::string graph_description;
  // `metadata_props`: additional entries of the producer, such as lists of labels.
  std::map<std::string, std::string> properties;

  std::string producer() const {  // "pytorch 2.1"
    return producer_version.empty() ? producer_name : producer_name + " " + producer_version;
  }
};

}  // namespace tartan::onnx
