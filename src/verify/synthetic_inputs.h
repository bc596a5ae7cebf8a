// Inputs for a net without samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/layer_type.h"
#include "core/plan/runtime.h"

namespace softneuro {

inline constexpr int kUsableEnd = 1 << 18;  // above every SyntheticInputs::usable

// How a net uses one of its inputs.
struct InputUse {
  std::optional<ValueKind> value;            // decides about shapes
  std::optional<std::int64_t> positions;     // picks one of so many
  std::optional<Quantization> quantization;  // the model rounds it so
};
// By input of the graph.
std::vector<InputUse> input_uses(const Graph& graph);

// Numbers for `tensor`: about normal for floating-point types, within the range where the model
// quantises them; else what the use accepts, zeros where it leaves a choice and `with_zeros` is
// set.
void fill_usable(Tensor& tensor, const InputUse& use, bool with_zeros);

struct SyntheticInputs {
  // Each in the order of the graph's inputs. None: no set was found that the graph runs on.
  std::vector<std::vector<Tensor>> sets;
  // Which of the sets that can be made these are, as a bit mask; 0 where the graph overflows.
  std::uint32_t usable = 0;
  // The graph passes the range of its types on each of the sets, and on all others that were tried.
  bool overflows = false;
  Status failure;  // why the last of those that were tried failed; ok where none did
};

// Sets of inputs that `graph` runs on with default choices. They differ in their distribution:
// about normal, a share of 1, and 0 to 255 as of images; where the model quantises an input, within
// that range. Inputs whose values the net uses as shapes, positions, steps or counts get values
// that such layers accept. A set on which the graph passes the range of its types is made smaller.
// Each set is tried in a run, unless `usable` of an earlier call for the same graph and shapes is
// given.
SN_INTREE Result<SyntheticInputs> make_synthetic_inputs(const std::shared_ptr<Runtime>& runtime,
                                                        const std::shared_ptr<const Graph>& graph,
                                                        std::span<const Shape> shapes,
                                                        std::optional<std::uint32_t> usable = {});

}  // namespace softneuro
