// A CUDA device without the CUDA toolkit: what the example needs of the driver, and matrices on it.
#pragma once

#include <dlfcn.h>
#include <dlpack/dlpack.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

struct Stop {  // ends the program with a sentence
  int status;
  std::string why;
};

// The CUDA driver's library comes with the driver: it is looked for when the program runs.
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    int devices = 0;
    if (!library_) throw Stop{3, "no GPU here: libcuda.so.1, the CUDA driver, cannot be loaded"};
    if (ask("cuInit", 0u) || ask("cuDeviceGetCount", &devices) || devices == 0)
      throw Stop{3, "no GPU here: the CUDA driver finds none"};
  }
  template <typename... Args>
  void call(const char* name, Args... args) const {
    if (int error = ask(name, args...))
      throw Stop{1, std::string(name) + " fails with CUDA error " + std::to_string(error)};
  }
  int attribute(int which) const {  // of device 0; numbers are those of CUdevice_attribute
    int value = 0;
    call("cuDeviceGetAttribute", &value, which, 0);
    return value;
  }

 private:
  template <typename... Args>
  int ask(const char* name, Args... args) const {
    auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library_, name));
    return function ? function(args...) : -1;
  }
  void* library_;
};

// float16 of a whole number below 2048, which it holds exactly
uint16_t half(int value) {
  const int size = std::abs(value);
  int exponent = 0;
  while (size >> (exponent + 1)) ++exponent;
  const int bits = size ? (exponent + 15) << 10 | ((size << (10 - exponent)) & 0x3ff) : 0;
  return static_cast<uint16_t>(bits | (value < 0 ? 0x8000 : 0));
}

struct Matrix {  // row-major: on the host as whole numbers, on the device as float16
  Matrix(const Driver& driver, int64_t rows, int64_t columns)
      : driver(driver), shape{rows, columns}, strides{columns, 1}, halves(rows * columns) {
    driver.call("cuMemAlloc_v2", &address, halves.size() * 2);
    tensor = DLTensor{reinterpret_cast<void*>(address), {kDLCUDA, 0}, 2, {kDLFloat, 16, 1},
                      shape,   strides,     0};
  }
  Matrix(const Matrix&) = delete;
  void to_device() { driver.call("cuMemcpyHtoD_v2", address, halves.data(), halves.size() * 2); }
  void to_host() { driver.call("cuMemcpyDtoH_v2", halves.data(), address, halves.size() * 2); }

  const Driver& driver;
  int64_t shape[2], strides[2];
  std::vector<uint16_t> halves;
  uint64_t address = 0;
  DLTensor tensor;
};

std::vector<int> fill(Matrix& matrix, uint32_t seed) {  // with -1, 0 and 1
  std::vector<int> numbers(matrix.halves.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers[i] = static_cast<int>((seed >> 16) % 3) - 1;
    matrix.halves[i] = half(numbers[i]);
  }
  matrix.to_device();
  return numbers;
}
