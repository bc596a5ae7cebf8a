#include "core/layers/einsum_equation.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"

namespace softneuro {
namespace {

constexpr char kEllipsis = '.';

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// One operand's term: its letters, with one '.' for "…".
Result<std::string> read_term(std::string_view text) {
  std::string term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "..." && term.find(kEllipsis) == std::string::npos) {
      term += kEllipsis;
      i += 2;
    } else if (is_letter(text[i])) {
      term += text[i];
    } else {
      return invalid_model("equation: unexpected '{}' in the term '{}'", text[i], text);
    }
  }
  return term;
}

struct Terms {
  std::vector<std::string> inputs;
  std::string output;
};

// Without "->" the output has the axes of "…", then the letters that occur once, by alphabet.
std::string implicit_output(const std::vector<std::string>& inputs) {
  std::string all, output;
  for (const std::string& term : inputs) all += term;
  if (all.find(kEllipsis) != std::string::npos) output += kEllipsis;
  std::sort(all.begin(), all.end());
  for (const char c : all)
    if (c != kEllipsis && std::count(all.begin(), all.end(), c) == 1) output += c;
  return output;
}

Result<Terms> read_terms(std::string_view equation) {
  Terms terms;
  const std::size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  while (true) {
    const std::size_t comma = left.find(',');
    SN_ASSIGN_OR_RETURN(std::string term, read_term(left.substr(0, comma)));
    terms.inputs.push_back(std::move(term));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (arrow == std::string_view::npos) {
    terms.output = implicit_output(terms.inputs);
  } else {
    SN_ASSIGN_OR_RETURN(terms.output, read_term(equation.substr(arrow + 2)));
  }
  return terms;
}

// Axes behind each term's "…"; their largest number, −1 if there is no "…" at all.
Result<int> ellipsis_axes(const Terms& terms, const std::vector<int>& ranks,
                          std::vector<int>& axes) {
  int most = -1;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string& term = terms.inputs[i];
    const bool open = term.find(kEllipsis) != std::string::npos;
    const int letters = static_cast<int>(term.size()) - (open ? 1 : 0);
    axes.push_back(ranks[i] - letters);
    if (axes.back() < 0 || (!open && axes.back() > 0))
      return invalid_model("equation: the term '{}' has {} indices, input {} {} axes", term,
                           letters, i, ranks[i]);
    if (open) most = std::max(most, axes.back());
  }
  return most;
}

}  // namespace

Result<EinsumPlan> parse_einsum(std::string_view equation, const std::vector<int>& ranks) {
  SN_ASSIGN_OR_RETURN(const Terms terms, read_terms(equation));
  if (terms.inputs.size() != ranks.size())
    return invalid_model("equation '{}' has {} terms for {} inputs", equation, terms.inputs.size(),
                         ranks.size());
  std::vector<int> hidden;
  SN_ASSIGN_OR_RETURN(const int most, ellipsis_axes(terms, ranks, hidden));

  // Labels by name; those of "…" get the names 1, 2, … from the last axis backwards.
  std::string names;
  const auto label = [&](char name) {
    if (names.find(name) == std::string::npos) names += name;
    return static_cast<int>(names.find(name));
  };
  const auto expand = [&](const std::string& term, int axes, std::vector<int>& labels) {
    for (const char c : term) {
      if (c != kEllipsis) labels.push_back(label(c));
      for (int k = axes; c == kEllipsis && k > 0; --k)
        labels.push_back(label(static_cast<char>(k)));
    }
  };
  EinsumPlan plan;
  std::vector<int> output;
  if (terms.output.find(kEllipsis) != std::string::npos && most < 0)
    return invalid_model("equation '{}': '...' stands in the output only", equation);
  expand(terms.output, std::max(most, 0), output);
  plan.output_labels = static_cast<int>(output.size());
  if (names.size() != output.size())
    return invalid_model("equation '{}': an index stands twice in the output", equation);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    expand(terms.inputs[i], hidden[i], plan.inputs.emplace_back());
  plan.labels = static_cast<int>(names.size());
  if (plan.labels > kMaxEinsumLabels || !Shape::fits(output.size()))
    return unsupported("equation '{}': {} indices, {} of the output; at most {} and {}", equation,
                       plan.labels, plan.output_labels, kMaxEinsumLabels, kMaxRank);
  for (int l = 0; l < plan.output_labels; ++l)
    if (std::none_of(plan.inputs.begin(), plan.inputs.end(), [&](const auto& labels) {
          return std::find(labels.begin(), labels.end(), l) != labels.end();
        }))
      return invalid_model("equation '{}': an index of the output stands in no input", equation);
  return plan;
}

}  // namespace softneuro
