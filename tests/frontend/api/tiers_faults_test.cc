// SPDX-License-Identifier: Apache-2.0
// Tests of background compilation of exact kernels when processes end, crash or run out of disk.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>

#include "frontend/api/background/compiler_process.h"
#include "frontend/api/background/idle_time.h"
#include "frontend/api/composer.h"
#include "frontend/api/device.h"
#include "frontend/api/function.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"
#include "tile/compiler/compile_options.h"
#include "tile/evaluator/compile_kernels.h"

namespace tartan::api {
namespace {

int CountOf(const std::string& part, const std::string& text) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class TiersFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto devices = ListDevices(); !devices.ok()) GTEST_SKIP() << devices.status();
  }

  static std::string Built(const std::string& name) {
    const char* build = std::getenv("TARTAN_BINARY_DIR");
    return std::filesystem::absolute(build == nullptr ? "build" : build) / name;
  }

  cli::ProgramResult Run(const std::string& mode, int runs, const std::string& cache = "",
                         const std::string& compiler = "") const {
    cli::ProgramOptions options;
    options.environment = {"TARTAN_CACHE_DIR=" + (cache.empty() ? directory_.path() : cache),
                           "TARTAN_COMPILER=" + compiler};
    return cli::RunProgram({"/usr/bin/timeout", "-s", "KILL", "300", Built("tests/tiers_program"),
                            mode, std::to_string(runs)},
                           options);
  }

  // A shell script for TARTAN_COMPILER that runs `commands`.
  std::string Script(const std::string& commands) const {
    const std::string path = directory_.path() + "/script";
    std::ofstream(path) << "#!/bin/sh\n" << commands << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string ContentOf(const std::string& name) const {
    std::ifstream stream(directory_.path() + "/" + name);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  // Expects a successful run whose last result came from kernels of `tier`.
  static void ExpectTier(const cli::ProgramResult& result, const std::string& tier) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, tier) << result.err;
    EXPECT_EQ(result.err, "");
  }

  const TemporaryDirectory directory_;
};

TEST_F(TiersFaults, WhatTheBackgroundHasCompiledServesTheNextProcessAtOnce) {
  ExpectTier(Run("runs", 1), "ready");
  ExpectTier(Run("runs", 1), "ready");
  ExpectTier(Run("exact", 1), "exact");
  ExpectTier(Run("runs", 1), "exact");
}

TEST_F(TiersFaults, AProcessMayExitWhileItsExactKernelsAreCompiled) {
  for (int runs = 1; runs <= 6; ++runs) {
    const cli::ProgramResult result = Run("exit", 7 * runs * runs);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
  }
  ExpectTier(Run("exact", 1), "exact");
}

TEST_F(TiersFaults, AProcessMayBeKilledWhileItsExactKernelsAreCompiled) {
  for (int runs = 1; runs <= 6; ++runs) {
    const cli::ProgramResult result = Run("kill", 7 * runs * runs);
    EXPECT_EQ(result.exit_code, 128 + SIGKILL) << result.err;
    EXPECT_EQ(result.err, "");
  }
  ExpectTier(Run("exact", 1), "exact");
  ExpectTier(Run("runs", 1), "exact");
}

TEST_F(TiersFaults, TwoProcessesMayBeginWithOneEmptyCache) {
  auto other = std::async(std::launch::async, [&] { return Run("exact", 1); });
  ExpectTier(Run("exact", 1), "exact");
  ExpectTier(other.get(), "exact");
  ExpectTier(Run("runs", 1), "exact");
}

TEST_F(TiersFaults, RunsGoOnWhereTheCacheCannotBeWritten) {
  ExpectTier(Run("exact", 1, "/proc/no-cache"), "exact");
  ExpectTier(Run("exact", 1, "/dev/null"), "exact");
}

