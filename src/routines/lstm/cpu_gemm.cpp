// lstm, gru, rnn cpu/gemm: the inputs of all steps are multiplied at once, then one product with
// the recurrent weights per step, for the whole batch. Weights are packed per gate. float32 only.
#include <algorithm>

#include "core/layers/recurrent_options.h"
#include "core/routine/function_routine.h"
#include "cpu/gemm/gemm.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/float_workspace.h"
#include "cpu/simd/span_ops.h"
#include "routines/rnn/naive_recurrent.h"
#include "routines/typed_constants.h"

namespace softneuro {
namespace {

// Products of fewer multiplications than this are not worth waking other threads for.
constexpr std::int64_t kParallelWork = 1 << 18;

// The packed weights of one direction: all gates of w, then all gates of r.
struct PackedLayout {
  std::int64_t gates, w, r;  // number; floats per gate

  PackedLayout(RecurrentCell cell, std::int64_t input, std::int64_t hidden)
      : gates(gates_of(cell)),
        w(packed_b_floats(input, hidden)),
        r(packed_b_floats(hidden, hidden)) {}
  std::int64_t direction() const { return gates * (w + r); }
};

void pack_matrices(const PackedLayout& layout, const RecurrentSizes& sizes, int directions,
                   const float* w, const float* r, float* packed) noexcept {
  for (int d = 0; d < directions; ++d) {
    for (std::int64_t gate = 0; gate < layout.gates; ++gate, packed += layout.w)
      pack_b({w + (d * layout.gates + gate) * sizes.hidden * sizes.input, 1, sizes.input},
             sizes.input, sizes.hidden, packed);
    for (std::int64_t gate = 0; gate < layout.gates; ++gate, packed += layout.r)
      pack_b({r + (d * layout.gates + gate) * sizes.hidden * sizes.hidden, 1, sizes.hidden},
             sizes.hidden, sizes.hidden, packed);
  }
}

// What a cell does element by element, in one direction.
struct Cell {
  const RecurrentOptions& options;
  const std::array<RecurrentActivation, 3>& functions;
  std::int64_t hidden;
  const float* peepholes;  // null: none

  void finish_rnn(float* gates, float* h) const noexcept {
    activate(0, gates, hidden);
    std::copy_n(gates, hidden, h);
  }

  void finish_gru(const float* gates, float* h) const noexcept {
    const float* const z = gates;
    const float* const n = gates + 2 * hidden;
    for (std::int64_t i = 0; i < hidden; ++i) h[i] = (1 - z[i]) * n[i] + z[i] * h[i];
  }

  void finish_lstm(float* gates, float* h, float* c) const noexcept {
    float* const i = gates;
    float* const o = i + hidden;
    float* const f = o + hidden;
    float* const g = f + hidden;
    const auto look = [&](std::int64_t which, float* gate) {
      if (peepholes == nullptr) return;
      for (std::int64_t k = 0; k < hidden; ++k) gate[k] += peepholes[which * hidden + k] * c[k];
    };
    look(0, i);
    activate(0, i, hidden);
    if (options.input_forget) {
      for (std::int64_t k = 0; k < hidden; ++k) f[k] = 1 - i[k];
    } else {
      look(2, f);
      activate(0, f, hidden);
    }
    activate(1, g, hidden);
    for (std::int64_t k = 0; k < hidden; ++k) c[k] = f[k] * c[k] + i[k] * g[k];
    look(1, o);
    activate(0, o, hidden);
    std::copy_n(c, hidden, g);
    apply_function(2, g, hidden);
    for (std::int64_t k = 0; k < hidden; ++k) h[k] = o[k] * g[k];
  }

  void activate(std::size_t which, float* data, std::int64_t count) const noexcept {
    if (options.clip > 0) {
      const auto bound = static_cast<float>(options.clip);
      span_ops().unary(UnaryOp::clip, data, data, count, -bound, bound);
    }
    apply_function(which, data, count);
  }

