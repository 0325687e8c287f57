#include "frontend/api/model.h"

#include "absl/strings/str_cat.h"

namespace tartan::api {

std::string TensorSpec::ToString() const {
  std::string text = absl::StrCat(name, ": ");
  if (type != DataType::kInvalid) absl::StrAppend(&text, tartan::Name(type));
  if (!has_rank) return absl::StrCat(text, "[any rank]");
  absl::StrAppend(&text, "[");
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d > 0) absl::StrAppend(&text, ", ");
    if (dims[d] >= 0) {
      absl::StrAppend(&text, dims[d]);
    } else {
      const bool named = d < dim_names.size() && !dim_names[d].empty();
      absl::StrAppend(&text, named ? dim_names[d] : "?");
    }
  }
  return absl::StrCat(text, "]");
}

}  // namespace tartan::api
