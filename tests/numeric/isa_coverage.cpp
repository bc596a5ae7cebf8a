// Which variants for instruction sets ran: counted by breakpoints, not believed.
//
// With SOFTNEURO_TEST_VARIANTS in the environment, every function that is in one of the
// namespaces baseline, avx2, avx512, avx512vnni… (see cmake/SoftNeuroIsa.cmake) gets a breakpoint
// at its beginning, which marks the function and goes away when it is reached. When all test cases
// are done, the program fails unless
// - of every table that a *.isa.cpp file makes, some function of this processor's variant ran,
//   unless only a sample of the problems did,
// - no function for a newer instruction set did (older ones are used by choice, too: a tile of 8
//   channels, a reference for rounding),
// - what may be used is what the operating system says of the processor, as far as
//   SOFTNEURO_MAX_ISA leaves it.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/isa_variants.h"
#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

constexpr unsigned char kBreakpoint = 0xCC;  // int3

struct Function {
  unsigned char* address = nullptr;
  std::string level;  // namespace
  std::string name;   // mangled
  unsigned char first = 0;
  std::atomic<bool>* ran = nullptr;
};

// A table of functions, kXOps of some level, or a function that is chosen by itself.
struct Choosable {
  std::string level, name;
  std::vector<unsigned char*> functions;
};

std::vector<Function> functions;  // by address
std::vector<Choosable> choosables;

// "avx2" of _ZN9softneuro4avx2…; empty for names outside of these namespaces.
std::string level_of(const std::string& mangled) {
  for (const IsaSet& set : kIsaSets) {
    const std::string name = set.name;
    if (mangled.find("N9softneuro" + std::to_string(name.size()) + name) != std::string::npos)
      return name;
  }
  return {};
}

const IsaSet& set_of(const std::string& level) {
  return *std::find_if(std::begin(kIsaSets), std::end(kIsaSets),
                       [&](const IsaSet& set) { return set.name == level; });
}

// "kFolds" of _ZN9softneuro4avx26kFoldsE, which is nothing but a namespace and that name; else "".
std::string simple_name(const std::string& mangled, const std::string& level) {
  const std::string prefix = "_ZN9softneuro" + std::to_string(level.size()) + level;
  if (mangled.rfind(prefix, 0) != 0) return {};
  char* end = nullptr;
  const std::size_t length = std::strtoul(mangled.c_str() + prefix.size(), &end, 10);
  const std::size_t at = static_cast<std::size_t>(end - mangled.c_str());
  const bool whole = length > 0 && at + length < mangled.size() && mangled[at + length] == 'E';
  return whole ? mangled.substr(at, length) : std::string();
}

// Where the program was loaded.
std::uintptr_t load_address() {
  std::uintptr_t address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<std::uintptr_t*>(result) = info->dlpi_addr;
        return 1;  // the first one is the program itself
      },
      &address);
  return address;
}

struct Symbol {
  std::string name;
  unsigned char* address = nullptr;
  std::size_t size = 0;
  int type = 0;
};

std::vector<Symbol> read_symbols() {
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), {}};
  const auto at = [&]<class T>(std::size_t offset, T value) {
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
  };
  const auto header = at(0, Elf64_Ehdr{});
  const std::uintptr_t base = load_address();
  std::vector<Symbol> symbols;
  for (unsigned s = 0; s < header.e_shnum; ++s) {
    const auto table = at(header.e_shoff + s * sizeof(Elf64_Shdr), Elf64_Shdr{});
    if (table.sh_type != SHT_SYMTAB) continue;
    const auto names = at(header.e_shoff + table.sh_link * sizeof(Elf64_Shdr), Elf64_Shdr{});
    for (std::size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = at(table.sh_offset + i * sizeof(Elf64_Sym), Elf64_Sym{});
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
      symbols.push_back({file.c_str() + names.sh_offset + symbol.st_name,
                         reinterpret_cast<unsigned char*>(base + symbol.st_value), symbol.st_size,
                         ELF64_ST_TYPE(symbol.st_info)});
    }
  }
  return symbols;
}

void find_functions(const std::vector<Symbol>& symbols) {
  static std::vector<std::atomic<bool>> marks(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    const std::string level = level_of(symbol.name);
    if (symbol.type != STT_FUNC || level.empty() || symbol.name.ends_with(".cold")) continue;
    functions.push_back({symbol.address, level, symbol.name, *symbol.address, &marks[i]});
    if (!simple_name(symbol.name, level).empty())
      choosables.push_back({level, simple_name(symbol.name, level), {symbol.address}});
  }
  std::sort(functions.begin(), functions.end(),
            [](const Function& a, const Function& b) { return a.address < b.address; });
}

Function* function_at(const unsigned char* address) {
  const auto found = std::lower_bound(
      functions.begin(), functions.end(), address,
      [](const Function& function, const unsigned char* a) { return function.address < a; });
  return found != functions.end() && found->address == address ? &*found : nullptr;
}

void find_tables(const std::vector<Symbol>& symbols) {
  for (const Symbol& symbol : symbols) {
    const std::string level = level_of(symbol.name);
    if (symbol.type != STT_OBJECT || level.empty()) continue;
    Choosable table{level, simple_name(symbol.name, level), {}};
    if (table.name.empty()) continue;
    for (std::size_t offset = 0; offset + sizeof(void*) <= symbol.size; offset += sizeof(void*)) {
      unsigned char* entry = nullptr;
      std::memcpy(&entry, symbol.address + offset, sizeof entry);
      if (function_at(entry) != nullptr) table.functions.push_back(entry);
    }
    if (!table.functions.empty()) choosables.push_back(std::move(table));
  }
}

