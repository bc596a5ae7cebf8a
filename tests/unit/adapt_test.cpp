// Adapt layers: every pair of formats against cpu/naive, and what costs nothing.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <span>

#include "core/base/element.h"
#include "core/base/isa_variants.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "core/routine/registry.h"
#include "core/routine/view_adapt.h"
#include "cpu/simd/qint8_rows.h"
#include "cpu/simd/transpose_tiles.h"
#include "routines/builtin.h"

namespace softneuro {
namespace {

constexpr Layout kLayouts[] = {Layout::plain, Layout::channels_last, Layout::nchw8c,
                               Layout::nchw16c};
constexpr Layout kBlocks[] = {Layout::plain,       Layout::channels_last,
                              Layout::blocked(2),  Layout::blocked(3),
                              Layout::blocked(12), Layout::nchw16c,
                              Layout::blocked(32), Layout::blocked(Layout::kMaxBlock)};

// A data type and, for qint8, what it means.
struct Meaning {
  DataType type;
  std::optional<Quantization> quantization;
};

Quantization per_channel(std::int64_t channels, int axis, bool is_signed) {
  Quantization q;
  q.is_signed = is_signed;
  q.axis = axis;
  for (std::int64_t c = 0; c < channels; ++c) {
    q.scales.push_back(0.01f + 0.003f * static_cast<float>(c % 11));
    q.zero_points.push_back(static_cast<std::int32_t>(c % 7) + (is_signed ? -3 : 100));
  }
  return q;
}

std::vector<Meaning> meanings(const Shape& shape) {
  const int axis = shape.rank() > 1 ? 1 : 0;
  return {{DataType::float32, {}},
          {DataType::float16, {}},
          {DataType::bfloat16, {}},
          {DataType::qint8, Quantization{false, -1, {0.031f}, {97}}},
          {DataType::qint8, Quantization{true, -1, {0.043f}, {-5}}},
          {DataType::qint8, per_channel(shape[axis], axis, true)},
          {DataType::qint8, per_channel(shape[axis], axis, false)}};
}

TensorSpec spec_of(const Shape& shape, const Meaning& meaning, Layout layout) {
  TensorSpec spec;
  spec.type = meaning.type;
  spec.layout = layout;
  spec.shape = shape;
  spec.quantization = meaning.quantization;
  return spec;
}

Problem problem_of(const TensorSpec& from, const TensorSpec& to) {
  Problem problem;
  problem.type = builtin_layer_types().find("adapt");
  problem.layer_inputs = 1;
  problem.inputs = {from};
  problem.outputs = {to};
  return problem;
}

const Registry& registry() {
  static const Registry all = make_builtin_registry().value();
  return all;
}

// Runs a routine of adapt into memory that held ones. Guarded by 64 bytes at the end.
std::vector<std::uint8_t> adapted(const char* descriptor, const Problem& problem,
                                  const std::vector<std::uint8_t>& source, int threads) {
  const auto pool = create_thread_pool(threads).value();
  const Routine* routine = registry().find("adapt", descriptor);
  REQUIRE(routine != nullptr);
  const auto implementation = RoutineContext(registry()).implement(*routine, problem);
  REQUIRE(implementation.ok());
  auto kernel = (*implementation)->create({});
  REQUIRE(kernel.ok());
  const auto view = [](const TensorSpec& spec, const std::uint8_t* data) {
    return TensorView{spec.type, spec.layout, spec.shape, const_cast<std::uint8_t*>(data)};
  };
  const TensorSpec& to = problem.outputs[0];
  const auto bytes = static_cast<std::size_t>(storage_bytes(to.type, to.shape, to.layout));
  std::vector<std::uint8_t> target(bytes + 64, 0xff);
  const TensorView input = view(problem.inputs[0], source.data());
  TensorView output = view(to, target.data());
  Context context({&input, 1}, {&output, 1}, nullptr, *pool);
  REQUIRE((*kernel)->run(context).ok());
  for (std::size_t i = bytes; i < target.size(); ++i) REQUIRE(target[i] == 0xff);
  target.resize(bytes);
  return target;
}

// Numbers with all that is awkward among them, in the format of `spec`; padding is zero.
std::vector<std::uint8_t> source_of(const TensorSpec& spec) {
  TensorSpec plain = spec;
  plain.layout = Layout::plain;
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(storage_bytes(plain.type, plain.shape, plain.layout)));
  std::mt19937 random(7);
  const TensorView view{spec.type, Layout::plain, spec.shape, bytes.data()};
  const double specials[] = {NAN, INFINITY, -INFINITY, 1e30,  -1e30,
                             0.0, -0.0,     1e-42,     65520, 0.0155};
  for (std::int64_t i = 0; i < view.elements(); ++i)
    if (spec.type == DataType::qint8)
      bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(random());
    else if (random() % 5 == 0)
      store(view, i, specials[random() % std::size(specials)]);
    else
      store(view, i, (static_cast<double>(random() % 20001) - 10000) / 1500);
  return adapted("cpu/naive", problem_of(plain, spec), bytes, 1);
}

// Elements that differ, padding included. Where a scale meets 16 bits cpu/naive rounds once, from
// double; in float32 the last bit may come out differently.
int differences(const TensorSpec& from, const TensorSpec& to, std::vector<std::uint8_t>& expected,
                std::vector<std::uint8_t>& actual) {
  if (expected == actual) return 0;
  if (to.type == DataType::qint8) return 1;
  const auto count = static_cast<std::int64_t>(expected.size() / size_of(to.type));
  const TensorView e{to.type, Layout::plain, Shape{count}, expected.data()};
  const TensorView a{to.type, Layout::plain, Shape{count}, actual.data()};
  int wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = load(e, i), y = load(a, i);
    if (std::isnan(x) && std::isnan(y)) continue;
    const double ulp = to.type == DataType::float16 ? 0x1p-10 : 0x1p-7;
    const bool may_round = from.type == DataType::qint8 && to.type != DataType::float32;
    if (x != y && !(may_round && std::fabs(x - y) <= ulp * std::fabs(x))) ++wrong;
  }
  return wrong;
}

