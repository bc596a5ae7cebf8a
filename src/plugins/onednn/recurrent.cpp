// lstm, gru and rnn cpu/onednn: one primitive per direction and part of the batch, with the usual
// activations. `impl` names the implementation; `ref` is no slow one here, but products of matrices
// with generated code for the gates behind them.
#include <algorithm>

#include "core/base/alignment.h"
#include "core/base/error.h"
#include "core/layers/recurrent_options.h"
#include "core/routine/registry.h"
#include "plugins/onednn/answer_cache.h"
#include "plugins/onednn/implementations.h"
#include "plugins/onednn/plain_layer.h"
#include "plugins/onednn/routines.h"

namespace softneuro::onednn {
namespace {

using dnnl::memory;

constexpr auto kFloat = memory::data_type::f32;
enum Constant : std::size_t { kPacked, kZeros };

struct Recurrence {
  RecurrentOptions options;
  RecurrentSizes sizes;
  std::int64_t gates = 1, biases = 1;  // of the library

  static Result<Recurrence> of(RecurrentCell cell, const Problem& problem) {
    Recurrence made;
    SN_ASSIGN_OR_RETURN(made.options, recurrent_options(cell, problem.params));
    made.sizes = recurrent_sizes(made.options, problem.inputs[kRecurrentX].shape,
                                 problem.inputs[kRecurrentR].shape);
    made.gates = gates_of(cell);
    made.biases = made.gates + (made.options.linear_before_reset ? 1 : 0);
    return made;
  }

  // The model's gate that the library has in place `gate`: its lstm goes i f c o.
  std::int64_t model_gate(std::int64_t gate) const {
    constexpr std::int64_t kLstm[] = {0, 2, 3, 1};
    return options.cell == RecurrentCell::lstm ? kLstm[gate] : gate;
  }
  std::int64_t weight_count(std::int64_t inputs) const { return gates * sizes.hidden * inputs; }
};

// Images [first, first + count) of the batch in one direction.
struct Part {
  int direction = 0;
  std::int64_t first = 0, count = 0;
  dnnl::primitive_desc_base desc;
};

memory::desc strided(const memory::dims& dims, const memory::dims& strides) {
  return {dims, kFloat, strides};
}

// The tensors of one part, with the element of the model's tensor where each begins.
struct PartTensors {
  memory::desc x, y, state;  // state: h0, c0, Y_h and Y_c
  std::int64_t x_at = 0, y_at = 0, state_at = 0;
};

PartTensors tensors_of(const Recurrence& r, const Part& part) {
  const auto [steps, batch, input, hidden] = r.sizes;
  const std::int64_t directions = r.options.directions, d = part.direction, n = part.count;
  PartTensors t;
  if (r.options.batch_first) {
    t.x = strided({steps, n, input}, {input, steps * input, 1});
    t.y = strided({steps, n, hidden}, {directions * hidden, steps * directions * hidden, 1});
    const std::int64_t row = directions * hidden;
    t.state = strided({1, 1, n, hidden}, {n * row, n * row, row, 1});
    t.x_at = part.first * steps * input;
    t.y_at = (part.first * steps * directions + d) * hidden;
    t.state_at = (part.first * directions + d) * hidden;
  } else {
    t.x = strided({steps, n, input}, {batch * input, input, 1});
    t.y = strided({steps, n, hidden}, {directions * batch * hidden, hidden, 1});
    t.state = strided({1, 1, n, hidden}, {n * hidden, n * hidden, hidden, 1});
    t.x_at = part.first * input;
    t.y_at = t.state_at = (d * batch + part.first) * hidden;
  }
  return t;
}

Operation operation_of(const Recurrence& r, const Part& part, memory::format_tag weights) {
  const std::int64_t hidden = r.sizes.hidden;
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto way = r.options.reversed(part.direction)
                       ? dnnl::rnn_direction::unidirectional_right2left
                       : dnnl::rnn_direction::unidirectional_left2right;
  const PartTensors t = tensors_of(r, part);
  const memory::desc w({1, 1, r.sizes.input, r.gates, hidden}, kFloat, weights);
  const memory::desc u({1, 1, hidden, r.gates, hidden}, kFloat, weights);
  const memory::desc bias({1, 1, r.biases, hidden}, kFloat, memory::format_tag::ldgo);
  switch (r.options.cell) {
    case RecurrentCell::lstm:
      return Operation::of<dnnl::lstm_forward>(kind, way, t.x, t.state, t.state, w, u, bias, t.y,
                                               t.state, t.state);
    case RecurrentCell::gru:
      if (r.options.linear_before_reset)
        return Operation::of<dnnl::lbr_gru_forward>(kind, way, t.x, t.state, w, u, bias, t.y,
                                                    t.state);
      return Operation::of<dnnl::gru_forward>(kind, way, t.x, t.state, w, u, bias, t.y, t.state);
    case RecurrentCell::rnn:
      break;
  }
  return Operation::of<dnnl::vanilla_rnn_forward>(kind, dnnl::algorithm::eltwise_tanh, way, t.x,
                                                  t.state, w, u, bias, t.y, t.state);
}

// Reference code of these layers takes weights in one order only; the rest has its own.
memory::format_tag weights_tag(std::string_view impl) {
  return is_reference(impl) ? memory::format_tag::ldigo : memory::format_tag::any;
}

// How the work is done by one implementation; nothing if it does not exist.
class Division {
 public:
  static std::optional<Division> make(const Recurrence& r, int threads, const std::string& impl) {
    constexpr std::int64_t kSmallestBatch = 8;
    const std::int64_t wanted = std::clamp<std::int64_t>(
        r.sizes.batch / kSmallestBatch, 1, std::max(threads / r.options.directions, 1));
    for (const std::int64_t chunks : {wanted, std::int64_t{1}}) {
      Division division;
      if (division.add_parts(r, chunks, impl)) return division;
    }
    return std::nullopt;
  }

