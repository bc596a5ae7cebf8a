// lstm, gru, rnn cpu/gemm: the inputs of all steps are multiplied at once, then one product with
// the recurrent weights per step, for the whole batch. Weights are packed per gate. float32 only.
#include <algorithm>

#include "core/layers/recurrent_options.h"
#include "core/routine/registry.h"
#include "cpu/gemm/gemm.h"
#include "cpu/simd/float_span.h"
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

void pack_weights(const PackedLayout& layout, const RecurrentSizes& sizes, int directions,
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

class GemmRecurrentKernel final : public Kernel {
 public:
  GemmRecurrentKernel(const RecurrentOptions& options, const RecurrentSizes& sizes, Tensor packed,
                      TypedConstants constants)
      : o_(options),
        s_(sizes),
        layout_(options.cell, sizes.input, sizes.hidden),
        packed_(std::move(packed)),
        constants_(std::move(constants)) {
    const std::int64_t rows = s_.steps * s_.batch;
    if (packed_.empty()) packed_at_ = regions_.add(o_.directions * layout_.direction());
    x_at_ = regions_.add(packed_a_floats(rows, s_.input));
    inputs_at_ = regions_.add(rows * width());
    bias_at_ = regions_.add(width());
    gates_at_ = regions_.add(s_.batch * width());
    state_at_ = regions_.add(packed_a_floats(s_.batch, s_.hidden));
    extra_at_ = regions_.add(s_.batch * s_.hidden);
    h_at_ = regions_.add(s_.batch * s_.hidden);
    c_at_ = regions_.add(s_.batch * s_.hidden);
  }

  std::size_t workspace_bytes() const noexcept override { return regions_.bytes(); }

  Status run(Context& context) const noexcept override {
    if (context.has_input(kRecurrentLengths))
      SN_RETURN_IF_ERROR(check_sequence_lengths(context.input(kRecurrentLengths), s_.steps));
    float* const workspace = reinterpret_cast<float*>(context.workspace());
    const float* weights = static_cast<const float*>(packed_.data());
    if (packed_.empty()) {
      pack_weights(layout_, s_, o_.directions, floats(context, kRecurrentW),
                   floats(context, kRecurrentR), workspace + packed_at_);
      weights = workspace + packed_at_;
    }
    pack_a({floats(context, kRecurrentX), s_.input, 1}, s_.steps * s_.batch, s_.input,
           workspace + x_at_);
    for (int d = 0; d < o_.directions; ++d)
      run_direction(context, {d, weights + d * layout_.direction(), workspace});
    return {};
  }

 private:
  struct Direction {
    int index;
    const float* weights;  // packed
    float* workspace;
  };

  // Of one row of gates.
  std::int64_t width() const noexcept { return layout_.gates * s_.hidden; }

  void run_direction(Context& context, const Direction& d) const noexcept {
    multiply_inputs(context, d);
    load_state(context, d, kRecurrentH0, h_at_);
    load_state(context, d, kRecurrentC0, c_at_);
    for (std::int64_t s = 0; s < s_.steps; ++s) {
      for (std::int64_t b = 0; b < s_.batch; ++b)
        std::copy_n(d.workspace + inputs_at_ + row_of(step_of(context, d, s, b), b) * width(),
                    width(), d.workspace + gates_at_ + b * width());
      advance(context, d, s);
      for (std::int64_t b = 0; b < s_.batch; ++b) store_step(context, d, s, b);
    }
    store_state(context, d, 1, h_at_);
    store_state(context, d, 2, c_at_);
  }

  std::int64_t length_of(Context& context, std::int64_t b) const noexcept {
    return context.has_input(kRecurrentLengths)
               ? context.input(kRecurrentLengths).as<std::int32_t>()[b]
               : s_.steps;
  }
  // Which element of sequence b comes at step s. Behind its end, s itself.
  std::int64_t step_of(Context& context, const Direction& d, std::int64_t s,
                       std::int64_t b) const noexcept {
    const std::int64_t length = length_of(context, b);
    return s < length && o_.reversed(d.index) ? length - 1 - s : s;
  }
  // Row of x, as [rows, I], of step t of sequence b.
  std::int64_t row_of(std::int64_t t, std::int64_t b) const noexcept {
    return o_.batch_first ? b * s_.steps + t : t * s_.batch + b;
  }

  // x · wᵀ + biases for all steps. gru with linear_before_reset keeps r's bias of the last gate.
  void multiply_inputs(Context& context, const Direction& d) const noexcept {
    float* const bias = d.workspace + bias_at_;
    std::fill_n(bias, width(), 0.0f);
    if (context.has_input(kRecurrentBias)) {
      const float* const own = floats(context, kRecurrentBias) + d.index * 2 * width();
      const std::int64_t with_r = width() - (o_.linear_before_reset ? s_.hidden : 0);
      for (std::int64_t i = 0; i < width(); ++i)
        bias[i] = own[i] + (i < with_r ? own[width() + i] : 0.0f);
    }
    const std::int64_t rows = s_.steps * s_.batch;
    const std::int64_t row_tiles = chunks_of(rows, kGemmTileRows);
    const std::int64_t column_tiles = chunks_of(s_.hidden, kGemmTileColumns);
    parallel_for(context.pool(), layout_.gates * row_tiles * column_tiles, [&](std::int64_t i) {
      const std::int64_t row = i % row_tiles * kGemmTileRows;
      const std::int64_t column = i / row_tiles % column_tiles * kGemmTileColumns;
      const std::int64_t gate = i / row_tiles / column_tiles;
      GemmTask task;
      task.m = std::min(kGemmTileRows, rows - row);
      task.n = std::min(kGemmTileColumns, s_.hidden - column);
      task.k = s_.input;
      task.a = d.workspace + x_at_ + row * s_.input;
      task.b = d.weights + gate * layout_.w + column * s_.input;
      const std::int64_t at = gate * s_.hidden + column;
      task.c = d.workspace + inputs_at_ + row * width() + at;
      task.c_row_stride = width();
      task.accumulate = true;
      for (std::int64_t r = 0; r < task.m; ++r)
        std::copy_n(bias + at, task.n, task.c + r * width());
      gemm(task);
    });
  }

  // to[b, i] += state · rᵀ for gates [first, first + count); a row of `to` has `stride` floats.
  void multiply_state(Context& context, const Direction& d, const float* state, std::int64_t first,
                      std::int64_t count, float* to, std::int64_t stride) const noexcept {
    const float* a = state;
    if (s_.batch > 1) {
      pack_a({state, s_.hidden, 1}, s_.batch, s_.hidden, d.workspace + state_at_);
      a = d.workspace + state_at_;
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
      parallel_for(context.pool(), tiles, tile);
    else
      for (std::int64_t i = 0; i < tiles; ++i) tile(i);
  }

  // The gates hold what comes from the input; h and c are advanced where a sequence goes on.
  void advance(Context& context, const Direction& d, std::int64_t s) const noexcept {
    float* const gates = d.workspace + gates_at_;
    float* const h = d.workspace + h_at_;
    if (o_.cell != RecurrentCell::gru)
      multiply_state(context, d, h, 0, layout_.gates, gates, width());
    else
      advance_gru_gates(context, d);
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      if (s >= length_of(context, b)) continue;
      float* const row = gates + b * width();
      float* const state = h + b * s_.hidden;
      if (o_.cell == RecurrentCell::lstm)
        finish_lstm(context, d, row, state, d.workspace + c_at_ + b * s_.hidden);
      else if (o_.cell == RecurrentCell::gru)
        finish_gru(row, state);
      else
        finish_rnn(d, row, state);
    }
  }

  // All three gates up to their activation; finish_gru mixes them into h.
  void advance_gru_gates(Context& context, const Direction& d) const noexcept {
    const std::int64_t hidden = s_.hidden;
    float* const gates = d.workspace + gates_at_;
    float* const extra = d.workspace + extra_at_;
    const float* const h = d.workspace + h_at_;
    multiply_state(context, d, h, 0, 2, gates, width());
    for (std::int64_t b = 0; b < s_.batch; ++b) activate(d, 0, gates + b * width(), 2 * hidden);
    if (o_.linear_before_reset) {
      const float* const bias =
          context.has_input(kRecurrentBias)
              ? floats(context, kRecurrentBias) + (d.index * 2 + 1) * width() + 2 * hidden
              : nullptr;
      for (std::int64_t b = 0; b < s_.batch; ++b)
        for (std::int64_t i = 0; i < hidden; ++i)
          extra[b * hidden + i] = bias == nullptr ? 0.0f : bias[i];
      multiply_state(context, d, h, 2, 1, extra, hidden);
    } else {
      for (std::int64_t b = 0; b < s_.batch; ++b)
        for (std::int64_t i = 0; i < hidden; ++i)
          extra[b * hidden + i] = gates[b * width() + hidden + i] * h[b * hidden + i];
      multiply_state(context, d, extra, 2, 1, gates + 2 * hidden, width());
    }
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      float* const row = gates + b * width();
      if (o_.linear_before_reset)
        for (std::int64_t i = 0; i < hidden; ++i)
          row[2 * hidden + i] += row[hidden + i] * extra[b * hidden + i];
      activate(d, 1, row + 2 * hidden, hidden);
    }
  }

  void finish_rnn(const Direction& d, float* gates, float* h) const noexcept {
    activate(d, 0, gates, s_.hidden);
    std::copy_n(gates, s_.hidden, h);
  }

  void finish_gru(const float* gates, float* h) const noexcept {
    const float* const z = gates;
    const float* const n = gates + 2 * s_.hidden;
    for (std::int64_t i = 0; i < s_.hidden; ++i) h[i] = (1 - z[i]) * n[i] + z[i] * h[i];
  }

  void finish_lstm(Context& context, const Direction& d, float* gates, float* h,
                   float* c) const noexcept {
    const std::int64_t hidden = s_.hidden;
    float* const i = gates;
    float* const o = i + hidden;
    float* const f = o + hidden;
    float* const g = f + hidden;
    const float* const peepholes = context.has_input(kRecurrentPeepholes)
                                       ? floats(context, kRecurrentPeepholes) + d.index * 3 * hidden
                                       : nullptr;
    const auto look = [&](std::int64_t which, float* gate) {
      if (peepholes == nullptr) return;
      for (std::int64_t k = 0; k < hidden; ++k) gate[k] += peepholes[which * hidden + k] * c[k];
    };
    look(0, i);
    activate(d, 0, i, hidden);
    if (o_.input_forget) {
      for (std::int64_t k = 0; k < hidden; ++k) f[k] = 1 - i[k];
    } else {
      look(2, f);
      activate(d, 0, f, hidden);
    }
    activate(d, 1, g, hidden);
    for (std::int64_t k = 0; k < hidden; ++k) c[k] = f[k] * c[k] + i[k] * g[k];
    look(1, o);
    activate(d, 0, o, hidden);
    std::copy_n(c, hidden, g);
    apply_function(d, 2, g, hidden);
    for (std::int64_t k = 0; k < hidden; ++k) h[k] = o[k] * g[k];
  }

  void activate(const Direction& d, std::size_t which, float* data,
                std::int64_t count) const noexcept {
    if (o_.clip > 0) {
      const auto bound = static_cast<float>(o_.clip);
      span_ops().unary(UnaryOp::clip, data, data, count, -bound, bound);
    }
    apply_function(d, which, data, count);
  }

  void apply_function(const Direction& d, std::size_t which, float* data,
                      std::int64_t count) const noexcept {
    const RecurrentActivation& function = o_.activations[static_cast<std::size_t>(d.index)][which];
    const auto alpha = static_cast<float>(function.alpha), beta = static_cast<float>(function.beta);
    if (!function.scaled_tanh) {
      span_ops().unary(function.op, data, data, count, alpha, beta);
      return;
    }
    span_ops().unary(UnaryOp::linear, data, data, count, beta, 0);
    span_ops().unary(UnaryOp::tanh, data, data, count, 0, 0);
    span_ops().unary(UnaryOp::linear, data, data, count, alpha, 0);
  }

  // Where the state of sequence b lies in h0, c0, Y_h and Y_c.
  std::int64_t state_offset(const Direction& d, std::int64_t b) const noexcept {
    return (o_.batch_first ? b * o_.directions + d.index : d.index * s_.batch + b) * s_.hidden;
  }

  void load_state(Context& context, const Direction& d, std::size_t input,
                  std::int64_t at) const noexcept {
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      float* const to = d.workspace + at + b * s_.hidden;
      if (context.has_input(input))
        std::copy_n(floats(context, input) + state_offset(d, b), s_.hidden, to);
      else
        std::fill_n(to, s_.hidden, 0.0f);
    }
  }

  void store_state(Context& context, const Direction& d, std::size_t output,
                   std::int64_t at) const noexcept {
    if (!context.has_output(output)) return;
    for (std::int64_t b = 0; b < s_.batch; ++b)
      std::copy_n(d.workspace + at + b * s_.hidden, s_.hidden,
                  context.output(output).as_mutable<float>() + state_offset(d, b));
  }

  void store_step(Context& context, const Direction& d, std::int64_t s,
                  std::int64_t b) const noexcept {
    if (!context.has_output(0)) return;
    const std::int64_t t = step_of(context, d, s, b);
    const std::int64_t row = o_.batch_first ? (b * s_.steps + t) * o_.directions + d.index
                                            : (t * o_.directions + d.index) * s_.batch + b;
    float* const to = context.output(0).as_mutable<float>() + row * s_.hidden;
    if (s < length_of(context, b))
      std::copy_n(d.workspace + h_at_ + b * s_.hidden, s_.hidden, to);
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
  FloatRegions regions_;
  std::int64_t packed_at_ = 0, x_at_ = 0, inputs_at_ = 0, bias_at_ = 0, gates_at_ = 0,
               state_at_ = 0, extra_at_ = 0, h_at_ = 0, c_at_ = 0;
};

