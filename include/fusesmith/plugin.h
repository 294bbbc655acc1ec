/* The C ABI of a plug-in: kernels in a shared library that fusesmith judges with --candidate=plugin:PATH.so.
 * docs/plugin/README.md has a worked example.
 *
 * A plug-in exports the functions below with C linkage; fusesmith finds them by name. The header compiles as
 * C99 and as C++. It needs DLPack's header (Debian package libdlpack-dev); the layout of DLTensor is that of
 * all versions from 0.2 to 1.x.
 *
 * Process. The library is loaded into a process of its own, once. A plug-in that crashes or ends the process
 * fails the case at hand and is loaded again for the next one. What it prints to standard output goes to
 * standard error.
 *
 * Threads. All functions are called from one thread, one call at a time. With --jobs=N there are up to N
 * processes. A plug-in may use threads of its own, which must not access the tensors after
 * fusesmith_plugin_run has returned.
 *
 * Ownership. Arguments belong to fusesmith and are valid during the call. The exception is `graph`, which is
 * the same pointer and the same text in all calls for one graph, from fusesmith_plugin_supports until that is
 * called for the next graph; so a plug-in may parse a graph once, in fusesmith_plugin_supports. Texts that a
 * plug-in returns belong to the plug-in and must stay valid until its next call. They are UTF-8 and end with
 * a null character.
 *
 * Graph. A JSON object with the keys "graph", "types" and "options", which are those of the request "compile"
 * in docs/workers.md: the nodes with all their attributes, and the type of every value. There is no white
 * space between its tokens.
 */
#ifndef FUSESMITH_PLUGIN_H
#define FUSESMITH_PLUGIN_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes only if a plug-in that was built with an older header could not be called any more. */
#define FUSESMITH_PLUGIN_ABI_VERSION 1

#define FUSESMITH_PLUGIN_EXPORT __attribute__((visibility("default")))

/* DLDataType::code of a bool, whose elements are bytes 0 or 1. DLPack calls it kDLBool since version 0.8. The
 * other dtypes are f32, f16 (kDLFloat, 32 and 16 bits), bf16 (kDLBfloat, 16 bits) and i32 (kDLInt, 32 bits).
 */
#define FUSESMITH_PLUGIN_BOOL 6

/* An error text of fusesmith_plugin_run that begins with this is counted as `out_of_memory`, which is no
 * finding. */
#define FUSESMITH_PLUGIN_OUT_OF_MEMORY "out of memory"

/* Required. Returns FUSESMITH_PLUGIN_ABI_VERSION. Its name and type are the same in every version of the ABI.
 */
FUSESMITH_PLUGIN_EXPORT uint32_t fusesmith_plugin_abi_version(void);

/* Required. Called once for each graph. Returns NULL if the plug-in computes the graph, else the reason why
 * not, in one line; cases are counted by it. */
FUSESMITH_PLUGIN_EXPORT const char* fusesmith_plugin_supports(const char* graph);

/* Required. Computes one step of the graph of the last call of fusesmith_plugin_supports. Returns NULL, or an
 * error in one line, which is the verdict `crash`. Must not let a C++ exception escape; if one does, it
 * counts as an error.
 *
 * inputs   the graph's inputs, then its states, in the order of the graph. They must not be written.
 * outputs  the graph's outputs, then the next values of its states, each value once and no value that is an
 * input. They contain arbitrary bytes before the call, and every element must be written. stream   the
 * cudaStream_t on which a plug-in for kDLCUDA enqueues its work; fusesmith waits for the stream after the
 *          call. NULL for kDLCPU.
 *
 * Each tensor is contiguous and row-major, with strides that say so, a byte_offset of 0, and data that is
 * aligned to 256 bytes. A scalar has ndim 0. No dimension is 0. Between two calls, the addresses of the data
 * may change. */
FUSESMITH_PLUGIN_EXPORT const char* fusesmith_plugin_run(const char* graph, const DLTensor* inputs,
                                                         size_t input_count, const DLTensor* outputs,
                                                         size_t output_count, void* stream);

/* Optional. Returns the DLDeviceType of all tensors: kDLCPU, which is the default, or kDLCUDA. Called once,
 * before all functions but fusesmith_plugin_abi_version. The CUDA device is device 0; CUDA_VISIBLE_DEVICES
 * selects it. */
FUSESMITH_PLUGIN_EXPORT int32_t fusesmith_plugin_device_type(void);

/* Optional. Called once for each graph that is supported. Returns what the kernel may do that the graph does
 * not say, as the JSON object "contract" of docs/workers.md, or NULL for the default: any implicit rounding
 * may be left out, scalar functions, quotients and square roots have errors of at most 4 units of 2^-24, a
 * variance is computed by Welford's formula or in two passes, and a mean as a quotient or a sum of quotients.
 */
FUSESMITH_PLUGIN_EXPORT const char* fusesmith_plugin_contract(const char* graph);

#ifdef __cplusplus
}
#endif

#endif
