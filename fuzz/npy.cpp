// Reads .npy files; what was read is written and read again.
#include "npy.h"

#include <unistd.h>

#include <cstring>

#include "core/base/error.h"
#include "one_run.h"
#include "support/temporary_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace softneuro;
  static const test::TemporaryFolder folder;
  const Result<Tensor> read = parse_npy({reinterpret_cast<const std::byte*>(data), size}, "input");
  if (!read.ok()) return 0;
  const std::string path = folder.file("again.npy");
  if (const Status status = write_npy(path, *read); !status.ok())
    fuzz::finding("read, but not written", status);
  const Result<Tensor> again = read_npy(path);
  if (!again.ok()) fuzz::finding("written, but not read", again.status());
  if (again->data_type() != read->data_type() || again->shape() != read->shape() ||
      (read->bytes() > 0 && std::memcmp(again->data(), read->data(), read->bytes()) != 0))
    fuzz::finding("another array was written",
                  invalid_argument("{} {}", to_string(again->data_type()), again->shape().str()));
  return 0;
}