  const std::vector<Part>& parts() const { return parts_; }
  // Weights of one direction in the packed bytes: of x, of the state before, then the biases.
  memory::desc w() const { return parts_.front().desc.query_md(dnnl::query::weights_md, 0); }
  memory::desc u() const { return parts_.front().desc.query_md(dnnl::query::weights_md, 1); }
  std::size_t u_at() const { return aligned(w().get_size()); }
  std::size_t bias_at() const { return u_at() + aligned(u().get_size()); }
  std::size_t direction_bytes(const Recurrence& r) const {
    return bias_at() + aligned(static_cast<std::size_t>(r.biases * r.sizes.hidden) * sizeof(float));
  }

 private:
  bool add_parts(const Recurrence& r, std::int64_t chunks, const std::string& impl) {
    bool exists = true;
    for (int d = 0; d < r.options.directions; ++d)
      for_chunks(r.sizes.batch, chunks, 1, [&](std::int64_t first, std::int64_t last) {
        Part part{d, first, last - first, {}};
        const auto desc = find_implementation(operation_of(r, part, weights_tag(impl)),
                                              attributes_of({}), impl, true);
        if (!desc) {
          exists = false;
          return;
        }
        part.desc = *desc;
        parts_.push_back(std::move(part));
      });
    // All parts share the packed weights.
    return exists && std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) {
             return part.desc.query_md(dnnl::query::weights_md, 0) == w() &&
                    part.desc.query_md(dnnl::query::weights_md, 1) == u();
           });
  }

  std::vector<Part> parts_;
};

// `from`: [gates, hidden, inputs] in the model's order of gates. Throws dnnl::error.
void pack_matrices(const Recurrence& r, const float* from, std::int64_t inputs,
                   const memory::desc& desc, std::byte* to) {
  const std::int64_t hidden = r.sizes.hidden;
  std::vector<float> ordered(static_cast<std::size_t>(r.weight_count(inputs)));
  float* place = ordered.data();
  for (std::int64_t i = 0; i < inputs; ++i)
    for (std::int64_t g = 0; g < r.gates; ++g)
      for (std::int64_t o = 0; o < hidden; ++o)
        *place++ = from[(r.model_gate(g) * hidden + o) * inputs + i];
  dnnl::stream stream(engine());
  memory source({{1, 1, inputs, r.gates, hidden}, kFloat, memory::format_tag::ldigo}, engine(),
                ordered.data());
  memory target(desc, engine(), to);
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
}

// `from`: [2, gates, hidden], of w and of r, or null.
void pack_bias(const Recurrence& r, const float* from, float* to) {
  const std::int64_t hidden = r.sizes.hidden;
  for (std::int64_t g = 0; g < r.biases; ++g)
    for (std::int64_t o = 0; o < hidden; ++o) {
      float& bias = to[g * hidden + o];
      if (from == nullptr) {
        bias = 0;
        continue;
      }
      const float* const of_r = from + r.gates * hidden;
      const bool apart = r.options.linear_before_reset && g >= 2;  // the last gate's two
      if (apart)
        bias = (g == 2 ? from : of_r)[2 * hidden + o];
      else
        bias = from[r.model_gate(g) * hidden + o] + of_r[r.model_gate(g) * hidden + o];
    }
}

