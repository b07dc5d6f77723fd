// D = A @ B.T on a GPU, with a library that `gemmgen build` made: no Python, no CUDA toolkit.
//
//   gemm LIBRARY.so M N K      A (M, K), B (N, K), D (M, N), float16, row-major
//
// Exit status: 0 equal to the host's result, 1 refused or different, 2 usage, 3 no GPU here.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "device.hpp"

namespace ffi = tvm::ffi;
using ffi::json::Object;
using std::to_string;

Object read_manifest(const std::filesystem::path& library) {
  const auto path = std::filesystem::path(library).replace_extension(".json");
  std::ifstream file(path);
  if (!file) throw Stop{1, "no manifest at " + path.string() + ": copy it with its library"};
  std::stringstream text;
  text << file.rdbuf();
  const Object manifest = ffi::json::Parse(text.str()).cast<Object>();
  if (manifest["schema"].cast<int64_t>() != 2) throw Stop{1, path.string() + ": not schema 2"};
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(library, missing);
  if (missing || static_cast<int64_t>(bytes) != manifest["library_bytes"].cast<int64_t>())
    throw Stop{1, library.string() + " is not there whole: copy or build it again"};
  return manifest;
}

// What the library itself does not check: the sizes that the kernel takes.
void check_extents(const Object& manifest, const int64_t (&mnk)[3]) {
  const Object extents = manifest["extents"].cast<Object>();
  const char* names[] = {"m", "n", "k"};
  for (int i = 0; i < 3 && !extents.empty(); ++i) {
    const Object extent = extents[ffi::String(names[i])].cast<Object>();
    const auto get = [&](const char* key) { return extent[ffi::String(key)].cast<int64_t>(); };
    if (mnk[i] < get("min") || mnk[i] > get("max") || (mnk[i] - get("min")) % get("step"))
      throw Stop{1, std::string(names[i]) + " = " + to_string(mnk[i]) + ": this kernel takes " +
                        (get("min") == get("max") ? "only " + to_string(get("min"))
                                                  : to_string(get("min")) + " to " +
                                                        to_string(get("max")) + " in steps of " +
                                                        to_string(get("step")))};
  }
}

void run(const std::filesystem::path& library, const int64_t (&mnk)[3]) {
  const auto [m, n, k] = mnk;
  const Object manifest = read_manifest(library);
  check_extents(manifest, mnk);
  const ffi::Module module = ffi::Module::LoadFromFile(library.string());
  const auto gemm = module->GetFunction(manifest["function"].cast<ffi::String>()).value();

  const Driver driver;
  const std::string here =  // compute capability: attributes 75 and 76
      "sm_" + to_string(driver.attribute(75)) + to_string(driver.attribute(76)) + "a";
  const std::string arch = manifest["arch"].cast<ffi::String>();
  if (arch != here) throw Stop{1, library.string() + " is built for " + arch + ", not " + here};
  void *context = nullptr, *stream = nullptr;
  driver.call("cuDevicePrimaryCtxRetain", &context, 0);
  driver.call("cuCtxSetCurrent", context);
  driver.call("cuStreamCreate", &stream, 0u);  // one that waits for the copies before it
  TVMFFIEnvSetStream(kDLCUDA, 0, stream, nullptr);  // the stream that the library launches on

  Matrix a(driver, m, k), b(driver, n, k), d(driver, m, n);
  const auto left = fill(a, 1), right = fill(b, 2);
  d.halves.assign(d.halves.size(), 0xffff);  // NaN
  d.to_device();
  std::vector<ffi::AnyView> arguments{&a.tensor, &b.tensor, &d.tensor};
  int64_t clusters = driver.attribute(16);  // multiprocessors; these kernels keep one CTA on each
  for (const auto& ctas : manifest["cluster"].cast<ffi::Array<int64_t>>()) clusters /= ctas;
  if (manifest["parameters"].cast<ffi::json::Array>().size() == 4) arguments.push_back(clusters);
  ffi::Any nothing;
  gemm.CallPacked(arguments.data(), static_cast<int32_t>(arguments.size()), &nothing);
  driver.call("cuStreamSynchronize", stream);
  d.to_host();

  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      int sum = 0;
      for (int64_t i = 0; i < k; ++i) sum += left[row * k + i] * right[column * k + i];
      const uint16_t got = d.halves[row * n + column];
      if (got != half(sum) && !(sum == 0 && got == 0x8000))
        throw Stop{1, "D[" + to_string(row) + ", " + to_string(column) + "] is wrong"};
    }
  std::cout << library.string() << " on " << here << ": all " << m * n << " elements are right\n";
}

int main(int count, char** words) try {
  if (count != 5) throw Stop{2, "usage: gemm LIBRARY.so M N K"};
  int64_t mnk[3];
  for (int i = 0; i < 3; ++i) {
    std::istringstream word(words[i + 2]);
    if (!(word >> mnk[i]) || !word.eof() || mnk[i] < 1 || mnk[i] > 4096)
      throw Stop{2, std::string(words[i + 2]) + ": M, N and K are from 1 to 4096"};
  }
  run(std::filesystem::absolute(words[1]), mnk);
} catch (const Stop& stop) {
  std::cerr << stop.why << "\n";
  return stop.status;
} catch (const std::exception& error) {  // what tvm-ffi raises: a library that does not load, say
  std::cerr << error.what() << "\n";
  return 1;
}
