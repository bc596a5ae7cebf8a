// softneuro_differential: runs models that arrive on standard input, one after the other, and
// writes their outputs to standard output. A process for each of thousands of small models would
// take most of the time.
//
// Numbers are little-endian; a text or a block of bytes is its length (32 bits) and its bytes.
//   request  options (text: "KEY=VALUE" by spaces), model (block), number of inputs (32 bits),
//            and for each its name and tensor
//   tensor   data type (text), rank (32 bits), dimensions (64 bits each), elements (block)
//   response what went wrong (text; empty: nothing), number of outputs (32 bits; 0 if something
//            did), and for each its name and tensor
// Options: threads=N; tune=SCHEMA,SCHEMA; seconds=S of tuning; calibrate=1: the inputs are the
// samples, too.
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/element.h"
#include "core/base/error.h"
#include "softneuro/net.h"

namespace softneuro::test {
namespace {

constexpr std::uint32_t kMostBytes = 1u << 30;
constexpr std::uint32_t kMostItems = 4096;

bool read_bytes(void* to, std::size_t bytes) {
  return std::fread(to, 1, bytes, stdin) == bytes;
}

template <class T>
bool read_number(T& number) {
  return read_bytes(&number, sizeof number);
}

bool read_text(std::string& text) {
  std::uint32_t size = 0;
  if (!read_number(size) || size > kMostBytes) return false;
  text.resize(size);
  return read_bytes(text.data(), size);
}

template <class T>
void write_number(T number) {
  std::fwrite(&number, sizeof number, 1, stdout);
}

void write_block(const void* data, std::size_t bytes) {
  write_number(static_cast<std::uint32_t>(bytes));
  std::fwrite(data, 1, bytes, stdout);
}

void write_text(const std::string& text) {
  write_block(text.data(), text.size());
}

Result<DataType> data_type(const std::string& name) {
  for (int code = 0; code < kDataTypeCount; ++code)
    if (name == to_string(static_cast<DataType>(code))) return static_cast<DataType>(code);
  return invalid_argument("there is no data type '{}'", name);
}

struct Request {
  std::map<std::string, std::string> options;
  std::string model;
  NamedTensors inputs;
};

Result<Tensor> read_tensor() {
  const Status cut = invalid_argument("the request ends too early");
  std::string type, bytes;
  std::uint32_t rank = 0;
  if (!read_text(type) || !read_number(rank) || rank > kMaxRank) return cut;
  std::vector<std::int64_t> dims(rank);
  for (std::int64_t& dim : dims)
    if (!read_number(dim)) return cut;
  if (!read_text(bytes)) return cut;
  SN_ASSIGN_OR_RETURN(const DataType element, data_type(type));
  SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(element, Shape(dims)));
  if (tensor.bytes() != bytes.size())
    return invalid_argument("{} bytes for {}", bytes.size(), tensor.shape().str());
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

// not_found: the input has ended.
Result<Request> read_request() {
  Request request;
  std::string options;
  if (!read_text(options)) return Status(StatusCode::not_found, "");
  std::istringstream words(options);
  for (std::string word; words >> word;)
    if (const std::size_t at = word.find('='); at != std::string::npos)
      request.options[word.substr(0, at)] = word.substr(at + 1);
  std::uint32_t count = 0;
  if (!read_text(request.model) || !read_number(count) || count > kMostItems)
    return Status(StatusCode::io_error, "the request ends too early");
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name;
    if (!read_text(name)) return Status(StatusCode::io_error, "the request ends too early");
    SN_ASSIGN_OR_RETURN(Tensor tensor, read_tensor());
    request.inputs[name] = std::move(tensor);
  }
  return request;
}

Status tune(Net& net, const Request& request, const std::string& schemas) {
  TuneOptions options;
  options.schemas.clear();
  std::istringstream list(schemas);
  for (std::string schema; std::getline(list, schema, ',');) options.schemas.push_back(schema);
  for (const auto& [name, tensor] : request.inputs) options.shapes[name] = tensor.shape();
  if (request.options.contains("calibrate")) options.calibration = {request.inputs};
  if (const auto seconds = request.options.find("seconds"); seconds != request.options.end())
    options.time_limit = std::chrono::milliseconds(
        static_cast<std::int64_t>(1e3 * std::atof(seconds->second.c_str())));
  options.cache.disabled = true;
  return net.tune(options).status();
}

Result<NamedTensors> run(const Request& request) {
  NetOptions options;
  const auto threads = request.options.find("threads");
  options.threads = threads == request.options.end() ? 1 : std::atoi(threads->second.c_str());
  SN_ASSIGN_OR_RETURN(Net net, Net::import_memory(request.model.data(), request.model.size(),
                                                  options, {.verify = true}));
  if (const auto schemas = request.options.find("tune"); schemas != request.options.end())
    if (Status status = tune(net, request, schemas->second); !status.ok())
      return std::move(status).with_context("tune");
  return net.run(request.inputs);
}

void write_response(const Result<NamedTensors>& outputs) {
  write_text(outputs.ok() ? "" : outputs.status().message());
  write_number(static_cast<std::uint32_t>(outputs.ok() ? outputs->size() : 0));
  if (outputs.ok())
    for (const auto& [name, tensor] : *outputs) {
      write_text(name);
      write_text(to_string(tensor.data_type()));
      write_number(static_cast<std::uint32_t>(tensor.shape().rank()));
      for (const std::int64_t dim : tensor.shape().dims()) write_number(dim);
      write_block(tensor.data(), tensor.bytes());
    }
  std::fflush(stdout);
}

int main() {
  for (;;) {
    const Result<Request> request = read_request();
    if (!request.ok()) {
      if (request.status().code() == StatusCode::not_found) return 0;
      std::fprintf(stderr, "softneuro_differential: %s\n", request.status().message().c_str());
      return 2;
    }
    write_response(run(*request));
  }
}

}  // namespace
}  // namespace softneuro::test

int main() {
  return softneuro::test::main();
}