// The disk fills up at the start, during the ready kernels, or during the exact kernels.
TEST_F(TiersFaults, RunsGoOnWhereTheDiskBecomesFull) {
  const std::string mount = "mount -t tmpfs -o size=$1 tmpfs /mnt";
  const auto on_disk = [&](const std::string& size, const std::string& compiler,
                           const std::string& command) {
    cli::ProgramOptions options;
    options.environment = {"TARTAN_CACHE_DIR=/mnt/cache", "TARTAN_COMPILER=" + compiler};
    return cli::RunProgram({"/usr/bin/unshare", "-m", "/bin/sh", "-c", mount + " && " + command,
                            "sh", size, Built("tests/tiers_program")},
                           options);
  };
  if (on_disk("40k", "", "true").exit_code != 0) GTEST_SKIP() << "this user may not mount";
  for (const std::string& compiler : {std::string(), Built("tartan")}) {
    for (const std::string size : {"40k", "120k", "220k", "320k"}) {
      const cli::ProgramResult result =
          on_disk(size, compiler, "exec timeout -s KILL 300 \"$2\" wait 3");
      EXPECT_EQ(result.exit_code, 0) << size << result.err;
      EXPECT_THAT(result.out, testing::AnyOf("exact", "failed, ready")) << size;
    }
  }
}

TEST_F(TiersFaults, AnotherProcessCompilesThemWhereThereIsOneToDoSo) {
  const std::string log = directory_.path() + "/log";
  const std::string compiler =
      Script("echo $1 >>" + log + "; " + Built("tartan") + " \"$@\"; echo $? >>" + log);
  ExpectTier(Run("exact", 1, "", compiler), "exact");
  // The compiler processes that started; each ended with status 0.
  const std::string first = ContentOf("log");
  EXPECT_GT(CountOf("compile-kernels\n", first), 0);
  const int started = CountOf("compile-kernels\n", first);
  const int done = CountOf("0\n", first);
  EXPECT_EQ(CountOf("\n", first), started + done) << first;
  // One idle process that loaded its compiler in advance may have been killed.
  EXPECT_GE(done, started - 1) << first;
  EXPECT_GT(done, 0) << first;
  ExpectTier(Run("exact", 1, "", compiler), "exact");
  EXPECT_EQ(ContentOf("log"), first) << "all was on disk";
}

TEST_F(TiersFaults, AProcessThatCannotCompileThemLeavesItToTheThread) {
  for (const std::string& compiler : {std::string("/nothing/here"), Script("exit 2")}) {
    const TemporaryDirectory cache;
    ExpectTier(Run("exact", 1, cache.path(), compiler), "exact");
  }
}