bool has_usual_activations(const RecurrentOptions& options) {
  for (int d = 0; d < options.directions; ++d)
    for (int i = 0; i < activations_of(options.cell); ++i) {
      const bool is_gate = i == 0 && options.cell != RecurrentCell::rnn;
      const auto& function =
          options.activations[static_cast<std::size_t>(d)][static_cast<std::size_t>(i)];
      if (!function.is(is_gate ? UnaryOp::sigmoid : UnaryOp::tanh)) return false;
    }
  return true;
}

// Names of the implementations that can be partitioned for `threads`.
std::vector<std::string> names_of(const Recurrence& r, int threads) {
  std::vector<std::string> names;
  for (const memory::format_tag tag : {memory::format_tag::any, memory::format_tag::ldigo}) {
    const Part whole{0, 0, r.sizes.batch, {}};
    for (std::string& name :
         implementation_names(operation_of(r, whole, tag), attributes_of({}), true))
      if (std::find(names.begin(), names.end(), name) == names.end() &&
          Division::make(r, threads, name))
        names.push_back(std::move(name));
  }
  return names;
}

class RecurrentImplementation final : public Implementation {
 public:
  RecurrentImplementation(ProblemPtr problem, const RoutineContext& context, const Recurrence& r,
                          std::shared_ptr<const std::vector<std::string>> names)
      : Implementation(std::move(problem), context), r_(r), names_(std::move(names)) {}

  RoutineParams default_params() const override { return impl_params(*names_); }
  ParamSpace param_space() const override { return impl_space(*names_); }

  Result<Packing> packing(const RoutineParams& params) const override {
    SN_ASSIGN_OR_RETURN(const Division division, division_of(params));
    return Packing{bytes_of(division), format_key(division.w()) + ':' + format_key(division.u())};
  }
  Status pack(const RoutineParams& params, Allocator&, std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Division division, division_of(params));
    const std::size_t bytes = division.direction_bytes(r_);
    const auto data = [&](std::size_t input) {
      return static_cast<const float*>(problem().inputs[input].value.data());
    };
    std::byte* to = packed;
    std::fill_n(to, bytes_of(division), std::byte{0});
    return guarded([&]() -> Status {
      const OneThread one;
      for (int d = 0; d < r_.options.directions; ++d, to += bytes) {
        pack_matrices(r_, data(kRecurrentW) + d * r_.weight_count(r_.sizes.input), r_.sizes.input,
                      division.w(), to);
        pack_matrices(r_, data(kRecurrentR) + d * r_.weight_count(r_.sizes.hidden), r_.sizes.hidden,
                      division.u(), to + division.u_at());
        const float* const bias = problem().has_input(kRecurrentBias)
                                      ? data(kRecurrentBias) + d * (2 * r_.gates * r_.sizes.hidden)
                                      : nullptr;
        pack_bias(r_, bias, reinterpret_cast<float*>(to + division.bias_at()));
      }
      return {};
    });
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const Division division, division_of(params));
    if (packed.bytes.bytes() != bytes_of(division))
      return invalid_argument("packed weights have {} bytes, expected {}", packed.bytes.bytes(),
                              bytes_of(division));
    PartitionedWork work;
    work.constants.resize(2);
    work.constants[kPacked] = packed.bytes;
    SN_ASSIGN_OR_RETURN(
        work.constants[kZeros],
        Tensor::create(DataType::float32,
                       Shape{r_.sizes.batch * r_.options.directions * r_.sizes.hidden}));
    std::fill_n(static_cast<std::byte*>(work.constants[kZeros].mutable_data()),
                work.constants[kZeros].bytes(), std::byte{0});
    SN_RETURN_IF_ERROR(guarded([&]() -> Status {
      const OneThread one;
      for (const Part& part : division.parts()) add_chunk(work, problem(), r_, division, part);
      return {};
    }));
    return make_partitioned_kernel(std::move(work));
  }

 private:
  std::size_t bytes_of(const Division& division) const {
    return division.direction_bytes(r_) * static_cast<std::size_t>(r_.options.directions);
  }

  static void add_chunk(PartitionedWork& work, const Problem& problem, const Recurrence& r,
                        const Division& division, const Part& part) {
    using From = Argument::From;
    const PartTensors t = tensors_of(r, part);
    const auto bytes = [](std::int64_t elements) {
      return static_cast<std::size_t>(elements) * sizeof(float);
    };
    const std::size_t packed_at =
        division.direction_bytes(r) * static_cast<std::size_t>(part.direction);
    Chunk chunk;
    chunk.primitive = dnnl::primitive(part.desc.get());
    const auto add = [&](int id, From from, std::size_t index, std::size_t offset,
                         const memory::desc& desc) {
      chunk.arguments.push_back({id, from, index, offset, desc});
    };
    const auto add_state = [&](int id, std::size_t input) {
      if (problem.has_input(input))
        add(id, From::input, input, bytes(t.state_at), t.state);
      else
        add(id, From::constant, kZeros, 0, t.state);
    };
    // Unused outputs are written to the workspace.
    const auto add_output = [&](int id, std::size_t output, std::int64_t at,
                                const memory::desc& desc) {
      if (output < problem.outputs.size() && problem.outputs[output].present())
        return add(id, From::output, output, bytes(at), desc);
      add(id, From::workspace, 0, work.workspace_bytes, desc);
      work.workspace_bytes += aligned(desc.get_size());
    };
    add(DNNL_ARG_SRC_LAYER, From::input, kRecurrentX, bytes(t.x_at), t.x);
    add_state(DNNL_ARG_SRC_ITER, kRecurrentH0);
    add(DNNL_ARG_WEIGHTS_LAYER, From::constant, kPacked, packed_at, division.w());
    add(DNNL_ARG_WEIGHTS_ITER, From::constant, kPacked, packed_at + division.u_at(), division.u());
    add(DNNL_ARG_BIAS, From::constant, kPacked, packed_at + division.bias_at(),
        {{1, 1, r.biases, r.sizes.hidden}, kFloat, memory::format_tag::ldgo});
    add_output(DNNL_ARG_DST_LAYER, 0, t.y_at, t.y);
    add_output(DNNL_ARG_DST_ITER, 1, t.state_at, t.state);
    if (r.options.cell == RecurrentCell::lstm) {
      add_state(DNNL_ARG_SRC_ITER_C, kRecurrentC0);
      add_output(DNNL_ARG_DST_ITER_C, 2, t.state_at, t.state);
    }
    work.add_scratchpad(chunk, part.desc);
    work.chunks.push_back(std::move(chunk));
  }

  Result<Division> division_of(const RoutineParams& params) const {
    return guarded([&]() -> Result<Division> {
      const std::string impl(params.text("impl"));
      auto division = Division::make(r_, context().threads(), impl);
      if (!division) return invalid_argument("oneDNN: no implementation '{}' of this layer", impl);
      return *std::move(division);
    });
  }

  Recurrence r_;
  std::shared_ptr<const std::vector<std::string>> names_;
};

