// Generated kernels go through NVIDIA's own compiler, which needs no GPU.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "plugins/cuda/generate/chain.h"
#include "plugins/cuda/generate/expression.h"
#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/typed_expression.h"
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

// Functions of integers, booleans and float64, one statement each: of x and p, which are x0, and q,
// which is x1, in the type named.
std::string typed_functions(const std::string& type, bool is_real) {
  std::string text = fmt::format(
      "{{ typedef {} W; const W x = (W)x0, p = x, q = (W)x1, a = 2, b = 3; (void)a; (void)b;\n",
      type);
  const auto add = [&](const std::string& expression) {
    if (!expression.empty()) text += fmt::format("sum += (double)({});\n", expression);
  };
  const auto or_none = [](const char* known) { return std::string(known == nullptr ? "" : known); };
  for (int i = 0; i < kUnaryOpCount; ++i) {
    const auto op = static_cast<UnaryOp>(i);
    add(is_real ? double_expression(op) : or_none(integer_expression(op)));
    if (is_real) add(or_none(predicate(op)));
  }
  for (int i = 0; i < kBinaryOpCount; ++i) {
    const auto op = static_cast<BinaryOp>(i);
    add(is_real ? double_expression(op) : or_none(integer_expression(op)));
    if (is_real) add(or_none(predicate(op)));
  }
  return text + "}\n";
}

// Those, and the conversions of all types to all others, in one map.
std::string all_types() {
  TensorSpec spec;
  spec.shape = {2, 3};
  spec.type = DataType::float64;
  Problem problem;
  problem.outputs = {spec};
  problem.inputs = {spec, spec};
  problem.inputs[1].type = DataType::uint64;
  KernelSource source(6);
  source.add_function(integer_functions());
  source.add_function(double_functions());
  std::string function = "double sum = 0;\n" + typed_functions("double", true);
  for (const char* const type : {"int", "long long", "unsigned long long"})
    function += typed_functions(type, false);
  using enum DataType;
  const DataType types[] = {float32, float64, float16, bfloat16, int8,   uint8,  int16,
                            uint16,  int32,   uint32,  int64,    uint64, boolean};
  for (const DataType from : types)
    for (const DataType to : types)
      function +=
          fmt::format("sum += (double)({});\n",
                      conversion(source, fmt::format("({})x0", number_type(from)), from, to));
  const Operand operands[] = {*broadcast(problem, 0), *broadcast(problem, 1)};
  return map(source, problem, operands, function + "return sum;\n").source;
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

TEST_CASE("cuda: functions of all types, and conversions of each to each, compile for real GPUs") {
  const auto nvrtc = load_nvrtc();
  if (!nvrtc.ok()) SN_SKIP(nvrtc.status().message());
  const std::string source = all_types();
  const std::vector<int> known = architectures(**nvrtc);
  for (const int architecture : {known.front(), known.back()}) {
    CAPTURE((*nvrtc)->version(), architecture);
    const auto image = compile(**nvrtc, source, architecture);
    INFO(image.status().message());
    CHECK(image.ok());
  }
}

TEST_CASE("cuda: contiguous operands are read, and the output is written, 16 bytes at a time") {
  const auto nvrtc = load_nvrtc();
  if (!nvrtc.ok()) SN_SKIP(nvrtc.status().message());
  TensorSpec spec;
  spec.shape = {2, 3, 8};
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    CAPTURE(to_string(type));
    spec.type = type;
    Problem problem;
    problem.outputs = {spec};
    problem.inputs = {spec, spec};
    problem.inputs[1].shape = {3, 1};
    PostOp add;
    add.kind = PostOp::Kind::binary;
    add.input = 1;
    // An architecture that is not known: PTX.
    const auto text = compile(**nvrtc, chain(problem, 0, {&add, 1})->source, 999);
    INFO(text.status().message());
    REQUIRE(text.ok());
    INFO(*text);
    CHECK(text->find("ld.global.v4") != std::string::npos);
    CHECK(text->find("st.global.v4") != std::string::npos);
  }
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
