// SPDX-License-Identifier: Apache-2.0
// Matmuls and convolutions without groups with CLBlast, on the OpenCL device that Tartan uses.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <clblast.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/peers/gemm.h"
#include "frontend/bench/peer.h"

namespace tartan::bench {
namespace {

std::string PlatformInfo(cl_platform_id platform, cl_platform_info what) {
  char text[1024] = "";
  clGetPlatformInfo(platform, what, sizeof(text) - 1, text, nullptr);
  return text;
}

std::string DeviceInfo(cl_device_id device, cl_device_info what) {
  char text[1024] = "";
  clGetDeviceInfo(device, what, sizeof(text) - 1, text, nullptr);
  return text;
}

cl_device_id FindDevice(const std::string& platform_name, const std::string& device_name) {
  cl_platform_id platforms[16];
  cl_uint platform_count = 0;
  clGetPlatformIDs(16, platforms, &platform_count);
  for (cl_uint p = 0; p < platform_count && p < 16; ++p) {
    if (PlatformInfo(platforms[p], CL_PLATFORM_NAME) != platform_name) continue;
    cl_device_id devices[64];
    cl_uint device_count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 64, devices, &device_count) !=
        CL_SUCCESS) {
      continue;
    }
    for (cl_uint d = 0; d < device_count && d < 64; ++d) {
      if (DeviceInfo(devices[d], CL_DEVICE_NAME) == device_name) return devices[d];
    }
  }
  return nullptr;
}

// A context, a queue and the three buffers of an operation.
class Workspace {
 public:
  Workspace(cl_device_id device, const float* a, size_t a_count, const float* b, size_t b_count,
            size_t c_count)
      : c_count_(c_count) {
    context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error_);
    if (error_ == CL_SUCCESS) queue_ = clCreateCommandQueue(context_, device, 0, &error_);
    a_ = Buffer(a, a_count);
    b_ = Buffer(b, b_count);
    c_ = Buffer(nullptr, c_count);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() {
    for (cl_mem buffer : {a_, b_, c_}) {
      if (buffer != nullptr) clReleaseMemObject(buffer);
    }
    if (queue_ != nullptr) clReleaseCommandQueue(queue_);
    if (context_ != nullptr) clReleaseContext(context_);
  }

  cl_int error() const { return error_; }
  cl_mem a() const { return a_; }
  cl_mem b() const { return b_; }
  cl_mem c() const { return c_; }
  cl_command_queue* queue() { return &queue_; }
  cl_int Finish() { return clFinish(queue_); }
  cl_int Read(float* output) {
    return clEnqueueReadBuffer(queue_, c_, CL_TRUE, 0, c_count_ * sizeof(float), output, 0, nullptr,
                               nullptr);
  }

 private:
  cl_mem Buffer(const float* data, size_t count) {
    if (error_ != CL_SUCCESS) return nullptr;
    const cl_mem_flags flags = data != nullptr ? CL_MEM_COPY_HOST_PTR : 0;
    return clCreateBuffer(context_, CL_MEM_READ_WRITE | flags, count * sizeof(float),
                          const_cast<float*>(data), &error_);
  }

  cl_int error_ = CL_SUCCESS;
  const size_t c_count_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_mem a_ = nullptr;
  cl_mem b_ = nullptr;
  cl_mem c_ = nullptr;
};

class ClBlastRun : public PeerRun {
 public:
  explicit ClBlastRun(std::unique_ptr<Workspace> space) : space_(std::move(space)) {}

  std::string Run(int64_t count) override {
    for (int64_t i = 0; i < count; ++i) {
      const clblast::StatusCode status = Enqueue(*space_);
      if (status != clblast::StatusCode::kSuccess) {
        return "CLBlast status " + std::to_string(static_cast<int>(status));
      }
    }
    return Message(space_->Finish());
  }

  std::string Read(float* output) override { return Message(space_->Read(output)); }

