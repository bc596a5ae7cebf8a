#include "quantization/calibration.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "core/base/error.h"
#include "core/routine/format.h"
#include "cpu/simd/float_span.h"
#include "net/net_access.h"
#include "quantization/histogram.h"
#include "quantization/output_history.h"
#include "quantization/sharing.h"
#include "quantization/tensor_roles.h"

namespace softneuro {
namespace {

// The sums of a tensor's channels, for their means.
struct ChannelSums {
  std::vector<double> sums;
  double count = 0;  // values per channel

  // `tensor` is plain and float32; nothing if it has another number of channels than before.
  void add(const Tensor& tensor, int axis) {
    const Shape& shape = tensor.shape();
    const std::int64_t channels = shape[axis];
    if (channels == 0 || (!sums.empty() && static_cast<std::int64_t>(sums.size()) != channels))
      return;
    sums.resize(static_cast<std::size_t>(channels));
    const std::int64_t outer = shape.elements(0, axis);
    const std::int64_t inner = shape.elements(axis + 1, shape.rank());
    const float* x = tensor.values<float>().data();
    for (std::int64_t o = 0; o < outer; ++o)
      for (double& sum : sums)
        for (std::int64_t i = 0; i < inner; ++i) sum += static_cast<double>(*x++);
    count += static_cast<double>(outer * inner);
  }
  std::vector<float> means() const {
    std::vector<float> means;
    for (const double sum : sums) means.push_back(static_cast<float>(sum / count));
    return means;
  }
};

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i)
    text += (i == 0 ? "'" : ", '") + names[i] + "'";
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

// The number that messages call a sample by.
std::size_t number_of(std::size_t index, const CalibrationOptions& options) {
  return index < options.numbers.size() ? options.numbers[index] : index;
}

// The inputs of all samples, and what looks wrong with them.
class SampleHistory {
 public:
  SampleHistory(const Graph& graph, const CalibrationOptions& options)
      : graph_(graph), options_(options), inputs_(graph.inputs.size()) {}

  Status add(const NamedTensors& sample) {
    std::size_t hash = 0;
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const TensorDef& def = graph_.tensor(graph_.inputs[i]);
      const auto given = sample.find(def.name);
      if (given == sample.end())
        return invalid_argument("input '{}' ({} {}) is missing", def.name, to_string(def.type),
                                def.shape.str());
      const Tensor& tensor = given->second;
      if (tensor.data_type() != def.type)
        return invalid_argument("input '{}' is {}, the net takes {}", def.name,
                                to_string(tensor.data_type()), to_string(def.type));
      hash = 31 * hash + std::hash<std::string_view>{}(
                             {static_cast<const char*>(tensor.data()), tensor.bytes()});
      if (!is_real(def.type)) continue;
      SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(tensor, default_allocator()));
      Histogram histogram;
      histogram.add(floats.values<float>());
      if (histogram.not_finite() > 0)
        return invalid_argument("input '{}' holds {} values that are NaN or infinite", def.name,
                                histogram.not_finite());
      inputs_[i].magnitudes.push_back(std::max(-histogram.low(), histogram.high()));
      inputs_[i].constants += histogram.is_constant() && floats.elements() > 1;
    }
    hashes_.insert(hash);
    ++count_;
    return {};
  }

  std::size_t count() const { return count_; }
  std::size_t distinct() const { return hashes_.size(); }
  void warn(std::vector<std::string>& warnings) const {
    if (count_ == 1)
      warnings.push_back(
          "a single sample serves for calibration: the ranges it shows may not hold for others");
    if (count_ > 1 && distinct() == 1)
      warnings.push_back(fmt::format("all {} samples are the same", count_));
    else if (distinct() * 2 <= count_)
      warnings.push_back(fmt::format("only {} of {} samples are different", distinct(), count_));
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& history = inputs_[i];
      const std::string& name = graph_.tensor(graph_.inputs[i]).name;
      if (history.constants > 0)
        warnings.push_back(fmt::format(
            "input '{}' is constant (one value everywhere) in {} of {} samples: these do not show "
            "its range",
            name, history.constants, count_));
      if (std::string text = uneven(history.magnitudes); !text.empty())
        warnings.push_back(fmt::format("input '{}': {}", name, text));
    }
  }

 private:
  struct Input {
    std::vector<double> magnitudes;  // largest |x|, per sample
    std::size_t constants = 0;       // samples whose elements are all alike
  };

  // Largest magnitudes that lie far apart: as of samples that were scaled in different ways.
  std::string uneven(const std::vector<double>& magnitudes) const {
    constexpr double kMost = 16;
    if (magnitudes.size() < 2) return {};
    std::vector<double> sorted = magnitudes;
    std::sort(sorted.begin(), sorted.end());
    const double least = *std::find_if(sorted.begin(), sorted.end() - 1,
                                       [](double magnitude) { return magnitude > 0; });
    if (!(sorted.back() > kMost * least)) return {};
    const auto sample = std::max_element(magnitudes.begin(), magnitudes.end()) - magnitudes.begin();
    return fmt::format(
        "the ranges of the samples differ wildly, from {:.3g} to {:.3g} (sample {}): were all "
        "scaled alike?",
        least, sorted.back(), number_of(static_cast<std::size_t>(sample), options_));
  }

  const Graph& graph_;
  const CalibrationOptions& options_;
  std::vector<Input> inputs_;
  std::set<std::size_t> hashes_;
  std::size_t count_ = 0;
};

