#include "verify/pass_verification.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "verify/exciting_inputs.h"
#include "verify/graph_check.h"

namespace softneuro {
namespace {

// Steps (multiply-adds) of all runs together, beside the first set: some tenths of a second. The
// same for samples.
constexpr double kMostSteps = 2e9;
// What preparing one layer for a run counts: some microseconds.
constexpr double kStepsPerLayer = 1e5;
// A model that fails on so many sets of inputs, and runs on none, is not tried with more.
constexpr int kMostFailures = 6;
// Numbers are made larger by at most this power of two, and stay so many below those on which the
// model overflows: a sum in another order overflows sooner than its result does.
constexpr int kLoudest = 126, kLoudnessMargin = 8;
// Open sizes that are tried, one after the other: of the first dimension, and of others.
struct OpenSizes {
  std::int64_t first, other;
};
constexpr OpenSizes kOpenSizes[] = {{2, 16}, {1, 32}, {1, 224}};

// Equal symbols get equal sizes. Nothing: an input without a rank.
std::optional<std::vector<Shape>> shapes_of(const Graph& graph, const OpenSizes& sizes) {
  std::map<std::string, std::int64_t> symbols;
  std::vector<Shape> shapes;
  for (const TensorId id : graph.inputs) {
    const DynamicShape& dims = graph.tensor(id).shape;
    if (!dims.ranked() || !Shape::fits(static_cast<std::size_t>(dims.rank()))) return std::nullopt;
    Shape shape;
    for (int axis = 0; axis < dims.rank(); ++axis) {
      const Dim& dim = dims[axis];
      const std::int64_t open = axis == 0 ? sizes.first : sizes.other;
      shape.push_back(dim.known()          ? dim.value
                      : dim.symbol.empty() ? open
                                           : symbols.emplace(dim.symbol, open).first->second);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

bool is_open(const Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [&](TensorId id) { return !graph.tensor(id).shape.is_static(); });
}

class PassVerifier {
 public:
  explicit PassVerifier(const PassVerificationJob& job) : job_(job) {}

  Result<PassVerification> run() {
    SN_RETURN_IF_ERROR(compare_outputs());
    SN_RETURN_IF_ERROR(verify_on_samples());
    const std::size_t of_samples = sets_;
    for (const OpenSizes& sizes : kOpenSizes) {
      const auto shapes = shapes_of(*job_.model, sizes);
      if (!shapes) {
        failure_ = unsupported("an input has no rank");
        break;
      }
      SN_RETURN_IF_ERROR(verify_with(*shapes));
      if (sets_ > of_samples || !is_open(*job_.model)) break;
    }
    return PassVerification{sets_, sets_ > 0 ? std::string() : failure_.message()};
  }

 private:
  Status compare_outputs() const {
    const Graph &model = *job_.model, &after = *job_.after;
    if (model.outputs.size() != after.outputs.size())
      return internal_error("the passes leave {} of {} outputs; please report this",
                            after.outputs.size(), model.outputs.size());
    for (std::size_t o = 0; o < model.outputs.size(); ++o) {
      const TensorDef &expected = model.tensor(model.outputs[o]),
                      &actual = after.tensor(after.outputs[o]);
      if (expected.name != actual.name || expected.type != actual.type)
        return internal_error(
            "the passes make output '{}' ({}) of output '{}' ({}); please report this", actual.name,
            to_string(actual.type), expected.name, to_string(expected.type));
    }
    return {};
  }

  // The model for inputs of these shapes; nothing, and failure_, where they do not fit.
  std::optional<Graph> model_for(std::span<const Shape> shapes) {
    Graph model = *job_.model;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      model.tensor(model.inputs[i]).shape = DynamicShape(shapes[i]);
    failure_ = model.infer_shapes();
    return failure_.ok() ? std::optional(std::move(model)) : std::nullopt;
  }

  Status verify_on_samples() {
    double steps = 0, last = 0;
    for (const std::vector<Tensor>& sample : job_.samples) {
      if (sets_ > 0 && steps + last > kMostSteps) return {};
      std::vector<Shape> shapes(sample.size());
      std::ranges::transform(sample, shapes.begin(), &Tensor::shape);
      const std::optional<Graph> model = model_for(shapes);
      if (!model) continue;
      GraphCheck check(*job_.runtime, *model, *job_.after, job_.passes.cancel);
      SN_RETURN_IF_ERROR(verify_on(check, *model, sample).status());
      last = cost(check, *model);
      steps += last;
    }
    return {};
  }

  Status verify_with(const std::vector<Shape>& shapes) {
    const std::optional<Graph> fitting = model_for(shapes);
    if (!fitting) return {};
    const Graph& model = *fitting;
    const ExcitingInputs inputs(model, shapes, job_.runtime->allocator());
    GraphCheck check(*job_.runtime, model, *job_.after, job_.passes.cancel);
    const std::size_t before = sets_;
    int failures = 0;
    double left = kMostSteps;
    const auto is_enough = [&] {
      return sets_ > before ? left < cost(check, model) : failures == kMostFailures;
    };
    bool with_zeros = false;  // as Excitation::whole ran
    for (const Excitation kind : kExcitations) {
      for (const bool zeros : {false, true}) {
        if (is_enough()) return {};
        SN_ASSIGN_OR_RETURN(const std::vector<Tensor> set, inputs.make(kind, zeros));
        SN_ASSIGN_OR_RETURN(const bool ran, verify_on(check, model, set));
        left -= cost(check, model);
        failures += !ran;
        if (kind == Excitation::whole) with_zeros = zeros;
        if (ran) break;
      }
      if (sets_ > before && !inputs.has_free_numbers()) return {};
    }
    if (sets_ == before) return {};
    SN_RETURN_IF_ERROR(verify_on_loudest(check, model, inputs, left));
    for (std::int64_t round = 1; round < inputs.rounds_of_whole() && !is_enough(); ++round) {
      SN_ASSIGN_OR_RETURN(const std::vector<Tensor> set,
                          inputs.make(Excitation::whole, with_zeros, round));
      SN_RETURN_IF_ERROR(verify_on(check, model, set, CheckedPart::settled).status());
      left -= cost(check, model);
    }
    return {};
  }

  // Of the last run.
  static double cost(const GraphCheck& check, const Graph& model) {
    return check.steps() + kStepsPerLayer * static_cast<double>(model.layers().size());
  }

  // The largest numbers on which the model stays finite show products and sums that do not.
  Status verify_on_loudest(GraphCheck& check, const Graph& model, const ExcitingInputs& inputs,
                           double& left) {
    if (left < cost(check, model)) return {};
    SN_ASSIGN_OR_RETURN(const std::vector<Tensor> plain, inputs.make(Excitation::plain, false));
    int low = 0, high = kLoudest + 1;  // finite at low, not at high
    if (const Result<bool> overflows = check.overflows(plain); !overflows.ok() || *overflows)
      return check_cancelled(job_.passes.cancel);
    while (high - low > 1) {
      left -= cost(check, model);
      if (left < 0) return {};
      const int middle = low + (high - low) / 2;
      SN_ASSIGN_OR_RETURN(const std::vector<Tensor> louder, inputs.scaled(plain, middle));
      const Result<bool> overflows = check.overflows(louder);
      SN_RETURN_IF_ERROR(check_cancelled(job_.passes.cancel));
      (overflows.ok() && !*overflows ? low : high) = middle;
    }
    SN_ASSIGN_OR_RETURN(const std::vector<Tensor> loud,
                        inputs.scaled(plain, std::max(low - kLoudnessMargin, 0)));
    return verify_on(check, model, loud).status();
  }

  // Whether the model runs on these inputs; an error where the passes change what it computes.
  Result<bool> verify_on(GraphCheck& check, const Graph& model, std::span<const Tensor> set,
                         CheckedPart part = CheckedPart::all) {
    const auto mismatch = check.run(set, part);
    SN_RETURN_IF_ERROR(check_cancelled(job_.passes.cancel));
    if (!mismatch.ok()) {
      failure_ = mismatch.status();
      return false;
    }
    if (*mismatch) return blame(model, set, part, **mismatch);
    ++sets_;
    return true;
  }

  // Runs the passes anew and finds the first after which the graph differs.
  Status blame(const Graph& model, std::span<const Tensor> set, CheckedPart part,
               GraphMismatch mismatch) const {
    struct Snapshot {
      std::string pass;
      Graph graph;
    };
    std::vector<Snapshot> snapshots;
    PassOptions options = job_.passes;
    options.on_change = [&](const Pass& pass, const Graph& graph) {
      snapshots.push_back({pass.name, graph});
    };
    Graph again = *job_.model;
    SN_RETURN_IF_ERROR(run_passes(again, job_.runtime->registry(), options));
    std::string pass;
    for (std::size_t low = 0, high = snapshots.size(); low < high;) {
      const std::size_t middle = low + (high - low) / 2;
      GraphCheck check(*job_.runtime, model, snapshots[middle].graph, options.cancel);
      SN_ASSIGN_OR_RETURN(const auto found, check.run(set, part));
      if (found) {
        mismatch = *found;
        pass = snapshots[middle].pass;
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return internal_error(
        "{} changes what the model computes, at layer '{}'{}: {}; {}please report this",
        pass.empty() ? "a pass" : fmt::format("the pass '{}'", pass), mismatch.layer,
        mismatch.sources.empty() ? ""
                                 : fmt::format(" (of '{}')", fmt::join(mismatch.sources, "', '")),
        mismatch.what,
        pass.empty()
            ? ""
            : fmt::format("leave the pass out (disabled_passes, --disable-pass {}), and ", pass));
  }

  const PassVerificationJob& job_;
  std::size_t sets_ = 0;
  Status failure_;
};

}  // namespace

Result<PassVerification> verify_passes(const PassVerificationJob& job) noexcept {
  return guarded([&] { return PassVerifier(job).run(); });
}

}  // namespace softneuro
