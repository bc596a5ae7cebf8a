// TuneOptions::max_error: the fastest path that meets it on the validation samples, as measured.
// Where the fastest path of all does not, layers are taken out of 8 and 16 bits in the order of
// their sensitivity; the measurement decides (docs/internals/accuracy.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profiler/tune/finalist.h"
#include "profiler/tune/path_error.h"
#include "profiler/tune/sensitivity.h"

namespace softneuro {

class ErrorLimit {
 public:
  ErrorLimit(TuneContext& context, const MemoryLimit& memory)
      : context_(context),
        space_(context.space),
        memory_(memory),
        error_(context),
        sensitivity_(context) {}

  // The fastest path that meets the limit; where none does, the fastest of all. `ranked`: by time.
  // `untuned_us` is the time of the untuned net in the benchmark that decided.
  Result<Finalist> choose(std::vector<Finalist> ranked, double& untuned_us);
  // Whether what choose() gave meets the limit.
  bool is_kept() const { return is_kept_; }
  // Of all that was measured.
  double least_error() const { return error_.least(); }

  const Sensitivity& sensitivity() const { return sensitivity_; }
  // One row per layer whose sensitivity was measured, the greatest first.
  std::vector<LayerSensitivity> rows(const Finalist& chosen) const;
  // Whether the layer is of the candidate's kind in the fastest path, and `chosen` is not.
  bool is_put_back(const Candidate& chosen, std::size_t layer, const Candidate& candidate) const;

 private:
  // A reduced precision of a layer.
  struct Rounding {
    std::size_t layer = 0;
    Precision precision;
    double worth = 0;
  };
  SelectionRules float32_rules() const;
  std::chrono::steady_clock::time_point end_of_search() const;
  Status measure_sensitivity(const Finalist& rounded);
  std::vector<Rounding> roundings(bool by_time) const;
  bool has_rounding(const Selection& selection, const Rounding& rounding) const;
  Result<std::optional<Finalist>> find_rounded(std::span<const Rounding> roundings,
                                               const std::optional<Finalist>& than) const;
  Result<std::optional<Finalist>> take_layers_out(const Finalist& fastest,
                                                  std::span<const Rounding> order);
  Status put_layers_back(std::optional<Finalist>& best, std::span<const Rounding> order);

  TuneContext& context_;
  SearchSpace& space_;
  const MemoryLimit& memory_;
  PathError error_;
  Sensitivity sensitivity_;
  // What sensitivity was measured between.
  std::optional<Selection> base_;
  Selection rounded_;
  bool is_kept_ = true;
};

}  // namespace softneuro
