// Puts kernels, buffers and steps of one program together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tile/compiler/kernel_list.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// Values of the program have buffers from the start; others are added.
class ListBuilder {
 public:
  // `is_constant` tells of each value whether it is known at load. The program and its grouping
  // outlive the builder.
  ListBuilder(const ir::Program& program, const ir::Grouping& grouping,
              std::vector<bool> is_constant);

  // Where a group's steps belong: done once when all it reads is constant.
  bool IsSetup(const ir::KernelGroup& group) const { return constant_[group.outputs.front()]; }
  bool IsConstant(ir::ValueId value) const { return constant_[value]; }
  int BufferOf(ir::ValueId value) const;
  const std::string& NameOf(ir::ValueId value) const { return list_.buffers[BufferOf(value)].name; }

  // A value that the program does not have, computed by one of its kernels for another.
  ir::ValueId AddValue(std::string name, const TensorShape& shape, bool is_constant);
  // A buffer that belongs to no value of the program.
  int AddBuffer(std::string name, const TensorShape& shape, bool is_setup);
  void AddStep(bool is_setup, Step step);
  // Kernels that differ in name and comments only are one.
  int AddKernel(sem::Kernel kernel);
  int kernel_count() const { return static_cast<int>(list_.kernels.size()); }

  KernelList Finish() &&;

 private:
  void MakeBuffers();

  const ir::Program& program_;
  const ir::Grouping& grouping_;
  std::vector<bool> constant_;
  KernelList list_;
  std::map<ir::ValueId, int> buffer_;
  std::map<std::string, int> numbers_;
};

}  // namespace tartan::compiler