// cpu/direct against cpu/naive, from every format to every other. The number of pairs.
int check_all(const Shape& shape, const std::vector<Meaning>& all,
              std::span<const Layout> layouts) {
  int pairs = 0;
  for (const Meaning& a : all)
    for (const Layout layout : layouts) {
      const TensorSpec from = spec_of(shape, a, layout);
      const std::vector<std::uint8_t> source = source_of(from);
      for (const Meaning& b : all)
        for (const Layout to_layout : layouts) {
          const TensorSpec to = spec_of(shape, b, to_layout);
          const Problem problem = problem_of(from, to);
          INFO(problem.str());
          const Routine* direct = registry().find("adapt", "cpu/direct");
          REQUIRE(RoutineContext(registry()).check(*direct, problem).ok());
          auto expected = adapted("cpu/naive", problem, source, 1);
          auto actual = adapted("cpu/direct", problem, source, 1);
          REQUIRE(differences(from, to, expected, actual) == 0);
          if (shape.elements() > 5000) REQUIRE(adapted("cpu/direct", problem, source, 2) == actual);
          ++pairs;
        }
    }
  return pairs;
}

TEST_CASE("adapt cpu/direct gives what cpu/naive gives, from every format to every other") {
  const Shape shapes[] = {{1, 3, 5, 7},    {2, 16, 4, 4},   {1, 37, 9, 10}, {2, 8, 3},
                          {1, 1, 6, 6},    {3, 20, 1, 1},   {1, 70, 70, 3}, {1, 64, 33, 17},
                          {2, 5, 3, 2, 4}, {1, 2, 129, 70}, {1, 4, 50, 50}};
  for (const Shape& shape : shapes) CHECK(check_all(shape, meanings(shape), kLayouts) == 28 * 28);
}

TEST_CASE("adapts convert from and to blocks of any size") {
  for (const Shape& shape : {Shape{2, 37, 5, 3}, Shape{1, 64, 2, 9}, Shape{1, 3, 7}}) {
    const std::vector<Meaning> all = meanings(shape);
    CHECK(check_all(shape, {all[0], all[1], all[3], all[5]}, kBlocks) == 32 * 32);
  }
  // And back: as it was. The reference for what cpu/naive does with blocks is the plain tensor.
  const Shape shape{1, 5, 2, 3};
  const TensorSpec plain = spec_of(shape, {DataType::float32, {}}, Layout::plain);
  TensorSpec blocked = plain;
  blocked.layout = Layout::blocked(4);
  std::vector<std::uint8_t> bytes(30 * sizeof(float));
  auto* const numbers = reinterpret_cast<float*>(bytes.data());
  for (int i = 0; i < 30; ++i) numbers[i] = static_cast<float>(i + 1);
  const auto stored = adapted("cpu/naive", problem_of(plain, blocked), bytes, 1);
  REQUIRE(stored.size() == 48 * sizeof(float));
  const auto* const at = reinterpret_cast<const float*>(stored.data());
  CHECK((at[0] == 1 && at[1] == 7 && at[3] == 19 && at[4] == 2));  // position 0, then position 1
  CHECK((at[24] == 25 && at[25] == 0 && at[27] == 0 && at[28] == 26));  // the last channel, padding
  CHECK(adapted("cpu/naive", problem_of(blocked, plain), stored, 1) == bytes);
}