class GemmRecurrent final : public Routine {
 public:
  GemmRecurrent(const char* layer_type, RecurrentCell cell)
      : Routine(layer_type, "cpu/gemm"), cell_(cell) {}
  int default_rank() const override { return 10; }

  Applicability applicable(const Problem& problem) const override { return takes_float32(problem); }

  Result<std::size_t> packed_bytes(const Problem& problem, const RoutineParams&) const override {
    const TensorSpec& w = problem.inputs[kRecurrentW];
    const TensorSpec& r = problem.inputs[kRecurrentR];
    if (!w.constant || !r.constant) return 0;
    const PackedLayout layout(cell_, w.shape[2], r.shape[2]);
    return static_cast<std::size_t>(w.shape[0] * layout.direction()) * sizeof(float);
  }
  Status pack(const Problem& problem, const RoutineParams&, Allocator& scratch,
              std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Tensor w, as_float32(problem.inputs[kRecurrentW].value, scratch));
    SN_ASSIGN_OR_RETURN(const Tensor r, as_float32(problem.inputs[kRecurrentR].value, scratch));
    const RecurrentSizes sizes{0, 0, w.shape()[2], r.shape()[2]};
    pack_weights(PackedLayout(cell_, sizes.input, sizes.hidden), sizes,
                 static_cast<int>(w.shape()[0]), static_cast<const float*>(w.data()),
                 static_cast<const float*>(r.data()), reinterpret_cast<float*>(packed));
    return {};
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const RecurrentOptions options, recurrent_options(cell_, problem.params));
    const RecurrentSizes sizes = recurrent_sizes(options, problem.inputs[kRecurrentX].shape,
                                                 problem.inputs[kRecurrentR].shape);
    SN_ASSIGN_OR_RETURN(TypedConstants constants,
                        TypedConstants::create(problem, DataType::float32));
    return make_kernel<GemmRecurrentKernel>(options, sizes, packed.bytes, std::move(constants));
  }

 private:
  RecurrentCell cell_;
};

}  // namespace

Status register_routine_lstm_cpu_gemm(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<GemmRecurrent>("rnn", RecurrentCell::rnn)));
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<GemmRecurrent>("gru", RecurrentCell::gru)));
  return registry.add(std::make_unique<GemmRecurrent>("lstm", RecurrentCell::lstm));
}

}  // namespace softneuro