class RecurrentRoutine final : public Routine {
 public:
  RecurrentRoutine(const char* layer_type, RecurrentCell cell)
      : Routine(layer_type, "cpu/onednn"), cell_(cell) {}

  RoutineFacts facts() const override { return {.library = library_name()}; }

 protected:
  Applicability applicable(const Problem& problem) const override {
    if (Applicability types = takes_float32(problem); !types) return types;
    if (problem.inputs[kRecurrentX].shape.elements() == 0)
      return Applicability::no("there is nothing to compute");
    for (const std::size_t i : {kRecurrentW, kRecurrentR, kRecurrentBias})
      if (problem.has_input(i) && (!problem.inputs[i].constant || problem.inputs[i].value.empty()))
        return Applicability::no("weights or bias are not constant");
    if (problem.has_input(kRecurrentLengths))
      return Applicability::no("sequence_lens is not supported");
    if (problem.has_input(kRecurrentPeepholes))
      return Applicability::no("peepholes are not supported");
    const auto r = Recurrence::of(cell_, problem);
    if (!r.ok()) return Applicability::no(r.status().message());
    if (r->options.clip != 0) return Applicability::no("cell clipping (clip > 0) is not supported");
    if (r->options.input_forget)
      return Applicability::no(
          "coupled input and forget gates (input_forget = 1) are not supported");
    if (!has_usual_activations(r->options))
      return Applicability::no("needs the activations sigmoid and tanh");
    return Applicability::yes();
  }

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    using Names = std::vector<std::string>;
    SN_ASSIGN_OR_RETURN(const Recurrence r, Recurrence::of(cell_, *problem));
    auto names = names_.get(fmt::format("{} {}", context.threads(), problem->str()), [&] {
      return std::make_shared<const Names>(
          or_none<Names>([&] { return names_of(r, context.threads()); }));
    });
    if (names->empty()) return unsupported("the library has no code for it");
    return make_implementation_of<RecurrentImplementation>(std::move(problem), context, r,
                                                           std::move(names));
  }

 private:
  RecurrentCell cell_;
  // Empty if there is none, or if the library fails.
  mutable AnswerCache<std::vector<std::string>> names_;
};

}  // namespace

Status register_recurrent(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<RecurrentRoutine>("lstm", RecurrentCell::lstm)));
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<RecurrentRoutine>("gru", RecurrentCell::gru)));
  return registry.add(std::make_unique<RecurrentRoutine>("rnn", RecurrentCell::rnn));
}

}  // namespace softneuro::onednn