TEST_CASE("adapt cpu/direct casts tensors of any rank, with scales along any axis") {
  const Shape shapes[] = {{}, {17}, {3, 5}, {4, 6, 9}, {2, 3, 4, 5}};
  for (const Shape& shape : shapes)
    for (int axis = -1; axis < shape.rank(); ++axis) {
      const Meaning quantized = {DataType::qint8, axis < 0 ? Quantization{true, -1, {0.5f}, {3}}
                                                           : per_channel(shape[axis], axis, false)};
      const TensorSpec a = spec_of(shape, {DataType::float32, {}}, Layout::plain);
      const TensorSpec b = spec_of(shape, quantized, Layout::plain);
      for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        const Problem problem = problem_of(from, to);
        INFO(problem.str() << " axis " << axis);
        REQUIRE(RoutineContext(registry())
                    .check(*registry().find("adapt", "cpu/direct"), problem)
                    .ok());
        const auto source = source_of(from);
        auto expected = adapted("cpu/naive", problem, source, 1);
        auto actual = adapted("cpu/direct", problem, source, 1);
        CHECK(differences(from, to, expected, actual) == 0);
      }
    }
}

TEST_CASE("adapt refuses what it cannot know") {
  const Routine* direct = registry().find("adapt", "cpu/direct");
  const Shape shape = {2, 3, 4, 5};
  const TensorSpec real = spec_of(shape, {DataType::float32, {}}, Layout::plain);
  const auto applies = [&](const TensorSpec& to) {
    return RoutineContext(registry()).check(*direct, problem_of(real, to)).ok();
  };
  CHECK_FALSE(applies(spec_of(shape, {DataType::qint8, {}}, Layout::plain)));
  CHECK_FALSE(applies(spec_of(shape, {DataType::int32, {}}, Layout::plain)));
  CHECK_FALSE(
      applies(spec_of(shape, {DataType::qint8, per_channel(5, 3, true)}, Layout::channels_last)));
}

TEST_CASE("a view adapt leaves the bytes as they are, and no other one does") {
  const Shape shapes[] = {{1, 3, 5, 7},  {2, 16, 1, 1}, {2, 24, 1, 1}, {2, 20, 1, 1}, {2, 1, 6, 6},
                          {2, 16, 4, 4}, {2, 8, 5, 4},  {3, 32, 1},    {1, 32, 1, 1}, {5, 16}};
  int views = 0, others = 0;
  for (const Shape& shape : shapes)
    for (const Layout from : kBlocks)
      for (const Layout to : kBlocks) {
        if (shape.rank() < 3 && (from != Layout::plain || to != Layout::plain)) continue;
        const Problem problem = problem_of(spec_of(shape, {DataType::float32, {}}, from),
                                           spec_of(shape, {DataType::float32, {}}, to));
        // All elements differ, so that the bytes tell whether their order is the same.
        std::vector<std::uint8_t> plain(static_cast<std::size_t>(shape.elements()) * 4);
        for (std::int64_t i = 0; i < shape.elements(); ++i)
          reinterpret_cast<float*>(plain.data())[i] = static_cast<float>(i + 1);
        TensorSpec made = problem.inputs[0];
        made.layout = Layout::plain;
        const auto source = adapted("cpu/naive", problem_of(made, problem.inputs[0]), plain, 1);
        const bool same = adapted("cpu/naive", problem, source, 1) == source;
        const bool is_view =
            is_view_adapt(shape, {DataType::float32, from}, {DataType::float32, to}, true);
        INFO(problem.str());
        CHECK(is_view == same);
        ++(is_view ? views : others);
      }
  CHECK(views > 40);
  CHECK(others > 40);
  const Shape shape = {1, 4, 2, 2};
  CHECK_FALSE(is_view_adapt(shape, {DataType::float32, {}}, {DataType::float16, {}}, true));
  CHECK_FALSE(is_view_adapt(shape, {DataType::qint8, {}}, {DataType::qint8, {}}, false));
  CHECK(is_view_adapt(shape, {DataType::qint8, {}}, {DataType::qint8, {}}, true));
}

