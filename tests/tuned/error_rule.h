// How far a tuned net's output may be from the reference: one rule for all models, by what the
// allowed schemas may round.
//
// Errors are RMS(result - reference) / RMS(reference) of an output over all data sets: ranges that
// serve them all may be coarse for one of them. Outputs that are probabilities, behind
// Softmax or Sigmoid, are compared by their logarithms, relative to their log-odds: a small
// relative error of a score is a large one of a probability. What several sources add is summed in
// squares, since roundings of different kinds are independent.
//
// | allowed       | may differ by                    | because
// | ------------- | -------------------------------- | -------------------------------------------
// | float32 alone | what an untuned net may, element | sums in another order, no more
// |               | by element                       |
// | + float16     | kHalfLayer · √products           | every layer's result is rounded to 11 bits,
// |               |                                  | and may be summed in them; roundings of
// |               |                                  | different layers are independent
// | + bfloat16    | kBFloat16Layer · √products       | the same with 8 bits
// | a quantised   | kMovedLevels · (rounded −        | the model's own rounding stays; a sum that
// | model         | unrounded), kMovedByHalf with    | differs in its last bits, or in the last
// |               | float16                          | ones of float16, may end on the next level
// | + qint8,      | kByteLayer · √products           | every layer's inputs and weights are
// | calibrated    |                                  | rounded to 8 bits of their range
// | …, limited    | never kDefaultMaxError (tune.h)  | tuning has measured that; probabilities are
// |               |                                  | compared otherwise here
// | any           | never kGarbage                   | an error of the order of the output is none
// |               |                                  | that a choice of data types explains
#pragma once

#include "models/model_case.h"

namespace softneuro::test {

// A layer's relative error in float16, as the numeric tests allow it for one routine.
inline constexpr double kHalfLayer = 2.5e-3;
inline constexpr double kBFloat16Layer = 2e-2;  // likewise in bfloat16
// A layer's relative error in 8 bits: a tensor whose range is 50 times its RMS, as spectra have it
// (images: 10 to 20), in 255 steps of 50/255 each, has an error of that / √12.
inline constexpr double kByteLayer = 0.057;
// Of what the model's rounding does to its output as a whole. In float16 every sum is off by some
// hundredths of a level, so that as many values move by one; behind a few layers the two roundings
// are as good as independent, and differ by √2 of what one does, more or less by chance, since
// outputs are of ten numbers or so.
inline constexpr double kMovedLevels = 0.5;
inline constexpr double kMovedByHalf = 2;
inline constexpr double kGarbage = 0.3;
// Between the limit's reference, the untuned net, and that of the model: sums in another order.
inline constexpr double kLimitSlack = 1.01;

// What the tuner may choose from.
struct Allowance {
  bool float16 = false;
  bool bfloat16 = false;
  bool qint8 = false;
  bool calibrated = false;  // with samples: layers that the model left in floats may round, too
  bool limited = false;     // tuning has kept its default error limit on what is compared
};

struct Verdict {
  std::string wrong;  // empty if all is well
  double share = 0;   // of the allowed error, of the worst output; 0 where elements are compared
};

// results[i] is the net's output for model.data[i].
Verdict judge(const ModelCase& model, const std::vector<NamedTensors>& results,
              const Allowance& allowance);

}  // namespace softneuro::test