class Calibrator {
 public:
  Calibrator(const Net& net, const CalibrationOptions& options)
      : net_(net),
        graph_(NetAccess::graph(net)),
        options_(options),
        histograms_(graph_.tensor_count()),
        sums_(graph_.tensor_count()),
        axes_(channel_axes(graph_)),
        samples_(graph_, options),
        output_histories_(graph_.outputs.size()) {
    for (const Layer& layer : graph_.layers())
      for (const TensorId id : layer.outputs)
        if (id != kNoTensor && is_real(graph_.tensor(id).type) && !graph_.is_output(id))
          inner_.push_back(id);
  }

  Status add(std::size_t index, const NamedTensors& sample) {
    Status status = samples_.add(sample);
    if (status.ok()) status = run(sample);
    return std::move(status).with_context(
        fmt::format("calibration sample {}", number_of(index, options_)));
  }

  CalibrationResult finish() {
    CalibrationResult result;
    result.samples = samples_.count();
    const auto chosen = choose_quantizations(graph_, histograms_, options_);
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      if (!chosen[id]) continue;
      Quantization q = *chosen[id];
      if (!sums_[id].sums.empty()) q.channel_means = sums_[id].means();
      result.quantizations.emplace(graph_.tensor(id).name, std::move(q));
    }
    samples_.warn(result.warnings);
    warn_of_tensors(result.warnings);
    warn_of_outputs(result.warnings);
    return result;
  }

 private:
  Status run(const NamedTensors& sample) {
    NamedShapes shapes;
    for (const auto& [name, tensor] : sample) shapes.emplace(name, tensor.shape());
    if (shapes != shapes_) {
      SN_RETURN_IF_ERROR(plan(shapes));
      shapes_ = shapes;
    }
    std::vector<Tensor> inputs;
    for (const TensorId id : graph_.inputs) {
      inputs.push_back(sample.find(graph_.tensor(id).name)->second);
      SN_RETURN_IF_ERROR(see(id, inputs.back()));
    }
    for (std::size_t part = 0; part < sessions_.size(); ++part) {
      std::vector<Tensor> outputs(sessions_[part].plan().outputs().size());
      SN_RETURN_IF_ERROR(sessions_[part].run(inputs, outputs));
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const bool is_net_output = o < graph_.outputs.size();
        if (is_net_output && part > 0) continue;  // seen already
        SN_RETURN_IF_ERROR(is_net_output
                               ? see(graph_.outputs[o], outputs[o], &output_histories_[o])
                               : see(parts_[part][o - graph_.outputs.size()], outputs[o]));
      }
    }
    return {};
  }

  // Sessions that give all inner tensors, some at a time if they are many.
  Status plan(const NamedShapes& shapes) {
    sessions_.clear();
    parts_.assign(1, {});
    Graph sized = graph_;
    for (const TensorId id : sized.inputs) {
      const auto given = shapes.find(sized.tensor(id).name);
      if (given != shapes.end()) sized.tensor(id).shape = given->second;
    }
    SN_RETURN_IF_ERROR(net_.plan(shapes).status());  // says what is wrong with the shapes
    SN_RETURN_IF_ERROR(sized.infer_shapes());
    std::size_t bytes = 0;
    for (const TensorId id : inner_) {
      const DynamicShape& shape = sized.tensor(id).shape;
      const std::size_t size =
          shape.is_static() ? static_cast<std::size_t>(shape.to_shape().elements()) * 4 : 0;
      if (bytes + size > options_.max_bytes && !parts_.back().empty()) {
        parts_.emplace_back();
        bytes = 0;
      }
      bytes += size;
      parts_.back().push_back(id);
    }
    for (const std::vector<TensorId>& part : parts_) {
      std::vector<std::string> names;
      names.reserve(part.size());
      for (const TensorId id : part) names.push_back(graph_.tensor(id).name);
      SN_ASSIGN_OR_RETURN(const auto planned, net_.plan(shapes, names));
      SN_ASSIGN_OR_RETURN(Session session, Session::create(planned));
      sessions_.push_back(std::move(session));
    }
    return {};
  }

  // `history`: of an output of the net.
  Status see(TensorId id, const Tensor& tensor, OutputHistory* history = nullptr) {
    if (!is_real(tensor.data_type())) return {};
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(tensor, default_allocator()));
    if (history != nullptr) history->add(floats.values<float>());
    if (graph_.tensor(id).is_constant()) return {};
    histograms_[id].add(floats.values<float>());
    const int axis = axes_[id];
    if (axis >= 0 && axis < floats.shape().rank() && histograms_[id].not_finite() == 0)
      sums_[id].add(floats, axis);
    return {};
  }

  void warn_of_outputs(std::vector<std::string>& warnings) const {
    if (samples_.distinct() < 2) return;  // the same samples, which was said
    for (std::size_t o = 0; o < output_histories_.size(); ++o)
      if (std::string text = output_histories_[o].warning(); !text.empty())
        warnings.push_back(
            fmt::format("output '{}' {}", graph_.tensor(graph_.outputs[o]).name, text));
  }

  void warn_of_tensors(std::vector<std::string>& warnings) const {
    std::vector<std::string> not_finite, constant;
    std::size_t seen = 0;
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      const Histogram& histogram = histograms_[id];
      if (histogram.not_finite() > 0) not_finite.push_back(graph_.tensor(id).name);
      if (histogram.count() < 2) continue;
      ++seen;
      if (histogram.is_constant()) constant.push_back(graph_.tensor(id).name);
    }
    if (!not_finite.empty())
      warnings.push_back(fmt::format(
          "NaN or infinities in {}: these tensors stay in floating point", list_of(not_finite)));
    if (constant.size() * 4 > seen)
      warnings.push_back(
          fmt::format("{} of {} tensors hold one value only, whatever the sample ({}): the samples "
                      "do not look like what the net was made for",
                      constant.size(), seen, list_of(constant)));
  }

  const Net& net_;
  const Graph& graph_;
  const CalibrationOptions& options_;
  std::vector<TensorId> inner_;  // watched besides inputs and outputs
  std::vector<Histogram> histograms_;
  std::vector<ChannelSums> sums_;
  std::vector<int> axes_;
  SampleHistory samples_;
  std::vector<OutputHistory> output_histories_;  // per output of the net
  NamedShapes shapes_;                           // for which the sessions are
  std::vector<std::vector<TensorId>> parts_;
  std::vector<Session> sessions_;
};

