// Lets libFuzzer drive a fuzzer. With RAIN_FUZZ_SEEDS=FOLDER the program only writes its seeds there: the
// corpus that
// `./dev fuzz` starts from is made by code, because encoded packets in files would rot as the wire format
// grows.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fuzz/fuzz.h"

namespace {

void write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const rain::fuzz::Input& seed : rain::fuzz::seeds()) {
    std::ofstream file(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write the seeds to %s\n", folder.c_str());
      std::exit(2);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("RAIN_FUZZ_SEEDS")) {
    write_seeds(folder);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rain::fuzz::one_input(std::as_bytes(std::span(data, size)));
  return 0;
}
