// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/file_kind.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace tartan::onnx {
namespace {

// Bytes at a fixed offset that identify a format.
struct Mark {
  size_t offset;
  absl::string_view bytes;
  absl::string_view kind;
};

constexpr absl::string_view kPickle =
    "a pickle file of Python or older PyTorch: export the model as ONNX";
constexpr absl::string_view kPage =
    "a page of HTML: the download is a page about the file, or an error page";

constexpr Mark kMarks[] = {
    {0, "version https://git-lfs",
     "a git LFS pointer, not the file itself: 'git lfs pull' fetches the file"},
    {4, "ORTM",
     "a model in onnxruntime's own format (.ort): use the .onnx file that it was made from"},
    {4, "TFL3", "a model of TensorFlow Lite: convert it to ONNX, for example with tf2onnx"},
    {0, "PK\3\4",
     "a zip archive, such as a file of PyTorch (.pt), Keras (.keras) or NumPy (.npz): unpack it, "
     "or export the model as ONNX"},
    {0, "PK\5\6", "an empty zip archive"},
    {0, "\x1f\x8b", "compressed by gzip: unpack it first"},
    {0, "BZh", "compressed by bzip2: unpack it first"},
    {0, "\3757zXZ", "compressed by xz: unpack it first"},
    {0, "\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"},
    {0, "7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"},
    {257, "ustar", "a tar archive: unpack it first"},
    {0, "GGUF", "a model of llama.cpp (.gguf), which has weights but no graph"},
    {0, "\x89HDF\r\n\x1a\n", "an HDF5 file, such as one of Keras (.h5): export the model as ONNX"},
    {0, "\x93NUMPY", "an array of NumPy (.npy)"},
    {0, "\x89PNG\r\n\x1a\n", "a PNG picture"},
    {0, "\xff\xd8\xff", "a JPEG picture"},
    {0, "%PDF-", "a PDF document"},
    {0, "\177ELF", "a program or library (ELF)"},
    {0, "\x80\2", kPickle},
    {0, "\x80\3", kPickle},
    {0, "\x80\4", kPickle},
    {0, "\x80\5", kPickle},
};

// Text formats, recognised by their first words after any spaces.
constexpr Mark kTexts[] = {
    {0, "<!doctype html", kPage},
    {0, "<html", kPage},
    {0, "<?xml", "an XML text, such as a model of OpenVINO (.xml): export the model as ONNX"},
    {0, "{", "a JSON text"},
    {0, "ir_version:", "an ONNX model as text: write it in the binary form"},
    {0, "function", "a Tile text: 'tartan tile' runs it"},
};

absl::string_view StartOf(absl::Span<const uint8_t> bytes, size_t count) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), count)};
}

// A safetensors file has a JSON header after its length in eight bytes.
bool IsSafetensors(absl::Span<const uint8_t> bytes) {
  if (bytes.size() < 10 || bytes[8] != '{') return false;
  uint64_t length = 0;
  for (size_t i = 8; i > 0; --i) length = length << 8 | bytes[i - 1];
  return length >= 2 && length <= bytes.size() - 8;
}

}  // namespace

std::string KindOfFile(absl::Span<const uint8_t> bytes) {
  constexpr size_t kLooksAt = 4096;
  const absl::string_view start = StartOf(bytes, kLooksAt);
  if (start.empty()) return "it is empty";
  for (const Mark& mark : kMarks) {
    if (start.size() > mark.offset && absl::StartsWith(start.substr(mark.offset), mark.bytes))
      return std::string(mark.kind);
  }
  if (IsSafetensors(bytes)) {
    return "weights in the safetensors format, which has no graph: export the model as ONNX";
  }
  absl::string_view text = start;
  if (absl::StartsWith(text, "\xef\xbb\xbf")) text.remove_prefix(3);
  text = absl::StripLeadingAsciiWhitespace(text);
  for (const Mark& mark : kTexts) {
    if (absl::StartsWithIgnoreCase(text, mark.bytes)) return std::string(mark.kind);
  }
  const bool is_zero = std::all_of(start.begin(), start.end(), [](char c) { return c == 0; });
  if (is_zero) return "it begins with zeros only, like an interrupted download";
  return "";
}

}  // namespace tartan::onnx
