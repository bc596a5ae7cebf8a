// Layer parameters: small named values (strides, axis, epsilon…), checked against the
// declaration of the layer type before any routine sees them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "softneuro/export.h"
#include "softneuro/status.h"

namespace softneuro {

using ParamAlternatives = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                                       std::vector<double>, std::vector<std::string>>;

// A variant of its own copying: where memory runs out in the middle of a copy, libstdc++ (12) takes
// the half-made variant for a whole one, and destroys what is not there. Here the text or list is
// copied first. What a variant generates is compiled in params.cpp alone: nearly every source
// includes this header.
class SN_INTREE ParamValue : public ParamAlternatives {
 public:
  using ParamAlternatives::ParamAlternatives;
  ParamValue(const ParamValue& other);
  ParamValue(ParamValue&&) noexcept;
  ParamValue& operator=(ParamValue other) noexcept;
  ~ParamValue();
  bool operator==(const ParamValue& other) const;
};

enum class ParamKind : std::uint8_t { integer, real, text, integers, reals, texts };

// A sorted list of name → value. Value semantics.
class SN_INTREE Params {
 public:
  struct Entry {
    std::string name;
    ParamValue value;
    bool operator==(const Entry&) const = default;
  };

  Params();
  Params(const Params&);
  Params(Params&&) noexcept;
  Params& operator=(const Params&);
  Params& operator=(Params&&) noexcept;
  ~Params();

  // Adds or replaces.
  void set(std::string_view name, ParamValue value);
  void erase(std::string_view name);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Null if there is none of that name.
  const ParamValue* find(std::string_view name) const;

  // The value, or `fallback` if absent or of another kind. After LayerType::check_params every
  // declared parameter is present (defaults filled in) and of its kind.
  std::int64_t integer(std::string_view name, std::int64_t fallback = 0) const;
  double real(std::string_view name, double fallback = 0) const;
  std::string_view text(std::string_view name, std::string_view fallback = {}) const;
  std::span<const std::int64_t> integers(std::string_view name) const;
  std::span<const double> reals(std::string_view name) const;
  std::span<const std::string> texts(std::string_view name) const;

  const std::vector<Entry>& entries() const { return entries_; }
  bool operator==(const Params&) const;
  // "axis=1,strides=2x2": canonical, part of the problem string.
  std::string str() const;

 private:
  std::vector<Entry> entries_;
};

inline ParamKind kind_of(const ParamValue& value) {
  return static_cast<ParamKind>(value.index());
}
SN_INTREE const char* to_string(ParamKind kind);

}  // namespace softneuro
