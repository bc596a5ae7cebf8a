#include "plugins/cuda/generate/map.h"

#include <fmt/format.h>

#include <algorithm>

#include "cpu/post_ops/post_ops.h"
#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/strides.h"

namespace softneuro::cuda {
namespace {

constexpr std::size_t kVectorBytes = 16;   // the widest access of a thread
constexpr std::int64_t kMostElements = 8;  // of a thread: more need too many registers

constexpr const char* kVector = R"(
template <class T, int n>
struct alignas(sizeof(T) * n) Vector {
  T at[n];
};
)";

// How a thread reads an operand opposite `width` neighbours.
enum class Form {
  one,     // the same element everywhere
  dense,   // a vector, where the output has one
  row,     // within a row of a walk: the same element
  vector,  // within a row of a walk: a vector
  single,  // one by one
};

const TensorSpec& spec_of(const Problem& problem, const Operand& operand) {
  return operand.input == Operand::kOutput ? problem.outputs[0] : problem.inputs[operand.input];
}

// The output's dimensions in the order of its memory, with an operand's strides.
Steps steps_of(const Problem& problem, const Operand& operand) {
  const TensorSpec& output = problem.outputs[0];
  Steps steps;
  for (const int d : memory_order(output.shape.rank(), output.layout)) {
    steps.sizes.push_back(output.shape[d]);
    steps.strides.push_back(operand.strides[static_cast<std::size_t>(d)]);
  }
  return joined(steps);
}

Form form_of(const Steps& steps, std::int64_t width) {
  const std::int64_t inner = steps.strides.back();
  if (steps.sizes.size() == 1 && inner <= 1) return inner == 0 ? Form::one : Form::dense;
  const bool whole = inner >= 0 && inner <= 1 && steps.sizes.back() % width == 0;
  if (!whole) return Form::single;
  if (inner == 0) return Form::row;
  return std::all_of(steps.strides.begin(), steps.strides.end() - 1,
                     [&](std::int64_t stride) { return stride % width == 0; })
             ? Form::vector
             : Form::single;
}

// An operand in a kernel.
struct Reader {
  Form form = Form::single;
  std::string data, walk;      // expressions; no walk: element i
  const char* type = nullptr;  // of its numbers
  const char* stored = nullptr;

  std::string place(const std::string& index) const {
    if (form == Form::one) return "0";
    return walk.empty() ? index : fmt::format("at({}, {})", index, walk);
  }
  std::string number(const std::string& index) const {
    return fmt::format("get({}[{}])", data, place(index));
  }
};

Reader reader(KernelSource& source, const Problem& problem, const Operand& operand,
              std::int64_t width) {
  const TensorSpec& spec = spec_of(problem, operand);
  const Steps steps = steps_of(problem, operand);
  Reader reader;
  reader.form = form_of(steps, width);
  reader.data = operand.input == Operand::kOutput ? source.output(problem, 0)
                                                  : source.input(problem, operand.input);
  reader.type = number_type(spec.type);
  reader.stored = stored_type(spec.type, spec.quantization && spec.quantization->is_signed);
  if (reader.form != Form::one && reader.form != Form::dense)
    reader.walk = source.walk(steps.sizes, steps.strides);
  return reader;
}

// Elements of a thread: what the largest type allows.
std::int64_t width_of(const Problem& problem, std::span<const Operand> operands) {
  std::size_t largest = size_of(problem.outputs[0].type);
  for (const Operand& operand : operands)
    if (form_of(steps_of(problem, operand), 1) != Form::one)
      largest = std::max(largest, size_of(spec_of(problem, operand).type));
  return std::min(static_cast<std::int64_t>(kVectorBytes / largest), kMostElements);
}

// "f(number of operand 0, …)" for element `index`.
std::string call(const std::vector<Reader>& readers, const std::string& index) {
  std::string numbers;
  for (const Reader& reader : readers)
    numbers += (numbers.empty() ? "" : ", ") + reader.number(index);
  return fmt::format("f({})", numbers);
}

// Elements [first, first + width) at once.
std::string vector_body(const std::vector<Reader>& readers, const std::string& y,
                        const char* stored, std::int64_t width) {
  std::string body = fmt::format("Vector<{}, {}> to;\n", stored, width);
  std::string numbers;
  for (std::size_t n = 0; n < readers.size(); ++n) {
    const Reader& reader = readers[n];
    if (n > 0) numbers += ", ";
    if (reader.form == Form::single) {
      numbers += reader.number("first + k");
    } else if (reader.form == Form::one || reader.form == Form::row) {
      body += fmt::format("const {} v{} = {};\n", reader.type, n, reader.number("first"));
      numbers += fmt::format("v{}", n);
    } else {
      body += fmt::format("const Vector<{0}, {1}> v{2} = *(const Vector<{0}, {1}>*)({3} + {4});\n",
                          reader.stored, width, n, reader.data, reader.place("first"));
      numbers += fmt::format("get(v{}.at[k])", n);
    }
  }
  return body + fmt::format(
                    "#pragma unroll\n"
                    "for (int k = 0; k < {0}; ++k) put(to.at[k], f({1}));\n"
                    "*(Vector<{2}, {0}>*)({3} + first) = to;\n",
                    width, numbers, stored, y);
}

}  // namespace

