// Generated kernels go through NVIDIA's own compiler, which needs no GPU.
#include <catch2/catch.hpp>

#include "plugins/cuda/generate/chain.h"
#include "plugins/cuda/generate/expression.h"
#include "plugins/cuda/libraries/nvrtc.h"
#include "support/skip.h"

using namespace softneuro;
using namespace softneuro::cuda;

namespace {

// Every function that there is, in one chain; binary ones with operands of every form in turn.
std::string all_functions(bool is_wide) {
  const Shape shape = is_wide ? Shape{2, 3, 5, 7, 1 << 24} : Shape{2, 3, 5, 7, 11};
  const Shape operands[] = {shape, {1}, {3, 1, 1, 1}, {2, 1, 5, 1, 1}, {2, 1, 5, 1, shape[4]}};
  Problem problem;
  TensorSpec spec;
  spec.type = DataType::float32;
  spec.shape = shape;
  problem.outputs = {spec};
  problem.inputs = {spec};
  for (const Shape& operand : operands) {
    spec.shape = operand;
    spec.type = problem.inputs.size() % 2 == 0 ? DataType::float16 : DataType::bfloat16;
    problem.inputs.push_back(spec);
  }
  std::vector<PostOp> ops;
  PostOp op;
  op.alpha = 0.5f;
  op.beta = 2;
  for (int i = 0; i < kUnaryOpCount; ++i) {
    op.unary = static_cast<UnaryOp>(i);
    if (expression(op) != nullptr) ops.push_back(op);
  }
  op.kind = PostOp::Kind::binary;
  for (int i = 0; i < kBinaryOpCount; ++i) {
    op.binary = static_cast<BinaryOp>(i);
    if (expression(op) == nullptr) continue;
    op.input = 1 + static_cast<std::uint32_t>(i) % std::size(operands);
    op.swapped = !op.swapped;
    ops.push_back(op);
  }
  REQUIRE(supports_tail(problem, ops).reason() == "");
  return chain(problem, 0, ops)->source;
}

std::vector<int> architectures(const Nvrtc& nvrtc) {
  int count = 0;
  REQUIRE(nvrtc.nvrtcGetNumSupportedArchs(&count) == NVRTC_SUCCESS);
  std::vector<int> all(static_cast<std::size_t>(count));
  REQUIRE(nvrtc.nvrtcGetSupportedArchs(all.data()) == NVRTC_SUCCESS);
  REQUIRE_FALSE(all.empty());
  return all;
}

}  // namespace

TEST_CASE("cuda: all functions and operands compile to machine code for each GPU of NVRTC",
          "[slow]") {
  const auto nvrtc = load_nvrtc();
  if (!nvrtc.ok()) SN_SKIP(nvrtc.status().message());
  const std::string narrow = all_functions(false);
  const std::string wide = all_functions(true);
  const std::vector<int> known = architectures(**nvrtc);
  for (const int architecture : known) {
    CAPTURE((*nvrtc)->version(), architecture);
    const auto image = compile(**nvrtc, narrow, architecture);
    INFO(image.status().message());
    REQUIRE(image.ok());
    CHECK(
        image->starts_with("\x7f"
                           "ELF"));
  }
  CHECK(compile(**nvrtc, wide, known.front()).ok());
}

TEST_CASE("cuda: a GPU newer than NVRTC gets PTX, an older one an error that names both") {
  const auto nvrtc = load_nvrtc();
  if (!nvrtc.ok()) SN_SKIP(nvrtc.status().message());
  const std::string source = all_functions(false);
  const auto newer = compile(**nvrtc, source, 999);
  INFO(newer.status().message());
  REQUIRE(newer.ok());
  CHECK(newer->find(".target") != std::string::npos);
  CHECK(newer->find(kKernelName) != std::string::npos);
  const Status older = compile(**nvrtc, source, 10).status();
  CHECK(older.code() == StatusCode::unsupported);
  CHECK(older.message().find("sm_10") != std::string::npos);
  CHECK(older.message().find((*nvrtc)->version()) != std::string::npos);
}

TEST_CASE("cuda: a source that does not compile is an error with the compiler's log") {
  const auto nvrtc = load_nvrtc();
  if (!nvrtc.ok()) SN_SKIP(nvrtc.status().message());
  const Status status = compile(**nvrtc, "not a kernel", architectures(**nvrtc).back()).status();
  CHECK(status.code() == StatusCode::device_failed);
  CHECK(status.message().find("softneuro.cu(1)") != std::string::npos);
}