 private:
  void apply_function(std::size_t which, float* data, std::int64_t count) const noexcept {
    const RecurrentActivation& function = functions[which];
    const auto alpha = static_cast<float>(function.alpha), beta = static_cast<float>(function.beta);
    if (!function.scaled_tanh) {
      span_ops().unary(function.op, data, data, count, alpha, beta);
      return;
    }
    span_ops().unary(UnaryOp::linear, data, data, count, beta, 0);
    span_ops().unary(UnaryOp::tanh, data, data, count, 0, 0);
    span_ops().unary(UnaryOp::linear, data, data, count, alpha, 0);
  }
};

// Where what is in the workspace begins.
struct Places {
  std::int64_t packed = 0, x = 0, inputs = 0, bias = 0, gates = 0, state = 0, extra = 0, h = 0,
               c = 0;
};

class GemmRecurrentKernel final : public FloatWorkspaceKernel {
 public:
  GemmRecurrentKernel(const RecurrentOptions& options, const RecurrentSizes& sizes, Tensor packed,
                      TypedConstants constants)
      : o_(options),
        s_(sizes),
        layout_(options.cell, sizes.input, sizes.hidden),
        packed_(std::move(packed)),
        constants_(std::move(constants)) {
    const std::int64_t rows = s_.steps * s_.batch;
    if (packed_.empty()) at_.packed = reserve(o_.directions * layout_.direction());
    at_.x = reserve(packed_a_floats(rows, s_.input));
    at_.inputs = reserve(rows * width());
    at_.bias = reserve(width());
    at_.gates = reserve(s_.batch * width());
    at_.state = reserve(packed_a_floats(s_.batch, s_.hidden));
    at_.extra = reserve(s_.batch * s_.hidden);
    at_.h = reserve(s_.batch * s_.hidden);
    at_.c = reserve(s_.batch * s_.hidden);
  }

  Status run(Context& context) const noexcept override {
    if (context.has_input(kRecurrentLengths))
      SN_RETURN_IF_ERROR(check_sequence_lengths(context.input(kRecurrentLengths), s_.steps));
    float* const workspace = workspace_of(context);
    const float* weights = static_cast<const float*>(packed_.data());
    if (packed_.empty()) {
      pack_matrices(layout_, s_, o_.directions, floats(context, kRecurrentW),
                    floats(context, kRecurrentR), workspace + at_.packed);
      weights = workspace + at_.packed;
    }
    pack_a({floats(context, kRecurrentX), s_.input, 1}, s_.steps * s_.batch, s_.input,
           workspace + at_.x);
    for (int d = 0; d < o_.directions; ++d) {
      Cell cell{o_, o_.activations[static_cast<std::size_t>(d)], s_.hidden, nullptr};
      if (context.has_input(kRecurrentPeepholes))
        cell.peepholes = floats(context, kRecurrentPeepholes) + d * 3 * s_.hidden;
      run_direction({context, d, weights + d * layout_.direction(), workspace, cell});
    }
    return {};
  }

 private:
  // One direction of one run.
  struct Direction {
    Context& context;
    int index;
    const float* weights;  // packed
    float* workspace;
    Cell cell;
  };

  // Of one row of gates.
  std::int64_t width() const noexcept { return layout_.gates * s_.hidden; }

  void run_direction(const Direction& d) const noexcept {
    multiply_inputs(d);
    load_state(d, kRecurrentH0, at_.h);
    load_state(d, kRecurrentC0, at_.c);
    for (std::int64_t s = 0; s < s_.steps; ++s) {
      for (std::int64_t b = 0; b < s_.batch; ++b)
        std::copy_n(d.workspace + at_.inputs + row_of(step_of(d, s, b), b) * width(), width(),
                    d.workspace + at_.gates + b * width());
      advance(d, s);
      for (std::int64_t b = 0; b < s_.batch; ++b) store_step(d, s, b);
    }
    store_state(d, 1, at_.h);
    store_state(d, 2, at_.c);
  }

  std::int64_t length_of(const Direction& d, std::int64_t b) const noexcept {
    return d.context.has_input(kRecurrentLengths)
               ? d.context.input(kRecurrentLengths).as<std::int32_t>()[b]
               : s_.steps;
  }
  // Which element of sequence b comes at step s. Behind its end, s itself.
  std::int64_t step_of(const Direction& d, std::int64_t s, std::int64_t b) const noexcept {
    const std::int64_t length = length_of(d, b);
    return s < length && o_.reversed(d.index) ? length - 1 - s : s;
  }
  // Row of x, as [rows, I], of step t of sequence b.
  std::int64_t row_of(std::int64_t t, std::int64_t b) const noexcept {
    return o_.batch_first ? b * s_.steps + t : t * s_.batch + b;
  }

