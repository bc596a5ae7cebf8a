// Inputs that show what passes may get wrong: rounding, ranges, steps.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/plan/runtime.h"
#include "verify/synthetic_inputs.h"

namespace softneuro {

enum class Excitation : std::uint8_t {
  centred,   // about normal behind the arithmetic with constants that the net begins with: numbers
             // of a large mean where it subtracts one
  whole,     // whole numbers there, in a sequence without order
  positive,  // between 0 and 1
  faint,     // so small that what is added to avoid divisions by zero counts
  plain,     // about normal, three times as wide
};
// Excitation::whole repeats itself after so many numbers.
inline constexpr std::int64_t kWholeNumbers = 4096;
inline constexpr Excitation kExcitations[] = {Excitation::centred, Excitation::whole,
                                              Excitation::plain, Excitation::positive,
                                              Excitation::faint};

class ExcitingInputs {
 public:
  // `graph` outlives it; its shapes are inferred from `shapes`, those of its inputs.
  ExcitingInputs(const Graph& graph, std::span<const Shape> shapes, Allocator& allocator);

  // Whether kinds of numbers make a difference: an input is free in floating point.
  bool has_free_numbers() const;
  // In the order of the graph's inputs. `with_zeros`: integers are zero where they may be anything.
  // `round`, of Excitation::whole: the sequence goes on where the round before it ended.
  Result<std::vector<Tensor>> make(Excitation kind, bool with_zeros, std::int64_t round = 0) const;
  // Rounds after which the smallest input that has whole numbers had all of them.
  std::int64_t rounds_of_whole() const;
  // The numbers of `set` that are free, times a power of two.
  Result<std::vector<Tensor>> scaled(std::span<const Tensor> set, int exponent) const;

 private:
  // Numbers x of an input become a · x + b, element by element, before anything else happens.
  struct Line {
    std::vector<double> a, b;
  };

  bool is_free(std::size_t input) const;
  bool is_free_integer(std::size_t input) const;
  Line line_of(std::size_t input) const;
  void fill(Tensor& tensor, std::size_t input, Excitation kind, std::int64_t round) const;

  const Graph& graph_;
  std::vector<Shape> shapes_;
  Allocator& allocator_;
  std::vector<InputUse> uses_;
  std::vector<Line> lines_;
};

}  // namespace softneuro