TEST_CASE("tiles are transposed alike by every instruction set, and nothing else is touched") {
  std::mt19937 random(3);
  for (const IsaSet& set : kIsaSets) {
    if (!set.is_variant || !usable_features().has(set.needs)) continue;
    for (const std::size_t bytes : {1u, 2u, 4u})
      for (const std::int64_t rows : {1, 2, 3, 4, 7, 16, 31, 64, 67, 130})
        for (const std::int64_t columns : {1, 2, 4, 15, 16, 33, 64}) {
          const std::int64_t source_stride = columns + (rows % 2),
                             target_stride = rows + columns % 3;
          const auto cells = static_cast<std::size_t>((rows + 3) * (columns + 3)) * bytes;
          std::vector<std::uint8_t> source(cells), target(cells, 0xa5), expected(cells, 0xa5);
          for (auto& byte : source) byte = static_cast<std::uint8_t>(random());
          for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j)
              std::memcpy(&expected[static_cast<std::size_t>(j * target_stride + i) * bytes],
                          &source[static_cast<std::size_t>(i * source_stride + j) * bytes], bytes);
          transpose_tiles(set.needs).transpose(
              bytes, {source.data(), target.data(), source_stride, target_stride, rows, columns});
          INFO(set.name << ": " << bytes << " bytes, " << rows << " x " << columns);
          REQUIRE(target == expected);
        }
  }
}

TEST_CASE("tables and scales give the same bytes with every instruction set") {
  const Quantization q{false, -1, {0.037f}, {120}};
  Qint8Table table;
  for (std::size_t i = 0; i < 256; ++i) table[i] = static_cast<std::uint8_t>(255 - i * 7);
  std::vector<std::uint8_t> bytes(1000);
  std::vector<float> numbers(bytes.size());
  std::mt19937 random(5);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(random());
    numbers[i] = i % 50 == 0 ? NAN : (static_cast<float>(random() % 2001) - 1000) * 0.01f;
  }
  for (const IsaSet& set : kIsaSets) {
    if (!set.is_variant || !usable_features().has(set.needs)) continue;
    for (const std::int64_t count : {0, 1, 15, 63, 64, 65, 200, 1000}) {
      std::vector<std::uint8_t> mapped(bytes.size(), 1), quantized(bytes.size(), 1);
      std::vector<float> real(bytes.size(), -1);
      qint8_rows(set.needs).map(table, bytes.data(), mapped.data(), count);
      qint8_rows(set.needs).quantize(numbers.data(), quantized.data(), count, scale_of(q));
      qint8_rows(set.needs).dequantize(bytes.data(), real.data(), count, scale_of(q));
      const Quantization p{true, -1, {0.05f}, {-7}};
      std::vector<std::uint8_t> sums(bytes.size(), 1), products(bytes.size(), 1);
      const Quantization wide{false, -1, {0.08f}, {118}};
      qint8_rows(set.needs).combine(Qint8Form::sum(q, p, wide, -1), bytes.data(), 1, bytes.data(),
                                    1, sums.data(), count);
      qint8_rows(set.needs).combine(Qint8Form::product(q, p, wide), bytes.data() + 9, 0,
                                    bytes.data(), 1, products.data(), count);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const bool written = i < static_cast<std::size_t>(count);
        INFO(set.name << ": " << i << " of " << count);
        REQUIRE(mapped[i] == (written ? table[bytes[i]] : 1));
        REQUIRE(real[i] == (written ? (static_cast<float>(bytes[i]) - 120) * 0.037f : -1));
        const double rounded = std::nearbyint(static_cast<double>(numbers[i] / 0.037f)) + 120;
        const double expected =
            std::isnan(numbers[i]) ? 120 : std::fmin(std::fmax(rounded, 0), 255);
        REQUIRE(static_cast<double>(quantized[i]) == (written ? expected : 1));
        const auto dequantized = [](const Quantization& m, std::uint8_t byte) {
          const int number = m.is_signed ? static_cast<std::int8_t>(byte) : byte;
          return static_cast<double>(m.scales[0]) * (number - m.zero_points[0]);
        };
        const auto steps_off = [&](double value, std::uint8_t byte) {
          const double steps = std::fmin(std::fmax(value / 0.08 + 118, 0), 255);
          return std::fabs(steps - byte);
        };
        if (!written) REQUIRE((sums[i] == 1 && products[i] == 1));
        if (!written) continue;
        REQUIRE(steps_off(dequantized(q, bytes[i]) - dequantized(p, bytes[i]), sums[i]) < 0.501);
        REQUIRE(steps_off(dequantized(q, bytes[9]) * dequantized(p, bytes[i]), products[i]) <
                0.501);
      }
    }
  }
}

}  // namespace
}  // namespace softneuro
