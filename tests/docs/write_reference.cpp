// Writes the reference pages that follow from declarations in the code, or compares them with what
// is there:
//
//   softneuro_reference DOCS            writes DOCS/layer-types.md and DOCS/onnx-operators.md
//   softneuro_reference DOCS --check    exit status 1 if one of them would change
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/layers/builtin_layers.h"
#include "core/routine/registry.h"
#include "import/operator_uses.h"
#include "routines/builtin.h"

namespace softneuro::test {
namespace {

// Text in a Markdown paragraph or table cell.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

std::string code(std::string_view text) {
  return '`' + std::string(text) + '`';
}

// "2", "2 or 3", "1 to 5", "1 or more".
std::string count_of(int least, int most) {
  const std::string low = std::to_string(least);
  if (most < 0) return least == 0 ? "any number" : low + " or more";
  if (most == least) return low;
  return low + (most == least + 1 ? " or " : " to ") + std::to_string(most);
}

std::string fallback_of(const ParamSpec& spec) {
  if (spec.required) return "required";
  Params value;
  value.set("", spec.default_value);
  const std::string text = value.str().substr(1);  // without the name and with '='
  return text.empty() ? "empty" : code(text);
}

std::string value_inputs_of(const LayerType& type) {
  std::string list;
  for (const ValueInput& value : type.value_inputs)
    list += (list.empty() ? "" : ", ") + std::to_string(value.input);
  return list;
}

void write_properties(std::ostream& out, const LayerType& type) {
  if (const std::string inputs = value_inputs_of(type); !inputs.empty())
    out << "- Inputs whose *values* determine shapes or the computation: " << inputs
        << ". Where such a value is known only at run time, the layer is prepared then.\n";
  if (type.is_view) out << "- A view: the output is the input's memory under another shape.\n";
  if (type.reads_shape_only) out << "- Reads shapes only, and is computed when a plan is made.\n";
  if (type.data_dependent_output) out << "- Output shapes depend on data.\n";
  if (type.elementwise) out << "- Works element by element, and may run in place.\n";
  if (type.rounds_to_type)
    out << "- An output of float16 or bfloat16 keeps that type whatever schema is chosen: rounding "
           "is the layer's purpose.\n";
}

void write_params(std::ostream& out, const LayerType& type) {
  if (type.params.empty()) return;
  out << "\n| parameter | kind | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const ParamSpec& spec : type.params)
    out << "| " << code(spec.name) << " | " << to_string(spec.kind()) << " | " << fallback_of(spec)
        << " | " << escaped(spec.doc) << " |\n";
}

template <class Op>
void write_functions(std::ostream& out, int count) {
  out << "\nFunctions:";
  for (int i = 0; i < count; ++i)
    out << (i == 0 ? " " : ", ") << code(to_string(static_cast<Op>(i)));
  out << ".\n";
}

std::string layer_types_page(const Registry& registry) {
  const std::vector<const LayerType*> types = registry.layer_types().all();
  std::ostringstream out;
  out << "# Layer types\n\n"
         "What a layer of a net can be: its meaning, inputs, outputs and parameters. Importers\n"
         "turn model files into these layers ([ONNX operators](onnx-operators.md)),\n"
         "`softneuro inspect` lists those of a net, and plugins implement them\n"
         "([plugins.md](plugins.md)). Inputs and outputs are counted from 0. A parameter that a\n"
         "layer leaves out has its default.\n\n"
         "*Real* types are float32, float16, bfloat16, float64 and quantised tensors (qint8). A\n"
         "parameter of kind *integer* is an int64, *real* a float64, *text* a string; plurals are\n"
         "lists of them.\n\n"
         "This page is generated from the declarations in `src/core/layers/`. To write it anew:\n\n"
         "    ninja -C build/release softneuro_reference\n"
         "    build/release/bin/softneuro_reference docs\n\n";
  for (const LayerType* type : types)
    out << (type == types.front() ? "" : " · ") << '[' << type->name << "](#" << type->name << ')';
  out << '\n';
  for (const LayerType* type : types) {
    out << "\n## " << type->name << "\n\n" << escaped(type->doc) << "\n\n";
    out << "- " << count_of(type->inputs.min, type->inputs.max)
        << (type->inputs.max == 1 ? " input, " : " inputs, ")
        << count_of(type->outputs.min, type->outputs.max)
        << (type->outputs.max == 1 ? " output.\n" : " outputs.\n");
    write_properties(out, *type);
    write_params(out, *type);
    if (type->name == "unary") write_functions<UnaryOp>(out, kUnaryOpCount);
    if (type->name == "binary") write_functions<BinaryOp>(out, kBinaryOpCount);
  }
  return out.str();
}

std::string onnx_operators_page() {
  std::map<std::string_view, std::set<std::int64_t>> forms;
  for (const onnx::Operator& op : all_operators())
    forms[op.name].insert(std::max<std::int64_t>(op.since, onnx::kOldestOpset));
  std::ostringstream out;
  out << "# ONNX operators\n\n"
         "Every operator of the ONNX domain `ai.onnx` that the importer knows. [onnx.md](onnx.md)\n"
         "says which versions of models are read and what else is refused.\n\n"
         "This page is generated from the tables in `src/import/onnx/operators/`. To write it "
         "anew:\n\n"
         "    ninja -C build/release softneuro_reference\n"
         "    build/release/bin/softneuro_reference docs\n\n"
      << "## Imported: " << forms.size()
      << "\n\n"
         "*From* is the operator set from which on a form is read; several where newer sets\n"
         "changed the operator's inputs or attributes.\n\n"
         "| operator | from |\n| --- | --- |\n";
  for (const auto& [name, since] : forms) {
    out << "| " << name << " |";
    for (const std::int64_t opset : since) out << (opset == *since.begin() ? " " : ", ") << opset;
    out << " |\n";
  }
  std::map<std::string_view, std::string_view> reasons;
  for (const onnx::OperatorList list : onnx::operator_lists())
    for (const onnx::Operator& op : list())
      if (op.import == nullptr) reasons.emplace(op.name, op.detail);
  out << "\n## Refused: " << reasons.size() << "\n\n| operator | reason |\n| --- | --- |\n";
  for (const auto& [name, reason] : reasons)
    out << "| " << name << " | " << escaped(reason) << " |\n";
  return out.str();
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Where two texts depart: for a message.
int first_different_line(const std::string& a, const std::string& b) {
  int line = 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i)
    line += a[i] == '\n';
  return line;
}

bool is_current(const std::filesystem::path& path, const std::string& page) {
  const std::string present = read(path);
  if (present == page) return true;
  std::fprintf(stderr,
               "%s:%d is not what the declarations say. Write it anew:\n"
               "  build/release/bin/softneuro_reference docs\n",
               path.c_str(), first_different_line(present, page));
  return false;
}

int run(const std::filesystem::path& folder, bool check) {
  const Result<Registry> registry = make_builtin_registry();
  if (!registry.ok()) {
    std::fprintf(stderr, "%s\n", registry.status().message().c_str());
    return 1;
  }
  const std::pair<const char*, std::string> pages[] = {
      {"layer-types.md", layer_types_page(*registry)},
      {"onnx-operators.md", onnx_operators_page()},
  };
  int status = 0;
  for (const auto& [name, page] : pages) {
    const std::filesystem::path path = folder / name;
    if (check) {
      if (!is_current(path, page)) status = 1;
    } else if (!(std::ofstream(path, std::ios::binary) << page)) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      status = 1;
    }
  }
  return status;
}

}  // namespace
}  // namespace softneuro::test

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string_view(argv[2]) == "--check";
  if (argc != 2 && !check) {
    std::fprintf(stderr, "usage: softneuro_reference DOCS [--check]\n");
    return 2;
  }
  return softneuro::test::run(argv[1], check);
}
