// Layers whose output elements each follow from one element of every input: nothing cancels between
// elements, so that each must be right by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/routine/problem.h"
#include "verify/function_accuracy.h"

namespace softneuro {

// Elements of an element-wise layer that are looked at one by one: a fraction of a millisecond.
inline constexpr std::int64_t kCheckedElements = 1024;
// They may be so many times as far off as function_accuracy.h says, which the numeric tests hold
// every routine to: other processors approximate otherwise, and what is wrong is wrong by more.
inline constexpr double kElementSlack = 4;

// The element of an operand of that shape, which broadcasts to `output`, that meets element `i`
// there.
std::int64_t broadcast_index(std::int64_t i, const Shape& output, const Shape& operand);

// The functions that make an element, one after the other: a layer unary, binary or clip on real
// numbers, and its post-ops.
class SN_INTREE ElementChain {
 public:
  // Nothing if the layer is no such chain. Formats do not matter.
  static std::optional<ElementChain> of(const Problem& problem);
  // Post-ops alone, on what is there before them: input 0, of the output's shape. Their operands
  // have the numbers that they have in `problem`.
  static std::optional<ElementChain> of_post_ops(const Problem& problem);

  // The exact result of element `i` of the output, and how far a right one may be from it.
  struct Element {
    double exact = 0;
    double ulp = 0;      // a unit in the last place of the exact result, in the output's type
    double allowed = 0;  // infinite: nothing can be said
    double floor = 0;    // so far in any case, if the sign is not the other one
  };
  // `inputs`: plain, by their numbers in the problem. `arithmetic`: the type that functions are
  // computed in; `output`: that results are rounded to. `slack`: how many times as far off they may
  // be as function_accuracy.h says.
  Element element(std::span<const Tensor> inputs, std::int64_t i, DataType arithmetic,
                  DataType output, double slack) const;

 private:
  struct Step {
    PostOp op;  // its operand's number: of an input
    FunctionAccuracy accuracy;
    Shape shape;  // of the operand
  };
  static Step step_of(const Problem& problem, const PostOp& op);
  static constexpr std::size_t kMostSteps = 16;
  class Way;

  Shape shape_, first_shape_;  // of the output, of input 0
  std::vector<Step> steps_;    // at most kMostSteps
};

// The element that is farthest off, in what is allowed.
struct ElementReport {
  double share = 0;  // of what is allowed; above 1: wrong
  double ulps = 0;   // in units in the last place of the exact result
  std::int64_t element = -1;
  double exact = 0, actual = 0;

  bool is_wrong() const { return share > 1; }
  // "element 3: 0 where 2.1e-09 is exact". Empty if nothing is wrong.
  SN_INTREE std::string fault() const;
};

// `actual`: plain; at most `most` elements, from the first on. The rest as in element().
SN_INTREE ElementReport check_elements(const ElementChain& chain, std::span<const Tensor> inputs,
                                       const Tensor& actual, DataType arithmetic, DataType output,
                                       double slack, std::int64_t most);

}  // namespace softneuro
