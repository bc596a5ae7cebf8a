#include "core/graph/params.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace softneuro {
namespace {

template <class Entries>
auto position(Entries& entries, std::string_view name) {
  return std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const Params::Entry& e, std::string_view n) { return e.name.compare(n) < 0; });
}

template <class T>
const T* value_as(const Params& params, std::string_view name) {
  const ParamValue* value = params.find(name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

// Texts that could be mistaken for syntax are quoted, so that equal strings mean equal parameters.
std::string quoted_if_needed(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string one(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string one(double value) {
  return fmt::format("{}", value);
}
std::string one(const std::string& value) {
  return quoted_if_needed(value);
}
template <class T>
std::string one(const std::vector<T>& values) {
  std::string joined;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) joined += 'x';
    joined += one(values[i]);
  }
  return joined;
}

ParamAlternatives copy_of(const ParamAlternatives& other) {
  return std::visit([](const auto& value) { return ParamAlternatives(value); }, other);
}

}  // namespace

ParamValue::ParamValue(const ParamValue& other) : ParamAlternatives(copy_of(other)) {}
ParamValue::ParamValue(ParamValue&&) noexcept = default;
ParamValue& ParamValue::operator=(ParamValue other) noexcept {
  swap(other);
  return *this;
}
ParamValue::~ParamValue() = default;
bool ParamValue::operator==(const ParamValue& other) const {
  return static_cast<const ParamAlternatives&>(*this) ==
         static_cast<const ParamAlternatives&>(other);
}

Params::Params() = default;
Params::Params(const Params&) = default;
Params::Params(Params&&) noexcept = default;
Params& Params::operator=(const Params&) = default;
Params& Params::operator=(Params&&) noexcept = default;
Params::~Params() = default;
bool Params::operator==(const Params&) const = default;

void Params::set(std::string_view name, ParamValue value) {
  const auto it = position(entries_, name);
  if (it != entries_.end() && it->name == name)
    it->value = std::move(value);
  else
    entries_.insert(it, Entry{std::string(name), std::move(value)});
}

void Params::erase(std::string_view name) {
  const auto it = position(entries_, name);
  if (it != entries_.end() && it->name == name) entries_.erase(it);
}

const ParamValue* Params::find(std::string_view name) const {
  const auto it = position(entries_, name);
  return it != entries_.end() && it->name == name ? &it->value : nullptr;
}

std::int64_t Params::integer(std::string_view name, std::int64_t fallback) const {
  const auto* value = value_as<std::int64_t>(*this, name);
  return value == nullptr ? fallback : *value;
}

double Params::real(std::string_view name, double fallback) const {
  const auto* value = value_as<double>(*this, name);
  return value == nullptr ? fallback : *value;
}

std::string_view Params::text(std::string_view name, std::string_view fallback) const {
  const auto* value = value_as<std::string>(*this, name);
  return value == nullptr ? fallback : std::string_view(*value);
}

std::span<const std::int64_t> Params::integers(std::string_view name) const {
  const auto* value = value_as<std::vector<std::int64_t>>(*this, name);
  return value == nullptr ? std::span<const std::int64_t>{} : *value;
}

std::span<const double> Params::reals(std::string_view name) const {
  const auto* value = value_as<std::vector<double>>(*this, name);
  return value == nullptr ? std::span<const double>{} : *value;
}

std::span<const std::string> Params::texts(std::string_view name) const {
  const auto* value = value_as<std::vector<std::string>>(*this, name);
  return value == nullptr ? std::span<const std::string>{} : *value;
}

std::string Params::str() const {
  std::string text;
  for (const Entry& entry : entries_) {
    if (!text.empty()) text += ',';
    text += entry.name;
    text += '=';
    text += std::visit([](const auto& value) { return one(value); }, entry.value);
  }
  return text;
}

const char* to_string(ParamKind kind) {
  static constexpr const char* kNames[] = {"integer", "real", "text", "integers", "reals", "texts"};
  static_assert(std::size(kNames) == std::variant_size_v<ParamAlternatives>);
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

}  // namespace softneuro
