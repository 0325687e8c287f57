// What differs between C-like kernel languages, as a table; the writer (write_kernel.h) does the
// rest. The OpenCL C table lives in backend_opencl.
#pragma once

#include <functional>
#include <string>

#include "tile/sem/sem.h"

namespace tartan::codegen {

struct Dialect {
  std::string name;             // "opencl-c-1.2"
  std::string prologue;         // helper functions and pragmas before the kernels
  std::string kernel_qualifier;  // "__kernel void"
  std::string global_space, local_space, constant_qualifier, restrict_qualifier;
  std::string barrier;  // statement
  std::string unroll;   // before a loop that is to be unrolled
  std::function<std::string(const sem::Type&)> type_name;
  std::function<std::string(sem::WorkId, int dimension)> work_index;
  // A function applied to printed operands; `type` is the operands' type, `result` the result's.
  std::function<std::string(ScalarOp op, const sem::Type& type, const sem::Type& result,
                            const std::vector<std::string>& operands)>
      apply;
  // Loads and stores, with conversion from and to the stored type.
  std::function<std::string(const std::string& buffer, DataType stored, const sem::Type& type,
                            const std::string& index)>
      load;
  std::function<std::string(const std::string& buffer, DataType stored, const sem::Type& type,
                            const std::string& index, const std::string& value)>
      store;
  std::function<std::string(double value, const sem::Type& type)> float_literal;
  std::function<std::string(int64_t value, const sem::Type& type)> int_literal;
  std::function<std::string(const std::string& a, const std::string& b, const std::string& c,
                            const sem::Type& type)>
      multiply_add;
  std::function<std::string(const std::string& buffer, DataType stored, ScalarOp op,
                            const std::string& index, const std::string& value)>
      atomic_update;
  // Lines before a kernel: its fixed work-group size.
  std::function<std::string(const sem::Kernel&)> attributes;
};

}  // namespace tartan::codegen
