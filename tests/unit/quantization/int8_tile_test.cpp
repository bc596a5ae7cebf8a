// The tiles of 8-bit products against plain sums, in every instruction set that this processor has.
#include "cpu/gemm/int8_tile.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/base/isa_variants.h"

namespace softneuro {
namespace {

// Operands of a tile, weights [quads][columns][4] as it reads them. Scales are powers of two and
// the rest are integers, so that float32 holds every number and contracted sums are the same.
struct Operands {
  std::int64_t rows, columns, taps, quads;
  std::vector<std::uint8_t> x;  // [taps][rows][4 · quads]
  std::vector<const std::uint8_t*> pointers;
  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> start;
  std::vector<float> scale, bias;
  std::vector<std::uint8_t> addend;

  std::int64_t width() const { return round_up(columns, kInt8Lanes); }
  std::size_t outputs() const { return static_cast<std::size_t>(rows * columns); }
};

using Random = std::mt19937;
int integer(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

// limit: of the sum of two weights of one sign next to each other. In every other case all pairs
// reach it, and all inputs are as large as they can be.
Operands make(std::int64_t rows, std::int64_t columns, std::int64_t taps, std::int64_t quads,
              int limit, Random& random) {
  Operands o{rows, columns, taps, quads, {}, {}, {}, {}, {}, {}, {}};
  const bool extreme = integer(random, 0, 1) == 1;
  o.x.resize(static_cast<std::size_t>(taps * rows * 4 * quads));
  for (auto& x : o.x) x = static_cast<std::uint8_t>(extreme ? 255 : integer(random, 0, 255));
  for (std::int64_t r = 0; r < taps * rows; ++r) o.pointers.push_back(o.x.data() + r * 4 * quads);
  o.weights.resize(static_cast<std::size_t>(taps * quads * o.width() * 4));
  for (std::size_t i = 0; i < o.weights.size(); i += 2) {
    const int sign = integer(random, 0, 1) * 2 - 1;
    const int other = extreme ? sign : integer(random, 0, 1) * 2 - 1;
    const int first = integer(random, extreme ? std::max(0, limit - 127) : 0, 127);
    const int most = std::min(127, limit - first);
    const int second = extreme ? most : integer(random, 0, most);
    o.weights[i] = static_cast<std::int8_t>(sign * first);
    o.weights[i + 1] = static_cast<std::int8_t>(other * second);
  }
  for (std::int64_t c = 0; c < o.width(); ++c) {
    o.start.push_back(integer(random, -1000, 1000));
    o.scale.push_back(std::ldexp(1.0f, -integer(random, 1, 4)));
    o.bias.push_back(static_cast<float>(integer(random, -50, 50)));
  }
  for (std::size_t i = 0; i < o.outputs(); ++i)
    o.addend.push_back(static_cast<std::uint8_t>(integer(random, 0, 255)));
  return o;
}

Int8Tile tile_of(const Operands& o) {
  Int8Tile t;
  t.rows = o.pointers.data();
  t.row_count = o.rows;
  t.taps = o.taps;
  t.quads = o.quads;
  t.weights = o.weights.data();
  t.columns = o.columns;
  t.start = o.start.data();
  t.scale = o.scale.data();
  t.bias = o.bias.data();
  t.row_stride = o.columns;
  t.addend.row_stride = o.columns;
  return t;
}

// What the header says, in float32.
std::vector<float> expected(const Operands& o, const Int8Tile& t) {
  std::vector<float> y;
  for (std::int64_t r = 0; r < o.rows; ++r)
    for (std::int64_t c = 0; c < o.columns; ++c) {
      const auto column = static_cast<std::size_t>(c);
      std::int32_t sum = o.start[column];
      for (std::int64_t q = 0; q < o.taps * o.quads; ++q)
        for (std::int64_t k = 0; k < 4; ++k) {
          const std::uint8_t x = t.rows[q / o.quads * o.rows + r][q % o.quads * 4 + k];
          sum += (x ^ (t.flip ? 0x80 : 0)) *
                 o.weights[static_cast<std::size_t>((q * o.width() + c) * 4 + k)];
        }
      float value = std::fma(static_cast<float>(sum), o.scale[column], o.bias[column]);
      if (t.levels.scale != 0) {
        const float level = std::nearbyint(value * t.levels.inverse);
        value = t.levels.scale * std::clamp(level, t.levels.low, t.levels.low + 255.0f);
      }
      if (t.addend.data != nullptr) {
        const std::uint8_t byte = o.addend[static_cast<std::size_t>(r * o.columns + c)];
        const float product =
            static_cast<float>((byte ^ t.addend.flip) - t.addend.zero_point) * t.addend.scale;
        value += product;
      }
      y.push_back(value);
    }
  return y;
}

void check_floats(Int8TileFunction function, const Operands& o, Int8Tile t) {
  std::vector<float> y(o.outputs() + 1, 12345.0f);
  t.floats = y.data();
  function(t);
  CHECK(y.back() == 12345.0f);  // nothing is written behind the tile
  const std::vector<float> wanted = expected(o, t);
  y.pop_back();
  CHECK(std::ranges::equal(y, wanted));
}

// zero_point: 100 of unsigned bytes, −28 of signed ones.
void check_bytes(Int8TileFunction function, const Operands& o, Int8Tile t, int zero_point) {
  std::vector<std::uint8_t> y(o.outputs() + 1, 77);
  t.bytes = y.data();
  t.inverse = 0.0625f;
  t.low = -100;
  t.high = 155;
  t.zero_point = zero_point;
  function(t);
  CHECK(y.back() == 77);
  const std::vector<float> wanted = expected(o, t);
  std::vector<std::uint8_t> levels;
  for (const float value : wanted)
    levels.push_back(static_cast<std::uint8_t>(
        static_cast<int>(std::nearbyint(std::clamp(value * t.inverse, t.low, t.high))) +
        zero_point));
  y.pop_back();
  CHECK(std::ranges::equal(y, levels));
}

TEST_CASE("int8 tiles: exact with weights of any size, and with pairs that keep their limit",
          "[quantization]") {
  for (const IsaSet& set : kIsaSets) {
    if (!usable_features().has(set.needs)) continue;
    const Int8TileOps ops = int8_tile_ops(set.needs);
    INFO(set.name << (ops.gains_by_pairs ? ", gains by pairs" : ""));
    Random random(3);
    for (const bool fit : {false, true})
      for (const std::int64_t rows : {1, 3, 4, 7, 50})
        for (const std::int64_t columns : {1, 8, 23, 48, 64})
          for (const std::int64_t quads : {1, 5, 70}) {
            const std::int64_t taps = quads == 70 ? 1 : 9;
            const Operands o = make(rows, columns, taps, quads, fit ? kInt8PairLimit : 254, random);
            INFO(rows << " rows, " << columns << " columns, " << taps << " × " << quads
                      << " quads, " << (fit ? "pairs fit" : "any weights"));
            Int8Tile t = tile_of(o);
            t.pairs_fit = fit;
            check_floats(ops.tile, o, t);
            t.flip = true;
            check_floats(ops.tile, o, t);
            t.levels = {0.5f, 2.0f, -128.0f};
            check_floats(ops.tile, o, t);
            t.addend.data = o.addend.data();
            t.addend.scale = 0.25f;
            t.addend.zero_point = 3;
            t.addend.flip = 0x80;
            check_floats(ops.tile, o, t);
            for (const int zero_point : {100, -28}) check_bytes(ops.tile, o, t, zero_point);
          }
  }
}

}  // namespace
}  // namespace softneuro