 private:
  virtual clblast::StatusCode Enqueue(Workspace& space) = 0;
  static std::string Message(cl_int error) {
    return error == CL_SUCCESS ? "" : "OpenCL error " + std::to_string(error);
  }

  const std::unique_ptr<Workspace> space_;
};

class GemmRun : public ClBlastRun {
 public:
  GemmRun(std::unique_ptr<Workspace> space, const Gemm& gemm)
      : ClBlastRun(std::move(space)), gemm_(gemm) {}

 private:
  clblast::StatusCode Enqueue(Workspace& space) override {
    const Gemm& g = gemm_;
    const auto transposed = [](bool is) {
      return is ? clblast::Transpose::kYes : clblast::Transpose::kNo;
    };
    if (g.batch == 1) {
      return clblast::Gemm<float>(clblast::Layout::kRowMajor, transposed(g.transpose_a),
                                  transposed(g.transpose_b), g.m, g.n, g.k, 1, space.a(), 0,
                                  g.a_row(), space.b(), 0, g.b_row(), 0, space.c(), 0, g.n,
                                  space.queue());
    }
    return clblast::GemmStridedBatched<float>(
        clblast::Layout::kRowMajor, transposed(g.transpose_a), transposed(g.transpose_b), g.m, g.n,
        g.k, 1, space.a(), 0, g.a_row(), g.a_stride(), space.b(), 0, g.b_row(), g.b_stride(), 0,
        space.c(), 0, g.n, g.c_stride(), g.batch, space.queue());
  }

  const Gemm gemm_;
};

class ConvolutionRun : public ClBlastRun {
 public:
  ConvolutionRun(std::unique_ptr<Workspace> space, const ConvolutionProblem& problem)
      : ClBlastRun(std::move(space)), problem_(problem) {}

 private:
  clblast::StatusCode Enqueue(Workspace& space) override {
    const ConvolutionProblem& p = problem_;
    return clblast::Convgemm<float>(clblast::KernelMode::kCrossCorrelation, p.channels, p.height,
                                    p.width, p.kernel, p.kernel, p.padding, p.padding, p.stride,
                                    p.stride, p.dilation, p.dilation, p.outputs, p.batch, space.a(),
                                    0, space.b(), 0, space.c(), 0, space.queue());
  }

  const ConvolutionProblem problem_;
};

std::unique_ptr<ClBlastRun> MakeRun(const PeerRequest& request, cl_device_id device) {
  if (const auto* matmul = std::get_if<MatmulProblem>(&request.problem->op)) {
    const Gemm g = MakeGemm(*matmul, request);
    return std::make_unique<GemmRun>(
        std::make_unique<Workspace>(device, g.a, g.batch * g.a_stride(), g.b,
                                    g.batch * g.b_stride(), g.batch * g.c_stride()),
        g);
  }
  const auto* p = std::get_if<ConvolutionProblem>(&request.problem->op);
  if (p == nullptr || p->groups > 1 || p->channels_last ||
      request.problem->direction != Direction::kForward) {
    return nullptr;
  }
  return std::make_unique<ConvolutionRun>(
      std::make_unique<Workspace>(device, request.inputs[0],
                                  p->batch * p->channels * p->height * p->width, request.inputs[1],
                                  p->outputs * p->channels * p->kernel * p->kernel,
                                  p->batch * p->outputs * p->output_height() * p->output_width()),
      *p);
}

}  // namespace
}  // namespace tartan::bench

extern "C" __attribute__((visibility("default"))) tartan::bench::PeerRun* TartanMakePeerRun(
    const tartan::bench::PeerRequest& request, std::string* error) {
  const cl_device_id device = tartan::bench::FindDevice(request.platform, request.device);
  if (device == nullptr) {
    *error = "no OpenCL device is named '" + request.device + "'";
    return nullptr;
  }
  return tartan::bench::MakeRun(request, device).release();
}
