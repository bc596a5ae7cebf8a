#include "profiler/select/device_adapts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/routine/view_adapt.h"

namespace softneuro {
namespace {

// Of both sides; negative where a format does not exist for the tensor.
double bytes_of(const TensorSpec& tensor, const Format& from, const Format& to) {
  const std::int64_t read = storage_bytes(from.type, tensor.shape, from.layout);
  const std::int64_t written = storage_bytes(to.type, tensor.shape, to.layout);
  return read < 0 || written < 0 ? -1 : static_cast<double>(read) + static_cast<double>(written);
}

// Whether the same formats mean the same work, but for its size.
bool is_like(const TensorSpec& tensor, const TensorSpec& other, const Format& from,
             const Format& to) {
  if (is_real(tensor.type) ? !is_real(other.type) : tensor.type != other.type) return false;
  if (tensor.quantization.has_value() != other.quantization.has_value()) return false;
  const bool is_laid_out = from.layout != Layout::plain || to.layout != Layout::plain;
  return !is_laid_out || tensor.shape.rank() == other.shape.rank();
}

}  // namespace

DeviceAdapts::DeviceAdapts(std::vector<const TensorSpec*> tensors, Measure measure)
    : tensors_(std::move(tensors)), measure_(std::move(measure)) {}

std::vector<const TensorSpec*> DeviceAdapts::measured_tensors(const TensorSpec& like,
                                                              const Format& from,
                                                              const Format& to) const {
  std::vector<std::pair<double, const TensorSpec*>> sizes;
  for (const TensorSpec* const tensor : tensors_)
    if (tensor != nullptr && is_like(like, *tensor, from, to) &&
        !is_view_adapt(tensor->shape, from, to, true))
      if (const double bytes = bytes_of(*tensor, from, to); bytes > 0)
        sizes.emplace_back(bytes, tensor);
  std::ranges::stable_sort(sizes, {}, &std::pair<double, const TensorSpec*>::first);
  const auto same_size = [](const auto& a, const auto& b) { return a.first == b.first; };
  sizes.erase(std::unique(sizes.begin(), sizes.end(), same_size), sizes.end());
  std::vector<const TensorSpec*> chosen;
  if (sizes.empty()) return chosen;
  const std::size_t last = sizes.size() - 1;
  for (const std::size_t at : {std::size_t{0}, last / 2, last})
    if (chosen.empty() || chosen.back() != sizes[at].second) chosen.push_back(sizes[at].second);
  return chosen;
}

Result<const DeviceAdapts::Line*> DeviceAdapts::line_of(const TensorSpec& tensor,
                                                        const Format& from, const Format& to) {
  const bool is_laid_out = from.layout != Layout::plain || to.layout != Layout::plain;
  const std::string key =
      fmt::format("{}|{}|{}|{}|{}", from.str(), to.str(),
                  is_real(tensor.type) ? "real" : to_string(tensor.type),
                  tensor.quantization.has_value(), is_laid_out ? tensor.shape.rank() : 0);
  if (const auto known = lines_.find(key); known != lines_.end()) return &known->second;
  Line line;
  for (const TensorSpec* const measured : measured_tensors(tensor, from, to)) {
    SN_ASSIGN_OR_RETURN(AdaptChoice choice, measure_(*measured, from, to));
    line.push_back({bytes_of(*measured, from, to), std::move(choice)});
  }
  return &lines_.emplace(key, std::move(line)).first->second;
}

Result<AdaptChoice> DeviceAdapts::of(const TensorSpec& tensor, const Format& from,
                                     const Format& to) {
  SN_ASSIGN_OR_RETURN(const Line* const line, line_of(tensor, from, to));
  const double bytes = bytes_of(tensor, from, to);
  const auto above = std::ranges::find_if(*line, [&](const Point& p) { return p.bytes >= bytes; });
  if (above == line->end()) return measure_(tensor, from, to);  // of no tensor of the net
  AdaptChoice choice = above->choice;
  if (above->bytes > bytes && above != line->begin() && std::isfinite(choice.time_us)) {
    const Point& below = *(above - 1);
    const double part = (bytes - below.bytes) / (above->bytes - below.bytes);
    choice.time_us = below.choice.time_us + part * (above->choice.time_us - below.choice.time_us);
  }
  return choice;
}

}  // namespace softneuro
