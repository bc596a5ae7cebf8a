// Generated kernels go through NVIDIA's own compiler, which needs no GPU.
#include <catch2/catch.hpp>

#include "plugins/cuda/chain_source.h"
#include "plugins/cuda/nvrtc.h"
#include "support/skip.h"

using namespace softneuro;
using namespace softneuro::cuda;

namespace {

// Every function that there is, in one chain; binary ones with operands of every form in turn.
ChainProgram all_functions(bool is_wide) {
  ChainProgram program;
  program.is_wide = is_wide;
  program.operands = {{}, {ChainOperand::Form::scalar, 0}, {}};
  for (int rank = 2; rank <= kMaxChainRank; ++rank)
    program.operands.push_back({ChainOperand::Form::strided, rank});
  PostOp op;
  op.alpha = 0.5f;
  op.beta = 2;
  for (int i = 0; i < kUnaryOpCount; ++i) {
    op.unary = static_cast<UnaryOp>(i);
    if (is_chain_op(op)) program.ops.push_back(op);
  }
  op.kind = PostOp::Kind::binary;
  for (int i = 0; i < kBinaryOpCount; ++i) {
    op.binary = static_cast<BinaryOp>(i);
    if (!is_chain_op(op)) continue;
    for (std::uint32_t operand = 1; operand < program.operands.size(); ++operand) {
      op.input = operand;
      op.swapped = !op.swapped;
      program.ops.push_back(op);
    }
  }
  return program;
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
  const std::string narrow = chain_source(all_functions(false));
  const std::string wide = chain_source(all_functions(true));
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
  const std::string source = chain_source(all_functions(false));
  const auto newer = compile(**nvrtc, source, 999);
  INFO(newer.status().message());
  REQUIRE(newer.ok());
  CHECK(newer->find(".target") != std::string::npos);
  CHECK(newer->find(kChainKernel) != std::string::npos);
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
