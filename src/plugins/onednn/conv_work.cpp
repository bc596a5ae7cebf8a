#include "plugins/onednn/conv_work.h"

#include <algorithm>
#include <cstring>

#include "core/checksum.h"
#include "core/error.h"
#include "plugins/onednn/implementations.h"

namespace softneuro::onednn {
namespace {

using dnnl::memory;

constexpr std::size_t kWeightsAlignment = 64;
constexpr int kPerOutputChannel = 1 << 1;  // mask of scales

memory::dims weight_dims(const ConvShape& shape) {
  if (shape.group == 1) return {shape.out, shape.in, shape.rows.kernel, shape.columns.kernel};
  return {shape.group, shape.out / shape.group, shape.in / shape.group, shape.rows.kernel,
          shape.columns.kernel};
}

memory::desc x_desc(const ConvTask& task, const ConvShape& shape) {
  return desc_of({shape.batch, shape.in, shape.rows.input, shape.columns.input}, task.x,
                 shape.layout);
}
memory::dims y_dims(const ConvShape& shape) {
  return {shape.batch, shape.out, shape.rows.output, shape.columns.output};
}

dnnl::convolution_forward::desc operation(const ConvTask& task, const ConvShape& shape,
                                          bool winograd) {
  const auto algorithm =
      winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
  const memory::desc x = x_desc(task, shape);
  const memory::desc y = desc_of(y_dims(shape), task.y, shape.layout);
  const memory::desc weights(weight_dims(shape), task.weights, memory::format_tag::any);
  const memory::desc bias =
      task.bias ? memory::desc({shape.out}, memory::data_type::f32, memory::format_tag::a)
                : memory::desc();
  const WindowAxis &h = shape.rows, &w = shape.columns;
  return {dnnl::prop_kind::forward_inference,
          algorithm,
          x,
          weights,
          bias,
          y,
          {h.stride, w.stride},
          {h.dilation - 1, w.dilation - 1},
          {h.pad_begin, w.pad_begin},
          {h.pad_end, w.pad_end}};
}

memory::desc operand_desc(const FusedStep& step, const ConvShape& shape) {
  switch (step.extent) {
    case FusedStep::Extent::scalar:
      return desc_of({1, 1, 1, 1}, step.type, Layout::plain);
    case FusedStep::Extent::channel:
      return desc_of({1, shape.out, 1, 1}, step.type, Layout::plain);
    default:
      return desc_of(y_dims(shape), step.type, shape.layout);
  }
}

dnnl::primitive_attr attributes(const ConvTask& task, const ConvPiece& piece, const FusedOps& ops) {
  dnnl::post_ops chain;
  for (const FusedStep& step : ops.steps) {
    if (step.extent == FusedStep::Extent::none)
      chain.append_eltwise(1, step.algorithm, step.alpha, step.beta);
    else
      chain.append_binary(step.algorithm, operand_desc(step, piece.shape));
  }
  dnnl::primitive_attr made = attributes_of(chain);
  if (!task.scales.empty()) {
    std::vector<float> scales(task.scales.begin() + piece.first_out,
                              task.scales.begin() + piece.first_out + piece.shape.out);
    for (float& scale : scales) scale /= ops.unit;
    made.set_output_scales(kPerOutputChannel, scales);
  }
  if (task.x_zero_point != 0) made.set_zero_points(DNNL_ARG_SRC, 0, {task.x_zero_point});
  return made;
}

bool is_winograd(std::string_view impl) {
  return impl.find("wino") != std::string_view::npos;
}

// The library's "gemm" gives wrong results with operands in some of these (seen in 2.6.3: add of a
// tensor like y, with groups or several images).
bool is_trusted(std::string_view impl, const FusedOps& ops) {
  return impl != "gemm" ||
         std::all_of(ops.steps.begin(), ops.steps.end(),
                     [](const FusedStep& step) { return step.extent == FusedStep::Extent::none; });
}

// An operation that the library refuses right away (Winograd with strides) has no implementations.
template <class F>
void with_operation(const ConvTask& task, const ConvShape& shape, bool winograd, F&& f) {
  try {
    const auto described = operation(task, shape, winograd);
    f(&described.data);
  } catch (const dnnl::error&) {
  }
}

std::optional<dnnl::primitive_desc_base> find_piece(const ConvTask& task, const ConvPiece& piece,
                                                    const FusedOps& ops, std::string_view impl) {
  std::optional<dnnl::primitive_desc_base> found;
  with_operation(task, piece.shape, is_winograd(impl), [&](const_dnnl_op_desc_t op_desc) {
    found = find_implementation(op_desc, attributes(task, piece, ops), impl);
  });
  return found;
}

bool exists(const ConvTask& task, const FusedOps& ops, const ConvChoice& choice) {
  const std::vector<ConvPiece> pieces = cut_conv(task.shape, choice.split);
  if (choice.split > 1 && pieces.size() < 2) return false;
  return std::all_of(pieces.begin(), pieces.end(), [&](const ConvPiece& piece) {
    return find_piece(task, piece, ops, choice.impl).has_value();
  });
}

}  // namespace

std::vector<ConvChoice> conv_choices(const ConvTask& task, std::span<const FusedOps> ways,
                                     int threads) {
  std::vector<ConvChoice> choices;
  const std::vector<ConvPiece> whole = cut_conv(task.shape, 1);
  const auto add = [&](const std::string& impl, const FusedOps& ops) {
    const bool known = std::any_of(choices.begin(), choices.end(),
                                   [&](const ConvChoice& choice) { return choice.impl == impl; });
    if (known || !is_trusted(impl, ops)) return;
    // The cut is preferred: it stands before the whole.
    const ConvChoice cut{impl, threads, ops.taken};
    if (threads > 1 && exists(task, ops, cut)) choices.push_back(cut);
    choices.push_back({impl, 1, ops.taken});
  };
  for (const FusedOps& ops : ways)
    for (const bool winograd : {false, true})
      with_operation(task, task.shape, winograd, [&](const_dnnl_op_desc_t op_desc) {
        for (const std::string& impl :
             implementation_names(op_desc, attributes(task, whole[0], ops)))
          add(impl, ops);
      });
  return choices;
}

ParamSpace conv_param_space(const std::vector<ConvChoice>& choices) {
  ParamAxis impl{"impl", {}}, split{"split", {}};
  const auto add = [](ParamAxis& axis, const ParamValue& value) {
    if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
      axis.values.push_back(value);
  };
  for (const ConvChoice& choice : choices) {
    add(impl, choice.impl);
    add(split, choice.split);
  }
  ParamSpace space;
  space.axes = {std::move(impl), std::move(split)};
  space.allows = [choices](const Params& params) {
    return find_choice(choices, params) != nullptr;
  };
  return space;
}

RoutineParams conv_params(const ConvChoice& choice) {
  RoutineParams params;
  params.set("impl", choice.impl);
  params.set("split", choice.split);
  return params;
}

const ConvChoice* find_choice(const std::vector<ConvChoice>& choices, const RoutineParams& params) {
  const auto found = std::find_if(choices.begin(), choices.end(), [&](const ConvChoice& choice) {
    return params.text("impl") == choice.impl && params.integer("split", 1) == choice.split;
  });
  return found == choices.end() ? nullptr : &*found;
}

memory::desc ConvWork::plain_weights(const ConvPiece& piece) const {
  return desc_of(weight_dims(piece.shape), task_.weights, Layout::plain);
}

Result<ConvWork> ConvWork::make(const ConvTask& task, const ConvChoice& choice,
                                const FusedOps& ops) {
  return guarded([&]() -> Result<ConvWork> {
    ConvWork work;
    work.task_ = task;
    for (const ConvPiece& piece : cut_conv(task.shape, choice.split)) {
      const auto desc = find_piece(task, piece, ops, choice.impl);
      if (!desc)
        return unsupported("oneDNN has no implementation '{}' of this convolution here",
                           choice.impl);
      Part part{piece, *desc, desc->query_md(dnnl::query::weights_md, 0), work.packed_bytes_};
      const auto same =
          std::find_if(work.parts_.begin(), work.parts_.end(), [&](const Part& other) {
            return other.piece.first_out == piece.first_out && other.weights == part.weights;
          });
      if (same != work.parts_.end())
        part.weights_at = same->weights_at;
      else
        work.packed_bytes_ += (part.weights.get_size() + kWeightsAlignment - 1) /
                              kWeightsAlignment * kWeightsAlignment;
      work.parts_.push_back(std::move(part));
    }
    return work;
  });
}

std::string ConvWork::pack_key() const {
  std::string key;
  for (const Part& part : parts_)
    key += fmt::format("{}:{}:{:x};", part.piece.first_out, part.weights_at,
                       checksum(&part.weights.data, sizeof part.weights.data));
  return key;
}

Status ConvWork::pack(const void* weights, std::byte* packed) const {
  return guarded([&]() -> Status {
    const OneThread one;
    dnnl::stream stream(engine());
    std::memset(packed, 0, packed_bytes_);
    std::size_t done = 0;
    for (const Part& part : parts_) {
      if (part.weights_at < done) continue;  // another piece's, too
      done = part.weights_at + 1;
      const memory::desc plain = plain_weights(part.piece);
      const std::size_t row = plain.get_size() / static_cast<std::size_t>(part.piece.shape.out);
      const auto* const from = static_cast<const std::byte*>(weights) +
                               row * static_cast<std::size_t>(part.piece.first_out);
      memory source(plain, engine(), const_cast<std::byte*>(from));
      memory target(part.weights, engine(), packed + part.weights_at);
      dnnl::reorder(source, target).execute(stream, source, target);
    }
    stream.wait();
    return {};
  });
}

Argument ConvWork::operand(const FusedStep& step, int position, const ConvPiece& piece) const {
  Argument made;
  made.id = DNNL_ARG_ATTR_MULTIPLE_POST_OP(position) | DNNL_ARG_SRC_1;
  made.from = Argument::From::input;
  made.index = step.input;
  made.desc = operand_desc(step, piece.shape);
  const std::size_t size = memory::data_type_size(step.type);
  if (step.extent == FusedStep::Extent::whole)
    made.offset = static_cast<std::size_t>(piece.y_at) * size;
  if (step.extent == FusedStep::Extent::channel)
    made.offset = static_cast<std::size_t>(piece.first_out) * size;
  return made;
}

Result<std::unique_ptr<Kernel>> ConvWork::kernel(Constants constants, const FusedOps& ops,
                                                 PostOpProgram tail) const {
  enum Constant : std::size_t { kPacked, kBias };
  return guarded([&]() -> Result<std::unique_ptr<Kernel>> {
    const OneThread one;
    PieceWork work;
    work.constants = {constants.packed, constants.bias};
    work.tail = std::move(tail);
    for (const Part& part : parts_) {
      const ConvPiece& piece = part.piece;
      const memory::desc x = x_desc(task_, piece.shape);
      const memory::desc y = desc_of(y_dims(piece.shape), task_.y, piece.shape.layout);
      const auto bytes_at = [](std::int64_t at, memory::data_type type) {
        return static_cast<std::size_t>(at) * memory::data_type_size(type);
      };
      Piece made;
      made.primitive = dnnl::primitive(part.desc.get());
      made.first = piece.y_at;
      made.count = piece.y_count;
      made.arguments = {
          {DNNL_ARG_SRC, Argument::From::input, 0, bytes_at(piece.x_at, task_.x), x},
          {DNNL_ARG_WEIGHTS, Argument::From::constant, kPacked, part.weights_at, part.weights},
          {DNNL_ARG_DST, Argument::From::output, 0, bytes_at(piece.y_at, task_.y), y}};
      if (task_.bias)
        made.arguments.push_back(
            {DNNL_ARG_BIAS, Argument::From::constant, kBias,
             constants.bias_at + static_cast<std::size_t>(piece.first_out) * sizeof(float),
             desc_of({piece.shape.out}, memory::data_type::f32, Layout::plain)});
      for (std::size_t i = 0; i < ops.steps.size(); ++i)
        if (ops.steps[i].extent != FusedStep::Extent::none)
          made.arguments.push_back(operand(ops.steps[i], static_cast<int>(i), piece));
      work.add_scratchpad(made, part.desc);
      work.pieces.push_back(std::move(made));
    }
    return make_piece_kernel(std::move(work));
  });
}

}  // namespace softneuro::onednn
