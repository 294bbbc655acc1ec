/* The C interface of libfusesmith: judges tensors that exist already against what floating point allows.
 * docs/tensors.md has an example, and says what a verdict means.
 *
 * Nothing is run: the caller says what was to be computed (the graph of a case file), on which inputs, and
 * what a kernel returned for them. The header compiles as C99 and as C++. It needs DLPack's header (Debian
 * package libdlpack-dev); the layout of DLTensor is that of all versions from 0.2 to 1.x.
 *
 * Threads. All functions may be called from several threads at the same time.
 */
#ifndef FUSESMITH_CHECK_H
#define FUSESMITH_CHECK_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes only if a program that was built with an older header could not call the library any more. */
#define FUSESMITH_CHECK_ABI_VERSION 1

#define FUSESMITH_CHECK_EXPORT __attribute__((visibility("default")))

/* What a kernel received and returned. The tensors are those of the graph, with its types: first its inputs,
 * then its states; first its outputs, then the next values of its states, each value once and none
 * that is an input or a state. They are in memory of the host
 * (kDLCPU or kDLCUDAHost) and may have any strides; strides that are NULL are row-major. None is written or
 * kept.
 *
 * Dtypes are f32, f16 (kDLFloat, 32 and 16 bits), bf16 (kDLBfloat, 16 bits), i32 (kDLInt, 32 bits) and bool
 * (code 6, 8 bits). Elements of quantized dtypes are bytes (kDLUInt or kDLInt, 8 bits) that contain their
 * codes, or have DLPack's codes of 8-bit floats: 10 for f8e4m3 (e4m3fn), 12 for f8e5m2 and 14 for f8e8m0
 * (e8m0fnu). A code of f4e2m1 or s4 is in the lower four bits of a byte.
 */
typedef struct fusesmith_call {
  const DLTensor* inputs;
  size_t input_count;
  const DLTensor* outputs;
  size_t output_count;
} fusesmith_call;

FUSESMITH_CHECK_EXPORT uint32_t fusesmith_check_abi_version(void);

/* Judges calls of one graph, each alone.
 *
 * `graph` is the text of a case file (docs/case.md). Its fills are not used, but as in every case file, those
 * of indices have to be in range, and distinct where an op requires it.
 *
 * `options` is NULL, or a JSON object with any of these keys.
 *
 * - "contract": what the kernel declares about its arithmetic (docs/workers.md), in place of what is granted
 * to every function (docs/python.md).
 *
 * - "elements": "sample", the default, or "all". Of results whose exact values cost much, a sample is judged.
 *
 * - "explain": true, the default: of a wrong result, which arithmetic would give it, and which deviations a
 * right one needs. This takes several times as long.
 *
 * - "kernel": what sentences call the kernel.
 *
 * - "threads": how many calls are judged at a time; 0, the default: as many as the machine has processors.
 *
 * Returns a JSON object, which fusesmith_check_free releases; NULL if there is no memory for it. It has the
 * member "error", a line that says what is wrong with the graph or the options, or "results", a list with an
 * object for each call: {"error": ...} if the tensors do not fit the graph, else "ok" (whether the result is
 * right), "verdict", "finding" (whether it is wrong), "sentence", and "regions" as in
 * docs/verdict.schema.json. A result that is neither right nor wrong is "inconclusive".
 */
FUSESMITH_CHECK_EXPORT char* fusesmith_check(const char* graph, const char* options,
                                             const fusesmith_call* calls, size_t call_count);

FUSESMITH_CHECK_EXPORT void fusesmith_check_free(char* json);

#ifdef __cplusplus
}
#endif

#endif