  // x · wᵀ + biases for all steps. gru with linear_before_reset keeps r's bias of the last gate.
  void multiply_inputs(const Direction& d) const noexcept {
    float* const bias = d.workspace + at_.bias;
    std::fill_n(bias, width(), 0.0f);
    if (d.context.has_input(kRecurrentBias)) {
      const float* const given = floats(d.context, kRecurrentBias) + d.index * 2 * width();
      const std::int64_t with_r = width() - (o_.linear_before_reset ? s_.hidden : 0);
      for (std::int64_t i = 0; i < width(); ++i)
        bias[i] = given[i] + (i < with_r ? given[width() + i] : 0.0f);
    }
    const std::int64_t rows = s_.steps * s_.batch;
    const std::int64_t row_tiles = chunks_of(rows, kGemmTileRows);
    const std::int64_t column_tiles = chunks_of(s_.hidden, kGemmTileColumns);
    parallel_for(d.context.pool(), layout_.gates * row_tiles * column_tiles, [&](std::int64_t i) {
      const std::int64_t row = i % row_tiles * kGemmTileRows;
      const std::int64_t column = i / row_tiles % column_tiles * kGemmTileColumns;
      const std::int64_t gate = i / row_tiles / column_tiles;
      GemmTask task;
      task.m = std::min(kGemmTileRows, rows - row);
      task.n = std::min(kGemmTileColumns, s_.hidden - column);
      task.k = s_.input;
      task.a = d.workspace + at_.x + row * s_.input;
      task.b = d.weights + gate * layout_.w + column * s_.input;
      const std::int64_t at = gate * s_.hidden + column;
      task.c = d.workspace + at_.inputs + row * width() + at;
      task.c_row_stride = width();
      task.accumulate = true;
      for (std::int64_t r = 0; r < task.m; ++r)
        std::copy_n(bias + at, task.n, task.c + r * width());
      gemm(task);
    });
  }

  // to[b, i] += state · rᵀ for gates [first, first + count); a row of `to` has `stride` floats.
  void multiply_state(const Direction& d, const float* state, std::int64_t first,
                      std::int64_t count, float* to, std::int64_t stride) const noexcept {
    const float* a = state;
    if (s_.batch > 1) {
      pack_a({state, s_.hidden, 1}, s_.batch, s_.hidden, d.workspace + at_.state);
      a = d.workspace + at_.state;
    }
    const std::int64_t column_tiles = chunks_of(s_.hidden, kGemmTileColumns);
    const auto tile = [&](std::int64_t i) {
      const std::int64_t gate = i / column_tiles, column = i % column_tiles * kGemmTileColumns;
      GemmTask task;
      task.m = s_.batch;
      task.n = std::min(kGemmTileColumns, s_.hidden - column);
      task.k = s_.hidden;
      task.a = a;
      task.a_column_stride = s_.batch > 1 ? kGemmRows : 1;
      task.b =
          d.weights + layout_.gates * layout_.w + (first + gate) * layout_.r + column * s_.hidden;
      task.c = to + gate * s_.hidden + column;
      task.c_row_stride = stride;
      task.accumulate = true;
      gemm(task);
    };
    const std::int64_t tiles = count * column_tiles;
    if (s_.batch * s_.hidden * s_.hidden * count >= kParallelWork)
      parallel_for(d.context.pool(), tiles, tile);
    else
      for (std::int64_t i = 0; i < tiles; ++i) tile(i);
  }

  // The gates hold what comes from the input; h and c are advanced where a sequence goes on.
  void advance(const Direction& d, std::int64_t s) const noexcept {
    float* const gates = d.workspace + at_.gates;
    float* const h = d.workspace + at_.h;
    if (o_.cell != RecurrentCell::gru)
      multiply_state(d, h, 0, layout_.gates, gates, width());
    else
      advance_gru_gates(d);
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      if (s >= length_of(d, b)) continue;
      float* const row = gates + b * width();
      float* const state = h + b * s_.hidden;
      if (o_.cell == RecurrentCell::lstm)
        d.cell.finish_lstm(row, state, d.workspace + at_.c + b * s_.hidden);
      else if (o_.cell == RecurrentCell::gru)
        d.cell.finish_gru(row, state);
      else
        d.cell.finish_rnn(row, state);
    }
  }

  // All three gates up to their activation; finish_gru mixes them into h.
  void advance_gru_gates(const Direction& d) const noexcept {
    const std::int64_t hidden = s_.hidden;
    float* const gates = d.workspace + at_.gates;
    float* const extra = d.workspace + at_.extra;
    const float* const h = d.workspace + at_.h;
    multiply_state(d, h, 0, 2, gates, width());
    for (std::int64_t b = 0; b < s_.batch; ++b) d.cell.activate(0, gates + b * width(), 2 * hidden);
    if (o_.linear_before_reset) {
      const float* const bias =
          d.context.has_input(kRecurrentBias)
              ? floats(d.context, kRecurrentBias) + (d.index * 2 + 1) * width() + 2 * hidden
              : nullptr;
      for (std::int64_t b = 0; b < s_.batch; ++b)
        for (std::int64_t i = 0; i < hidden; ++i)
          extra[b * hidden + i] = bias == nullptr ? 0.0f : bias[i];
      multiply_state(d, h, 2, 1, extra, hidden);
    } else {
      for (std::int64_t b = 0; b < s_.batch; ++b)
        for (std::int64_t i = 0; i < hidden; ++i)
          extra[b * hidden + i] = gates[b * width() + hidden + i] * h[b * hidden + i];
      multiply_state(d, extra, 2, 1, gates + 2 * hidden, width());
    }
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      float* const row = gates + b * width();
      if (o_.linear_before_reset)
        for (std::int64_t i = 0; i < hidden; ++i)
          row[2 * hidden + i] += row[hidden + i] * extra[b * hidden + i];
      d.cell.activate(1, row + 2 * hidden, hidden);
    }
  }

