// contract_einsums: a sum of products over several operands, two operands at a time.
//
// By its definition an einsum takes as many steps as the sizes of all its indices multiply to:
// exponential in the operands. An index that nothing else has can be summed before or within a
// product of two. Which two come next is chosen greedily, by the pair whose product is smaller than
// its operands by most (the usual heuristic of opt_einsum, tensornetwork and others).
//
// Exact up to the order of the sums, which the operator leaves open; products of two operands are
// rounded to float32, and have its range, before the third comes in.
#include <algorithm>
#include <array>
#include <bit>

#include "core/base/error.h"
#include "core/layers/einsum_equation.h"
#include "passes/rewriter.h"

namespace softneuro {
namespace {

// What a dimension counts that is not known yet: neither 1 nor large.
constexpr double kUnknownSize = 16;
// A pair is looked for among so many operands: an einsum may have thousands.
constexpr std::size_t kWindow = 32;

using Labels = std::uint32_t;  // a set: bit l is the index l of EinsumPlan
static_assert(kMaxEinsumLabels <= 32);

bool has(Labels set, int label) {
  return (set >> label & 1u) != 0;
}

// Some operands become one. Operands are numbered: the layer's inputs, then results.
struct Contraction {
  std::vector<std::size_t> operands;
  Labels kept = 0;  // the result's
};

class Contractor {
 public:
  Contractor(const EinsumPlan& plan, const std::array<double, kMaxEinsumLabels>& sizes)
      : sizes_(sizes) {
    for (int l = 0; l < plan.output_labels; ++l) output_ |= Labels{1} << l;
    for (const auto& labels : plan.inputs) {
      Labels set = 0;
      for (const int label : labels) set |= Labels{1} << label;
      add(set);
    }
  }

  // The contractions in order; the last one gives the output. Empty if the definition takes fewer
  // steps.
  std::vector<Contraction> contractions() {
    Labels all = 0;
    for (const Labels set : operands_) all |= set;
    const double direct = static_cast<double>(open_.size()) * size(all);
    sum_private_indices();
    while (open_.size() > 2 && contract_best_pair()) continue;
    contract(open_, output_);
    return steps_ < direct ? std::move(contractions_) : std::vector<Contraction>();
  }

 private:
  double size(Labels set) const {
    double result = 1;
    for (; set != 0; set &= set - 1)
      result *= sizes_[static_cast<std::size_t>(std::countr_zero(set))];
    return result;
  }

  void add(Labels set) {
    for (int l = 0; l < kMaxEinsumLabels; ++l) users_[static_cast<std::size_t>(l)] += has(set, l);
    open_.push_back(operands_.size());
    operands_.push_back(set);
  }

  void take(std::size_t operand) {
    for (int l = 0; l < kMaxEinsumLabels; ++l)
      users_[static_cast<std::size_t>(l)] -= has(operands_[operand], l);
    open_.erase(std::find(open_.begin(), open_.end(), operand));
  }

  // Indices of at least `least` open operands.
  Labels used_by(int least) const {
    Labels set = 0;
    for (int l = 0; l < kMaxEinsumLabels; ++l)
      if (users_[static_cast<std::size_t>(l)] >= least) set |= Labels{1} << l;
    return set;
  }

  void contract(std::vector<std::size_t> operands, Labels kept) {
    Labels all = 0;
    for (const std::size_t operand : operands) {
      all |= operands_[operand];
      take(operand);
    }
    steps_ += static_cast<double>(operands.size()) * size(all);
    contractions_.push_back({std::move(operands), kept});
    add(kept);
  }

  // Over indices that one operand has alone and the output lacks.
  void sum_private_indices() {
    if (open_.size() == 1) return;
    const Labels needed = output_ | used_by(2);
    for (const std::size_t operand : std::vector<std::size_t>(open_))
      if (const Labels kept = operands_[operand] & needed; size(kept) < size(operands_[operand]))
        contract({operand}, kept);
  }

  bool contract_best_pair() {
    const Labels needed = output_ | used_by(3), shared = used_by(2);
    std::size_t first = 0, second = 0;  // the best pair: places in open_; 0, 0: none
    Labels result = 0;
    double least_growth = 0;
    const std::size_t window = std::min(open_.size(), kWindow);
    for (std::size_t i = 0; i < window; ++i)
      for (std::size_t j = i + 1; j < window; ++j) {
        const Labels a = operands_[open_[i]], b = operands_[open_[j]];
        const Labels kept = (a | b) & (needed | (shared & ~(a & b)));
        const double growth = size(kept) - size(a) - size(b);
        if (!Shape::fits(static_cast<std::size_t>(std::popcount(kept))) ||
            (second > 0 && growth >= least_growth))
          continue;
        first = i, second = j;
        result = kept;
        least_growth = growth;
      }
    if (second > 0) contract({open_[first], open_[second]}, result);
    return second > 0;
  }

  const std::array<double, kMaxEinsumLabels>& sizes_;
  Labels output_ = 0;
  std::vector<Labels> operands_;
  std::vector<std::size_t> open_;                 // operands that are not contracted yet
  std::array<int, kMaxEinsumLabels> users_ = {};  // per index: the open operands that have it
  std::vector<Contraction> contractions_;
  double steps_ = 0;
};

// The layers that take the place of one einsum.
class Replacement {
 public:
  Replacement(Rewriter& rewriter, int root, EinsumPlan plan)
      : rewriter_(rewriter),
        root_(root),
        einsum_(rewriter.layer(root).type),
        cast_(rewriter.context().type("cast")),
        tensors_(rewriter.layer(root).inputs),
        labels_(std::move(plan.inputs)) {}

