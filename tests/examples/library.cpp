// A library with the ABI of built ones, for the fake device of driver.c: it multiplies on the host.
// FAKE_FAULT=1 leaves the last element of D as it is.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cmath>

using tvm::ffi::TensorView;

static double number(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : 0;
  return half & 0x8000 ? -size : size;
}

static uint16_t half(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);
  const int bits = value != 0 ? (exponent + 14) << 10 | (int(fraction * 2048) & 1023) : 0;
  return static_cast<uint16_t>(bits | (value < 0 ? 0x8000 : 0));
}

static void gemm(TensorView a, TensorView b, TensorView d, int64_t clusters) {
  if (clusters != 132 / 2) TVM_FFI_THROW(ValueError) << "clusters: " << clusters;
  if (TVMFFIEnvGetStream(kDLCUDA, 0) != reinterpret_cast<void*>(0x5eed))
    TVM_FFI_THROW(ValueError) << "not the caller's stream";
  for (const TensorView& t : {a, b, d})
    if (t.device().device_type != kDLCUDA || t.dtype().bits != 16 || t.stride(1) != 1)
      TVM_FFI_THROW(ValueError) << "not a row-major float16 matrix on the device";
  const auto *left = static_cast<uint16_t*>(a.data_ptr()), *right = static_cast<uint16_t*>(b.data_ptr());
  auto* out = static_cast<uint16_t*>(d.data_ptr());
  const int64_t m = d.size(0), n = d.size(1), last = std::getenv("FAKE_FAULT") ? m * n - 1 : m * n;
  for (int64_t i = 0; i < last; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < a.size(1); ++k)
      sum += number(left[i / n * a.stride(0) + k]) * number(right[i % n * b.stride(0) + k]);
    out[i / n * d.stride(0) + i % n] = half(sum);
  }
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(gemm, gemm)
