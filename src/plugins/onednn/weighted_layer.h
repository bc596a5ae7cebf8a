// Layers with weights as oneDNN is asked for them, whatever the data types.
#pragma once

#include <optional>
#include <vector>

#include "core/routine/routine.h"
#include "plugins/onednn/fused_ops.h"

namespace softneuro::onednn {

// Data types and numbers of one problem.
struct WeightedTask {
  dnnl::memory::data_type x = dnnl::memory::data_type::f32;
  dnnl::memory::data_type weights = dnnl::memory::data_type::f32;
  dnnl::memory::data_type stored_weights = dnnl::memory::data_type::f32;  // before they are packed
  dnnl::memory::data_type y = dnnl::memory::data_type::f32;
  bool bias = false;          // float32
  std::vector<float> scales;  // what sums are multiplied by, per output channel; empty: 1
  std::int32_t x_zero_point = 0;
};

// A part of the work: an operation of its own on parts of the tensors. One call of the library
// needs all of it.
struct WeightedPart {
  Operation operation;                   // packed weights' format is left open
  dnnl::memory::desc x, y;               // y: see `channel`
  dnnl::memory::desc weights;            // as the model, or quantize_weights(), has them
  std::int64_t x_at = 0, y_at = 0;       // where they begin, in elements
  dnnl::memory::dims padding;            // where sums take in elements of x that are not there
  std::int64_t weights_at = 0;           // in elements of those
  int weights_mask = 0;                  // the dimensions of weights that are output channels
  int channel = 1;                       // the dimension of y that output channels are
  std::int64_t first_out = 0, outs = 0;  // output channels
  // The elements of output 0 that are written, in the order of memory: `count` from y_at on, and
  // as many each `stride` further, `repeats` times.
  std::int64_t count = 0, repeats = 1, stride = 0;
};

// One layer type.
class WeightedLayer {
 public:
  enum Input : std::size_t { kX, kWeights, kBias };

  virtual ~WeightedLayer();
  virtual const char* layer_type() const = 0;
  // Output channels (conv) or columns (dense), and the axis of the output that they are.
  virtual std::int64_t outputs(const Problem& problem) const = 0;
  virtual int channel_axis(const Problem& problem) const = 0;
  // Whether sums take in elements of x that are not there.
  virtual bool has_padding(const Problem& problem) const = 0;
  // Whether weights are constants that are reordered beforehand; else they are read as they are.
  virtual bool packs_weights() const { return true; }
  // About `split` parts of about the same work; fewer where it cannot be partitioned so often.
  // Empty if the library refuses the operation right away, or has no Winograd for it.
  std::vector<WeightedPart> parts(const Problem& problem, const WeightedTask& task,
                                  std::int64_t split, bool winograd) const;

 private:
  // The same; throws dnnl::error where the library refuses.
  virtual Result<std::vector<WeightedPart>> make_parts(const Problem& problem,
                                                       const WeightedTask& task, std::int64_t split,
                                                       bool winograd) const = 0;
  // Whether `winograd` makes a difference.
  virtual bool has_winograd() const { return false; }
};

// Where the library's own code for a layer's problem is: a point of a routine's parameter space.
struct WeightedChoice {
  std::string impl;
  std::int64_t split = 1;
  std::size_t fused = 0;  // post-ops that the library does itself
  // Of the parts, each once (asks_the_same), as named_choice() has found them: asking takes about a
  // millisecond. Empty: not known.
  std::vector<dnnl::primitive_desc_base> descs;

  bool is_winograd() const { return impl.find("wino") != std::string::npos; }
};

// `ways`: what to fuse, best first. All that the library has, each implementation with the first
// of `ways` for which it exists, partitioned for `threads` and whole. May throw
// dnnl::error.
std::vector<WeightedChoice> weighted_choices(const WeightedLayer& layer, const Problem& problem,
                                             int threads, const WeightedTask& task,
                                             std::span<const FusedOps> ways);
// Whether that gives any.
bool has_choices(const WeightedLayer& layer, const Problem& problem, const WeightedTask& task,
                 std::span<const FusedOps> ways);
// The one of them that `params` name. Asks the library for this implementation alone: planning a
// tuned net needs no other. One that cannot be partitioned serves whole where one part for each
// thread is asked for: params hold for any number of threads.
std::optional<WeightedChoice> named_choice(const WeightedLayer& layer, const Problem& problem,
                                           int threads, const WeightedTask& task,
                                           std::span<const FusedOps> ways,
                                           const RoutineParams& params);
// `impl` and `split` (thread_parts.h); what is in `choices`, of `problem`, is all that is allowed.
// From kWorthPartitioning multiply-accumulates on, an implementation that can be partitioned is not
// promising whole.
ParamSpace choice_space(const std::vector<WeightedChoice>& choices, const Problem& problem,
                        int threads);
RoutineParams choice_params(const WeightedChoice& choice, int threads);
// Whether a net of `threads` threads has this point: `params`, which name `choice`, and nothing
// else.
bool is_listed(const WeightedChoice& choice, RoutineParams params, int threads);

// Whether the library answers alike for both parts of a task.
bool asks_the_same(const WeightedTask& task, const WeightedPart& a, const WeightedPart& b);

// What sums of one part are multiplied by before steps, per output channel; empty: 1.
std::vector<float> part_factors(const WeightedTask& task, const WeightedPart& part,
                                const FusedOps& ops);
// What is fused before y is stored, and the numbers of `task`, for one part.
dnnl::primitive_attr part_attributes(const WeightedTask& task, const WeightedPart& part,
                                     const FusedOps& ops);
// The operand of a fused step as the part sees it.
dnnl::memory::desc operand_desc(const FusedStep& step, const WeightedPart& part);

// conv2 in nhwc and in the blocked layouts; dense; matmul, whose input 1 stands for weights.
const WeightedLayer& conv2_layer();
const WeightedLayer& dense_layer();
const WeightedLayer& matmul_layer();

}  // namespace softneuro::onednn