Result<Operand> broadcast(const Problem& problem, std::size_t input) {
  const TensorSpec &from = problem.inputs[input], &to = problem.outputs[0];
  if (block_of(from.layout) != 1 || block_of(to.layout) != 1)
    return unsupported("layouts in blocks are not supported");
  Operand operand{input, std::vector<std::int64_t>(static_cast<std::size_t>(to.shape.rank()))};
  if (from.shape.elements() == 1) return operand;
  const int shift = to.shape.rank() - from.shape.rank();
  if (shift < 0) return unsupported("an operand has more dimensions than the output");
  const std::vector<std::int64_t> strides = memory_strides(from.shape, from.layout);
  for (int d = 0; d < from.shape.rank(); ++d) {
    if (from.shape[d] == 1) continue;
    if (from.shape[d] != to.shape[d + shift])
      return unsupported("an operand does not broadcast to the output");
    operand.strides[static_cast<std::size_t>(d + shift)] = strides[static_cast<std::size_t>(d)];
  }
  return operand;
}

Operand per_index(const Problem& problem, std::size_t input, int axis) {
  Operand operand{
      input, std::vector<std::int64_t>(static_cast<std::size_t>(problem.outputs[0].shape.rank()))};
  operand.strides[static_cast<std::size_t>(axis)] = 1;
  return operand;
}

Operand output_itself(const Problem& problem) {
  return {Operand::kOutput, memory_strides(problem.outputs[0].shape, problem.outputs[0].layout)};
}

std::string number(KernelSource& source, const Problem& problem, const Operand& operand,
                   const std::string& index) {
  return reader(source, problem, operand, 1).number(index);
}

Launch map(KernelSource& source, const Problem& problem, std::span<const Operand> operands,
           const std::string& function) {
  const TensorSpec& output = problem.outputs[0];
  const char* const stored =
      stored_type(output.type, output.quantization && output.quantization->is_signed);
  const std::int64_t count = output.shape.elements(), width = width_of(problem, operands);
  const std::string y = source.output(problem, 0);
  std::vector<Reader> readers;
  std::string parameters;
  for (const Operand& operand : operands) {
    readers.push_back(reader(source, problem, operand, width));
    parameters += fmt::format("{}{} x{}", readers.size() == 1 ? "" : ", ", readers.back().type,
                              readers.size() - 1);
  }
  const std::string f = fmt::format("const auto f = [&]({}) -> {} {{\n{}}};\n", parameters,
                                    number_type(output.type), function);
  if (width == 1)
    return source.launch_elements(f + fmt::format("put({}[i], {});\n", y, call(readers, "i")),
                                  count);
  source.add_function(kVector);
  const std::string end = source.index(count);
  return source.launch_elements(
      f + fmt::format("const Index first = i * {0};\n"
                      "if (first + {0} <= {1}) {{\n{2}}} else {{\n"
                      "for (Index j = first; j < {1}; ++j) put({3}[j], {4});\n}}\n",
                      width, end, vector_body(readers, y, stored, width), y, call(readers, "j")),
      (count + width - 1) / width);
}

int in_place_input(const Problem& problem) {
  for (std::uint32_t i = 0; i < problem.layer_inputs; ++i) {
    const TensorSpec &input = problem.inputs[i], &output = problem.outputs[0];
    if (input.present() && !input.constant && input.shape == output.shape &&
        input.type == output.type && input.layout == output.layout &&
        post_ops_allow_in_place(problem, static_cast<int>(i)))
      return static_cast<int>(i);
  }
  return -1;
}

}  // namespace softneuro::cuda