  // Where the state of sequence b is in h0, c0, Y_h and Y_c.
  std::int64_t state_offset(const Direction& d, std::int64_t b) const noexcept {
    return (o_.batch_first ? b * o_.directions + d.index : d.index * s_.batch + b) * s_.hidden;
  }

  void load_state(const Direction& d, std::size_t input, std::int64_t at) const noexcept {
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      float* const to = d.workspace + at + b * s_.hidden;
      if (d.context.has_input(input))
        std::copy_n(floats(d.context, input) + state_offset(d, b), s_.hidden, to);
      else
        std::fill_n(to, s_.hidden, 0.0f);
    }
  }

  void store_state(const Direction& d, std::size_t output, std::int64_t at) const noexcept {
    if (!d.context.has_output(output)) return;
    for (std::int64_t b = 0; b < s_.batch; ++b)
      std::copy_n(d.workspace + at + b * s_.hidden, s_.hidden,
                  d.context.output(output).as_mutable<float>() + state_offset(d, b));
  }

  void store_step(const Direction& d, std::int64_t s, std::int64_t b) const noexcept {
    if (!d.context.has_output(0)) return;
    const std::int64_t t = step_of(d, s, b);
    const std::int64_t row = o_.batch_first ? (b * s_.steps + t) * o_.directions + d.index
                                            : (t * o_.directions + d.index) * s_.batch + b;
    float* const to = d.context.output(0).as_mutable<float>() + row * s_.hidden;
    if (s < length_of(d, b))
      std::copy_n(d.workspace + at_.h + b * s_.hidden, s_.hidden, to);
    else
      std::fill_n(to, s_.hidden, 0.0f);
  }

  const float* floats(const Context& context, std::size_t input) const noexcept {
    return constants_.input(context, input).as<float>();
  }

  RecurrentOptions o_;
  RecurrentSizes s_;
  PackedLayout layout_;
  Tensor packed_;  // empty: the weights are packed when they are known
  TypedConstants constants_;
  Places at_;
};

template <RecurrentCell cell>
RoutineFunctions functions_of() {
  RoutineFunctions functions = {.facts = {.default_rank = 10}, .applicable = takes_float32};
  functions.packed_bytes = [](const Problem& problem) -> std::size_t {
    const TensorSpec& w = problem.inputs[kRecurrentW];
    const TensorSpec& r = problem.inputs[kRecurrentR];
    if (!w.constant || !r.constant) return 0;
    const PackedLayout layout(cell, w.shape[2], r.shape[2]);
    return static_cast<std::size_t>(w.shape[0] * layout.direction()) * sizeof(float);
  };
  functions.pack = [](const Problem& problem, Allocator& scratch, std::byte* packed) -> Status {
    SN_ASSIGN_OR_RETURN(const Tensor w, as_float32(problem.inputs[kRecurrentW].value, scratch));
    SN_ASSIGN_OR_RETURN(const Tensor r, as_float32(problem.inputs[kRecurrentR].value, scratch));
    const RecurrentSizes sizes{0, 0, w.shape()[2], r.shape()[2]};
    pack_matrices(PackedLayout(cell, sizes.input, sizes.hidden), sizes,
                  static_cast<int>(w.shape()[0]), static_cast<const float*>(w.data()),
                  static_cast<const float*>(r.data()), reinterpret_cast<float*>(packed));
    return {};
  };
  functions.create_with = [](const Problem& problem, const RoutineContext&,
                             const PackedWeights& packed) -> Result<std::unique_ptr<Kernel>> {
    SN_ASSIGN_OR_RETURN(const RecurrentOptions options, recurrent_options(cell, problem.params));
    const RecurrentSizes sizes = recurrent_sizes(options, problem.inputs[kRecurrentX].shape,
                                                 problem.inputs[kRecurrentR].shape);
    SN_ASSIGN_OR_RETURN(TypedConstants constants,
                        TypedConstants::create(problem, DataType::float32));
    return make_kernel<GemmRecurrentKernel>(options, sizes, packed.bytes, std::move(constants));
  };
  return functions;
}

}  // namespace

Status register_routine_lstm_cpu_gemm(Registry& registry) {
  const auto add = [&](const char* cell, const RoutineFunctions& functions) {
    return add_routines(registry, {cell}, {"cpu"}, "gemm", functions);
  };
  SN_RETURN_IF_ERROR(add("rnn", functions_of<RecurrentCell::rnn>()));
  SN_RETURN_IF_ERROR(add("gru", functions_of<RecurrentCell::gru>()));
  return add("lstm", functions_of<RecurrentCell::lstm>());
}

}  // namespace softneuro