TEST_F(TiersFaults, ACompilerThatCrashesTakesNoRunWithIt) {
  const cli::ProgramResult result = Run("wait", 3, "", Script("kill -SEGV $$"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "failed, ready");
  EXPECT_THAT(result.err, testing::HasSubstr("signal 11"));
}

TEST_F(TiersFaults, ACompilersProcessEndsWithTheOneThatExits) {
  const std::string compiler = Script("echo $$ >" + directory_.path() + "/process; exec sleep 250");
  const cli::ProgramResult result = Run("exit", 2001, "", compiler);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string process = ContentOf("process");
  if (process.empty()) return;  // the compiler process had not started yet
  EXPECT_NE(kill(std::stoi(process), 0), 0);
}

// The state letter of a process; T means stopped.
char StateOf(const std::string& process) {
  std::ifstream stream("/proc/" + process + "/stat");
  const std::string line(std::istreambuf_iterator<char>(stream), {});
  const size_t name_end = line.rfind(')');
  return name_end == std::string::npos ? '-' : line[name_end + 2];
}

TEST_F(TiersFaults, ACompilersProcessIsStoppedWhileARunIsUnderWay) {
  std::atomic<IdleTime::Duration> now = IdleTime::kPeriod / 2;
  IdleTime time(IdleTime::kFewProcessors, [&] { return now.load(); });
  const std::string path = directory_.path();
  const std::string script = Script("echo $$ >" + path + "/new; mv " + path + "/new " + path +
                                    "/process; until [ -e " + path + "/end ]; do :; done");
  auto compiled = std::async(std::launch::async, [&] {
    const auto should_continue = [&] {
      time.MayWork();
      return true;
    };
    return CompileInIdleTime(script, 0, "a request", should_continue, time);
  });
  while (ContentOf("process").empty()) {
  }
  const std::string process = std::to_string(std::stoi(ContentOf("process")));
  EXPECT_NE(StateOf(process), 'T');
  {
    const IdleTime::Run run(time);
    while (StateOf(process) != 'T') {
    }
  }
  now = now.load() + IdleTime::kPause;
  while (StateOf(process) == 'T') {
  }
  std::ofstream(path + "/end") << "now";
  EXPECT_EQ(compiled.get(), absl::OkStatus());
}

TEST_F(TiersFaults, ACompilersProcessThatGetsNoProcessorIsFollowedByOneOfUsualPriority) {
  IdleTime time(IdleTime::kFewProcessors, [] { return IdleTime::Duration(0); });
  const std::string log = directory_.path() + "/policies";
  // The scheduling policy is field 41 of /proc/PID/stat; the script's name contains no blank.
  const std::string script = Script("set -- $(cat /proc/$$/stat); shift 40; echo $1 >>" + log +
                                    "; [ $1 = 0 ] || exec sleep 250");
  const absl::Status status = CompileInIdleTime(
      script, 0, "a request", [] { return true; }, time, std::chrono::milliseconds(0));
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_THAT(ContentOf("policies"), testing::EndsWith("0\n"));
}

// A file lock survives the caller's close while another process has the file open, so the compiler
// process must not inherit it.
TEST_F(TiersFaults, CompilerProcessesHaveNoFilesOfTheCaller) {
  const int file = open((directory_.path() + "/weights").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  const int inherited = fcntl(file, F_DUPFD, 77);  // stays open across exec
  close(file);
  ASSERT_GE(inherited, 77);
  const std::string script =
      Script("for f in /proc/$$/fd/*; do readlink $f; done > " + directory_.path() + "/open");
  const absl::Status status = CompileInProcess(script, 0, "a request", [] { return true; });
  EXPECT_FALSE(status.ok());  // the script compiles nothing
  close(inherited);
  EXPECT_NE(ContentOf("open"), "");
  EXPECT_THAT(ContentOf("open"), testing::Not(testing::HasSubstr("weights")));
}

// The script goes on until the test has ended, and would then fail.
TEST_F(TiersFaults, ACompilerProcessThatSaysItIsDoneIsNotWaitedFor) {
  const std::string request = directory_.path() + "/request";
  const std::string script =
      Script("cat <&3 > /dev/null; cat > " + request + "; printf x >&3; while [ -e " + request +
             " ]; do sleep 0.02; done; exit 5");
  const absl::Status status = CompileInProcess(script, 0, "a request", [] { return true; });
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(ContentOf("request"), "a request");
}

TEST_F(TiersFaults, AnAnsweredRequestEndsItsProcessAtOnce) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], kAwaitedFile);
    EndAnswered();
    _exit(99);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kCompileDone);
  char byte = 1;
  EXPECT_EQ(recv(ends[0], &byte, 1, MSG_DONTWAIT), 1);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(TiersFaults, AProgramIsFoundCompiledOnceAllItsKernelsAreThoseOfSetupToo) {
  setenv("TARTAN_CACHE_DIR", directory_.path().c_str(), 1);
  const auto open = [] { return *Device::Open(); };
  const Tensor x = Tensor::Placeholder("x", TensorShape{DataType::kFloat32, {5}});
  const Tensor w = Tensor::Constant(
      HostTensor::FromVector(TensorShape{DataType::kFloat32, {3}}, std::vector<float>{1, 2, 3}));
  const auto y = Apply("function (X, W) -> (Y) { S[] = +(W[m]); Y = X * S; }", {x, w});
  ASSERT_TRUE(y.ok()) << y.status();
  const auto composed = Compose({x}, {*y});
  ASSERT_TRUE(composed.ok()) << composed.status();
  const proto::Program& program = composed->program;

  EXPECT_EQ(open()->FindCompiled(program), nullptr);
  {
    const auto device = open();
    const auto compiled = device->Compile(program);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    ASSERT_FALSE((*compiled)->list().setup.empty());
    if (open()->FindCompiled(program) != nullptr) {
      GTEST_SKIP() << "nothing is compiled at a first launch";
    }
    EXPECT_EQ(device->FindCompiled(program), nullptr);
    ASSERT_TRUE(evaluator::CompileKernels(**compiled).ok());
    EXPECT_EQ(device->FindCompiled(program), *compiled);
  }
  const auto found = open()->FindCompiled(program);
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->has_all_kernels());
  EXPECT_EQ(found->executables().front()->statistics().cache_misses, 0);
  EXPECT_EQ(open()->WithTier(compiler::Tier::kReady)->FindCompiled(program), nullptr);
}

}  // namespace
}  // namespace tartan::api
