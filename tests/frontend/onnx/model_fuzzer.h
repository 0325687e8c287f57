// Damages models field by field, to see that each ends in one error.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace tartan::onnx {

// Serialised models like those it is given, each with a few fields changed: numbers at their
// limits, names exchanged, parts left out, doubled or put elsewhere; some with bytes changed as
// well. The same seed gives the same models.
class ModelFuzzer {
 public:
  ModelFuzzer(std::vector<std::string> corpus, uint32_t seed)
      : corpus_(std::move(corpus)), random_(seed) {}
  std::string Next();

 private:
  size_t Below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }
  bool OneIn(size_t count) { return Below(count) == 0; }
  void Change(google::protobuf::Message* root);
  void ChangeField(google::protobuf::Message* message, const std::vector<std::string>& names);
  int64_t OddNumber();

  const std::vector<std::string> corpus_;
  std::mt19937 random_;
};

// Loads the model and binds it to inputs of its shapes (open sizes are 2, values 0 or 1 where they
// are needed), which imports the graph and evaluates what depends on nothing. Any error is right; a
// crash, a hang or gigabytes are not.
absl::Status LoadAndBind(const std::string& bytes);

// Serialised models of the official cases whose files have at most `max_bytes`.
std::vector<std::string> ReadSmallModels(size_t max_bytes);

}  // namespace tartan::onnx
