// Which of cuDNN's engines serve which arithmetic, over the test's library: device/fake_cudnn.cpp
// says what it proposes.
#if defined(SOFTNEURO_HAS_CUDNN) && defined(SOFTNEURO_HAS_CUDA_PLUGIN)
#include <catch2/catch.hpp>

#include "device/fake_cuda.h"
#include "numeric/check_routine.h"
#include "plugins/cuda/convolution/cudnn_plan.h"
#include "routines/builtin.h"
#include "support/skip.h"

namespace softneuro::test {
namespace {

using namespace softneuro::cuda;
using Names = std::vector<std::string>;

constexpr Precision kTf32 = {Arithmetic::tf32, DataType::float32};

// A window of 3x3 over 1x4x6x6.
ConvolutionSpec spec_of(std::int64_t channels_out, DataType type = DataType::float32) {
  ConvolutionSpec spec;
  spec.type = type;
  spec.x = {1, 4, 6, 6};
  spec.w = {channels_out, 4, 3, 3};
  spec.y = {1, channels_out, 4, 4};
  spec.strides = spec.dilations = {1, 1};
  return spec;
}

// Owns a handle of the test's library.
class Card {
 public:
  Card() : cudnn_(**fake_cudnn()) { REQUIRE(cudnn_.cudnnCreate(&handle_) == CUDNN_STATUS_SUCCESS); }
  ~Card() { cudnn_.cudnnDestroy(handle_); }
  CudnnCard get() const { return {&cudnn_, handle_, nullptr}; }

 private:
  const Cudnn& cudnn_;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace

TEST_CASE("cudnn: engines that round factors serve tf32 alone, inexact and varying ones nothing") {
  const Card card;
  const auto names = [&](const ConvolutionSpec& spec, const Precision& precision) {
    return CudnnConvolution::create(card.get(), spec, precision).value()->names();
  };
  CHECK(names(spec_of(4), DataType::float32) == Names{"eng0", "eng1"});
  CHECK(names(spec_of(4), kTf32) == Names{"eng30_k2.5_k13.1", "eng0", "eng1"});
  CHECK(names(spec_of(4, DataType::float16), DataType::float16) ==
        Names{"eng30_k2.5_k13.1", "eng0", "eng1"});
}

TEST_CASE("cudnn: engines that do the steps come first, then those of the convolution alone") {
  const Card card;
  ConvolutionSpec spec = spec_of(6);
  spec.steps.push_back({FusedStep::Kind::relu, 6, 0});
  const auto convolution = CudnnConvolution::create(card.get(), spec, DataType::float32).value();
  CHECK(convolution->names() == Names{"fused_eng0", "eng0"});
  CHECK((*convolution->plan("fused_eng0"))->steps == 1);
  CHECK((*convolution->plan("eng0"))->steps == 0);
}

TEST_CASE("cudnn: an engine that refuses, or wants too much memory, is passed over") {
  const Card card;
  const auto convolution =
      CudnnConvolution::create(card.get(), spec_of(5), DataType::float32).value();
  CHECK(convolution->names() == Names{"eng20", "eng21", "eng0"});
  for (const char* const name : {"eng20", "eng21", "eng999"})
    CHECK(convolution->plan(name).status().code() == StatusCode::unsupported);
  const auto plan = convolution->default_plan();
  REQUIRE(plan.ok());
  CHECK((*plan)->workspace_bytes == 1000);
  const int made = fake_cudnn_plans();
  CHECK(*convolution->default_plan() == *plan);
  CHECK(fake_cudnn_plans() == made);
}

TEST_CASE("cudnn: sizes that do not fit each other are an error of the library") {
  const Card card;
  ConvolutionSpec spec = spec_of(4);
  spec.y[2] = 5;
  CHECK(CudnnConvolution::create(card.get(), spec, DataType::float32).status().code() ==
        StatusCode::device_failed);
}

TEST_CASE("cudnn: a stored engine that this library does not have stands for the default") {
  Registry registry = make_builtin_registry().value();
  REQUIRE(add_gpu(registry, fake_toolkit()).ok());
  if (const auto compiler = fake_nvrtc(); !compiler.ok()) SN_SKIP(compiler.status().message());
  ProblemSet set;
  set.add("conv2")
      .input({1, 4, 6, 6})
      .constant({4, 4, 3, 3})
      .constant({4})
      .post_op(UnaryOp::silu, 1);
  PreparedCase prepared = prepare(registry, set.cases()[0], test_seed()).value();
  put_on_device(*DeviceId::parse("cuda"), prepared.problem);
  const Routine& routine = *registry.find("conv2", "cuda/cudnn");
  const auto implementation = prepared.implement(routine);
  INFO(implementation.status().message());
  REQUIRE(implementation.ok());
  RoutineParams stored;
  stored.set("engine", std::string("eng999_k2.1"));
  CHECK((*implementation)->check_params(stored).ok());
  RoutineParams other;
  other.set("tile", std::int64_t{1});
  CHECK_FALSE((*implementation)->check_params(other).ok());
  const RunResult wanted =
      run_routine(routine, prepared, test_pool(1), (*implementation)->default_params());
  const RunResult got = run_routine(routine, prepared, test_pool(1), stored);
  REQUIRE(wanted.status.ok());
  REQUIRE(got.status.ok());
  CHECK(same_bits(wanted.outputs, got.outputs));
}

}  // namespace softneuro::test
#endif