// Any number of threads may be in here with the same breakpoint.
void on_breakpoint(int, siginfo_t*, void* context) {
  greg_t& next = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const Function* const function = function_at(reinterpret_cast<unsigned char*>(next) - 1);
  if (function == nullptr) {
    std::signal(SIGTRAP, SIG_DFL);  // not one of ours
    return;
  }
  function->ran->store(true, std::memory_order_relaxed);
  __atomic_store_n(function->address, function->first, __ATOMIC_SEQ_CST);
  --next;
}

void set_breakpoints() {
  const std::vector<Symbol> symbols = read_symbols();
  find_functions(symbols);
  find_tables(symbols);
  struct sigaction action {};
  action.sa_sigaction = on_breakpoint;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const Function& function : functions) {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(function.address) & ~(page - 1);
    if (mprotect(reinterpret_cast<void*>(begin), page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
      std::perror("breakpoints cannot be set here");
      std::_Exit(1);
    }
    *function.address = kBreakpoint;
  }
}

bool ran(const Choosable& choosable) {
  return std::any_of(choosable.functions.begin(), choosable.functions.end(),
                     [](const unsigned char* f) { return function_at(f)->ran->load(); });
}

// What this process should have found, by what the system says of the processor.
CpuFeatures expected_features() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line);
      flags = {std::istream_iterator<std::string>(words), {}};
    }
  const std::pair<CpuFeature, std::vector<std::string>> kFlags[] = {
      {CpuFeature::avx2, {"avx2", "fma", "f16c"}},
      {CpuFeature::avx512, {"avx512f", "avx512bw", "avx512dq", "avx512vl"}},
      {CpuFeature::avx_vnni, {"avx_vnni"}},
      {CpuFeature::avx512_vnni, {"avx512_vnni"}},
      {CpuFeature::avx512_bf16, {"avx512_bf16"}},
      {CpuFeature::avx512_fp16, {"avx512_fp16"}},
      {CpuFeature::amx_int8, {"amx_int8"}},
      {CpuFeature::amx_bf16, {"amx_bf16"}}};
  CpuFeatures found;
  for (const auto& [feature, names] : kFlags)
    if (std::all_of(names.begin(), names.end(), [&](const auto& f) { return flags.contains(f); }))
      found = found | CpuFeatures{feature};
  const char* const mask = std::getenv("SOFTNEURO_MAX_ISA");
  return closed(mask == nullptr ? found : found & allowed_features(mask));
}

// What is wrong, a line each; prints what ran.
std::vector<std::string> judge() {
  const CpuFeatures usable = usable_features();
  const std::string level = best_variant(usable).name;
  std::vector<std::string> faults;
  if (usable != expected_features())
    faults.push_back("routines take this processor for " + to_string(usable) + ", it is " +
                     to_string(expected_features()));
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts;  // functions: that ran, all
  for (const Function& function : functions) {
    counts[function.level].first += function.ran->load();
    ++counts[function.level].second;
    if (function.ran->load() && !usable.has(set_of(function.level).needs))
      faults.push_back("ran, but is newer than " + level + ": " + function.name);
  }
  for (const auto& [name, count] : counts)
    std::printf("%-12s %zu of %zu functions ran\n", name.c_str(), count.first, count.second);
  // Where the processor has VNNI, its functions come first.
  std::set<std::string> replaced;
  if (usable.has(isa::avx512vnni)) replaced = {"kInt8TileOps", "kQint8DepthwiseOps"};
  // What only products on these call.
  const bool has_tiles = SN_HAS_AMXBF16 && usable.has(isa::amxbf16);
  if (!has_tiles) replaced.insert("epilogue_store_float");
  if (!has_tiles && !(SN_HAS_AVX512BF16 && usable.has(isa::avx512bf16)))
    replaced.insert("epilogue_store_bfloat");
  if (!has_tiles && !(SN_HAS_AVX512FP16 && usable.has(isa::avx512fp16)))
    replaced.insert("epilogue_store_half");
  std::size_t chosen = 0;
  for (const Choosable& choosable : choosables) {
    const IsaSet& set = set_of(choosable.level);
    const bool wanted = choosable.level == level ? !replaced.contains(choosable.name)
                                                 : !set.is_variant && usable.has(set.needs);
    chosen += wanted;
    if (wanted && !ran(choosable) && problem_sample().one_in == 1)
      faults.push_back("never ran: " + choosable.level + "::" + choosable.name);
  }
  std::printf("%zu choices to be made for %s", chosen, level.c_str());
  for (const IsaSet& set : kIsaSets)
    if (!set.is_variant && usable.has(set.needs)) std::printf(", %s", set.name);
  std::printf("\n");
  if (chosen < 15) faults.push_back("the variants were not found in the program's symbols");
  return faults;
}

struct VariantsThatRan : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  static bool wanted() { return std::getenv("SOFTNEURO_TEST_VARIANTS") != nullptr; }
  void testRunStarting(const Catch::TestRunInfo&) override {
    if (wanted()) set_breakpoints();
  }
  void testRunEnded(const Catch::TestRunStats&) override {
    if (!wanted()) return;
    const std::vector<std::string> faults = judge();
    for (const std::string& fault : faults) std::printf("%s\n", fault.c_str());
    std::fflush(nullptr);
    if (!faults.empty()) std::_Exit(1);  // a listener has no say in the exit status
  }
};
CATCH_REGISTER_LISTENER(VariantsThatRan)

}  // namespace
}  // namespace softneuro::test
#endif