Status check_options(const CalibrationOptions& options) {
  if (options.range == RangeChoice::percentile &&
      !(options.percentile > 50 && options.percentile <= 100))
    return invalid_argument("calibration: percentile is {}, must lie in (50, 100]",
                            options.percentile);
  return {};
}

}  // namespace

Result<CalibrationResult> calibrate(const Net& net, const CalibrationSamples& samples,
                                    const CalibrationOptions& options) {
  SN_RETURN_IF_ERROR(check_options(options));
  Calibrator calibrator(net, options);
  std::size_t count = 0;
  for (;; ++count) {
    SN_ASSIGN_OR_RETURN(const std::optional<NamedTensors> sample, samples(count));
    if (!sample) break;
    SN_RETURN_IF_ERROR(calibrator.add(count, *sample));
  }
  if (count == 0) return invalid_argument("calibration: no sample was given");
  return calibrator.finish();
}

void forget_calibration(Graph& graph) {
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    std::optional<Quantization>& known = graph.tensor(id).quantization;
    if (!known || graph.tensor(id).is_constant()) continue;
    if (known->calibrated)
      known.reset();
    else
      known->channel_means.clear();
  }
}

Status annotate(Graph& graph, const CalibrationResult& result) {
  forget_calibration(graph);
  for (const auto& [name, quantization] : result.quantizations) {
    const TensorId id = graph.find_tensor(name);
    if (id == kNoTensor)
      return invalid_argument(
          "the calibration has a range for the tensor '{}', which the graph does not have: it is "
          "of another net",
          name);
    std::optional<Quantization>& known = graph.tensor(id).quantization;
    if (!known) {
      known = quantization;
      known->calibrated = true;
    } else {
      known->channel_means = quantization.channel_means;
    }
  }
  return {};
}

}  // namespace softneuro