  void write(std::span<const Contraction> contractions) {
    // Between two contractions 16-bit numbers would lose digits, and overflow, where the definition
    // rounds once.
    const DataType type = rewriter_.tensor(rewriter_.layer(root_).outputs[0]).type;
    const bool widen = type == DataType::float16 || type == DataType::bfloat16;
    if (widen && cast_ == nullptr) return;
    if (widen)
      for (TensorId& tensor : tensors_) tensor = cast(tensor);
    for (const Contraction& contraction : contractions) {
      Params params;
      std::vector<TensorId> inputs = operands_of(contraction, params);
      if (&contraction != &contractions.back() || widen)
        tensors_.push_back(
            add(*einsum_, std::move(inputs), std::move(params), widen ? DataType::float32 : type));
      else
        finish(*einsum_, std::move(inputs), std::move(params));
    }
    if (!widen) return;
    Params params;
    params.set("to", std::string(to_string(type)));
    finish(*cast_, {tensors_.back()}, std::move(params));
  }

 private:
  std::vector<TensorId> operands_of(const Contraction& contraction, Params& params) {
    std::vector<TensorId> inputs;
    std::string equation;
    // Letters in the order in which indices come: equal contractions have equal equations, and
    // merge_duplicates finds them.
    std::vector<int> letters;
    const auto append = [&](const std::vector<int>& labels) {
      for (const int label : labels) {
        auto found = std::find(letters.begin(), letters.end(), label);
        if (found == letters.end()) found = letters.insert(found, label);
        const auto at = static_cast<int>(found - letters.begin());
        equation += static_cast<char>(at < 26 ? 'a' + at : 'A' + at - 26);
      }
    };
    for (const std::size_t operand : contraction.operands) {
      if (!inputs.empty()) equation += ',';
      inputs.push_back(tensors_[operand]);
      append(labels_[operand]);
    }
    std::vector<int>& result = labels_.emplace_back();
    for (int l = 0; l < kMaxEinsumLabels; ++l)
      if (has(contraction.kept, l)) result.push_back(l);
    equation += "->";
    append(result);
    params.set("equation", std::move(equation));
    return inputs;
  }

  TensorId cast(TensorId tensor) {
    Params params;
    params.set("to", std::string(to_string(DataType::float32)));
    return add(*cast_, {tensor}, std::move(params), DataType::float32);
  }

  TensorId add(const LayerType& type, std::vector<TensorId> inputs, Params params,
               DataType result) {
    const std::string name =
        fmt::format("{}_{}_{}", rewriter_.layer(root_).name, type.name, tensors_.size());
    TensorDef def;
    def.name = name;
    def.type = result;  // the shape is inferred at the end
    const TensorId tensor = rewriter_.add_tensor(std::move(def));
    rewriter_.add_sources(rewriter_.add(type, name, std::move(inputs), {tensor}, std::move(params)),
                          root_);
    return tensor;
  }

  void finish(const LayerType& type, std::vector<TensorId> inputs, Params params) {
    rewriter_.replace_unchecked({}, root_, type, std::move(inputs), std::move(params));
  }

  Rewriter& rewriter_;
  int root_;
  const LayerType* einsum_;
  const LayerType* cast_;
  std::vector<TensorId> tensors_;         // per operand
  std::vector<std::vector<int>> labels_;  // likewise
};

// How often each index of the equation runs.
std::array<double, kMaxEinsumLabels> sizes_of(const Rewriter& rewriter, const Layer& layer,
                                              const EinsumPlan& plan) {
  std::array<double, kMaxEinsumLabels> sizes = {};
  sizes.fill(1);
  for (std::size_t i = 0; i < plan.inputs.size(); ++i)
    for (std::size_t k = 0; k < plan.inputs[i].size(); ++k) {
      const Dim& dim = rewriter.tensor(layer.inputs[i]).shape[static_cast<int>(k)];
      double& size = sizes[static_cast<std::size_t>(plan.inputs[i][k])];
      size = std::max(size, dim.known() ? static_cast<double>(dim.value) : kUnknownSize);
    }
  return sizes;
}

void contract_einsum(Rewriter& rewriter, int root) {
  const Layer& layer = rewriter.layer(root);
  std::vector<int> ranks;
  for (const TensorId input : layer.inputs) {
    if (!rewriter.tensor(input).shape.ranked()) return;
    ranks.push_back(rewriter.tensor(input).shape.rank());
  }
  Result<EinsumPlan> plan = parse_einsum(layer.params.text("equation"), ranks);
  if (!plan.ok()) return;
  const auto sizes = sizes_of(rewriter, layer, *plan);
  const std::vector<Contraction> contractions = Contractor(*plan, sizes).contractions();
  if (contractions.size() > 1) Replacement(rewriter, root, std::move(*plan)).write(contractions);
}

}  // namespace

Status contract_einsums(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = rewriter.count() - 1; i >= 0; --i)
    if (rewriter.layer(i).type->name == "einsum" && rewriter.layer(i).post_ops.empty())
      contract_einsum(rewriter, i);
  return rewriter.finish();
}

}  // namespace softneuro
