/* A libcuda.so.1 for tests: FAKE_GPU=90 is one device of capability 9.0, whose memory is the
 * host's; without it there is no device. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int capability(void) { return atoi(getenv("FAKE_GPU") ? getenv("FAKE_GPU") : "0"); }

int cuInit(unsigned flags) { return capability() ? flags != 0 : 100; /* CUDA_ERROR_NO_DEVICE */ }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGetAttribute(int* value, int which, int device) {
  *value = which == 75 ? capability() / 10 : which == 76 ? capability() % 10 : 132;
  return device != 0 || (which != 75 && which != 76 && which != 16);
}
int cuDevicePrimaryCtxRetain(void** context, int device) { return *context = (void*)1, device; }
int cuCtxSetCurrent(void* context) { return context != (void*)1; }
int cuStreamCreate(void** stream, unsigned flags) { return *stream = (void*)0x5eed, flags != 0; }
int cuStreamSynchronize(void* stream) { return stream != (void*)0x5eed; }
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  return (*address = (uint64_t)malloc(bytes)) == 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  return memcpy((void*)to, from, bytes), 0;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  return memcpy(to, (void*)from, bytes), 0;
}
