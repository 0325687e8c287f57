// SPDX-License-Identifier: Apache-2.0
#include "python/src/arrays.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "python/src/status.h"

namespace nb = nanobind;

namespace tartan::python {
namespace {

// Returns the bytes of a tensor as an array that keeps the tensor alive.
nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>> BytesOf(const HostTensor& tensor) {
  auto* owner = new HostTensor(tensor);
  const nb::capsule release(owner,
                            [](void* kept) noexcept { delete static_cast<HostTensor*>(kept); });
  return nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>(owner->bytes().data(),
                                                            {owner->bytes().size()}, release);
}

// Returns the bytes of a tensor as a writable array, without a copy if the memory has no other
// owner. `tensor` is empty afterwards.
nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> TakeBytes(HostTensor& tensor) {
  auto* owner = new HostTensor(std::exchange(tensor, HostTensor()));
  if (!owner->is_unshared()) *owner = HostTensor(owner->shape(), owner->bytes());
  const nb::capsule release(owner,
                            [](void* kept) noexcept { delete static_cast<HostTensor*>(kept); });
  return nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>(const_cast<uint8_t*>(owner->bytes().data()),
                                                      {owner->bytes().size()}, release);
}

// Keeps a Python object alive; the last owner may release it from any thread.
std::shared_ptr<const void> Keep(const ByteArray& bytes) {
  return std::shared_ptr<const void>(new ByteArray(bytes), [](const void* kept) {
    const nb::gil_scoped_acquire lock;
    delete static_cast<const ByteArray*>(kept);
  });
}

}  // namespace

DataType TypeNamed(const std::string& name) {
  const DataType type = DataTypeFromName(name);
  if (type == DataType::kInvalid) {
    Raise(absl::InvalidArgumentError(absl::StrCat("no tensor has elements of type '", name, "'")));
  }
  return type;
}

HostTensor ToHostTensor(const ByteArray& bytes, const std::string& dtype, std::vector<int64_t> dims,
                        bool copy) {
  const TensorShape shape{TypeNamed(dtype), std::move(dims)};
  RaiseIfError(CheckShape(shape));
  const absl::Span<const uint8_t> data(bytes.data(), bytes.size());
  if (static_cast<int64_t>(data.size()) != shape.byte_size()) {
    Raise(absl::InvalidArgumentError(
        absl::StrCat(data.size(), " bytes for ", shape.ToString(), " of ", shape.byte_size())));
  }
  return copy ? HostTensor(shape, data) : HostTensor(shape, data, Keep(bytes));
}

void BindArrays(nb::module_& module) {
  nb::class_<HostTensor>(module, "HostTensor", "An immutable dense tensor in the host's memory.")
      .def(
          "__init__",
          [](HostTensor* self, const ByteArray& bytes, const std::string& dtype,
             std::vector<int64_t> dims, bool copy) {
            new (self) HostTensor(ToHostTensor(bytes, dtype, std::move(dims), copy));
          },
          nb::arg("bytes"), nb::arg("dtype"), nb::arg("shape"), nb::arg("copy") = true)
      .def_prop_ro("dtype", [](const HostTensor& t) { return std::string(Name(t.type())); })
      .def_prop_ro("shape", [](const HostTensor& t) { return nb::tuple(nb::cast(t.shape().dims)); })
      .def("bytes", &BytesOf, "Returns its bytes, read-only and not copied.")
      .def("take_bytes", &TakeBytes,
           "Returns writable bytes, copied if they have other owners; the tensor is empty "
           "afterwards.")
      .def("__repr__", [](const HostTensor& t) { return t.shape().ToString(); });
}

}  // namespace tartan::python
