// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/onednn_run.h"

namespace tartan::bench {

void OneDnnRun::AddInput(int argument, const dnnl::memory::desc& plain,
                         const dnnl::memory::desc& wanted, const float* data) {
  dnnl::memory given(plain, engine_, const_cast<float*>(data));
  dnnl::memory used(wanted, engine_);
  dnnl::reorder(given, used).execute(stream_, given, used);
  stream_.wait();
  arguments_[argument] = used;
}

void OneDnnRun::SetOutput(int argument, const dnnl::memory::desc& made,
                          const dnnl::memory::desc& plain) {
  output_ = dnnl::memory(made, engine_);
  plain_output_ = plain;
  arguments_[argument] = output_;
}

std::string OneDnnRun::Run(int64_t count) {
  try {
    for (int64_t i = 0; i < count; ++i) primitive_.execute(stream_, arguments_);
    stream_.wait();
  } catch (const dnnl::error& error) {
    return error.what();
  }
  return "";
}

std::string OneDnnRun::Read(float* output) {
  try {
    dnnl::memory plain(plain_output_, engine_, output);
    dnnl::reorder(output_, plain).execute(stream_, output_, plain);
    stream_.wait();
  } catch (const dnnl::error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tartan::bench
