#include "tensor_summary.h"

#include <algorithm>
#include <cmath>

#include "core/base/element.h"

namespace softneuro::tool {

double element(const Tensor& tensor, std::int64_t index) {
  const TensorView view{tensor.data_type(), tensor.layout(), tensor.shape(),
                        const_cast<void*>(tensor.data())};
  return load(view, index);
}

TensorSummary summarize(const Tensor& tensor, std::size_t top) {
  TensorSummary summary;
  const std::int64_t count = tensor.elements();
  std::int64_t finite = 0;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = element(tensor, i);
    if (!std::isfinite(value)) {
      ++summary.not_finite;
      continue;
    }
    if (finite == 0) summary.minimum = summary.maximum = value;
    summary.minimum = std::min(summary.minimum, value);
    summary.maximum = std::max(summary.maximum, value);
    sum += value;
    ++finite;
    const auto place = std::find_if(summary.top.begin(), summary.top.end(),
                                    [&](const auto& entry) { return value > entry.second; });
    if (place != summary.top.end() || summary.top.size() < top) {
      summary.top.insert(place, {i, value});
      if (summary.top.size() > top) summary.top.pop_back();
    }
  }
  if (finite > 0) summary.mean = sum / static_cast<double>(finite);
  return summary;
}

}  // namespace softneuro::tool
