// Warp-wide tensor core instructions (PTX ISA, "Matrix multiply-accumulate operation using mma instruction").
// Fragments: with g = lane / 4 and t = lane % 4, sum holds (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t
// + 1). A step is 32 bytes of the summed axis: 16 elements of 16 bits or 8 of tf32. Only .cu files include
// this.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace fusesmith::backends::device {

// sum += a b over one step; T names the type of a and b, float meaning tf32.
template <class T>
__device__ void mma(float* sum, const unsigned (&a)[4], unsigned b0, unsigned b1);
template <>
__device__ inline void mma<__half>(float* sum, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void mma<__nv_bfloat16>(float* sum, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void mma<float>(float* sum, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four matrices of 8 rows of 16 bytes in shared memory; lane 8 i + j names row j of matrix i. Each thread
// gets 4 bytes of each: number t of row g.
__device__ inline void load_matrices(unsigned (&to)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
// The same, 16-bit elements transposed: element g of rows 2 t and 2 t + 1.
__device__ inline void load_matrices_transposed(unsigned (&to)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// Rounds to the nearest tf32, ties away from zero; a finite number that would become infinite is truncated
// instead.
__device__ inline float to_tf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  const float rounded = __uint_as_float(bits);
  return isinf(rounded) ? __uint_as_float(__float_as_uint(x) & 0xffffe000u) : rounded;
}

// Two values rounded to a 16-bit type; the first is in the low half.
template <class T>
__device__ unsigned pack(float low, float high);
template <>
__device__ inline unsigned pack<__half>(float low, float high) {
  return __half_as_ushort(__float2half_rn(low)) |
         static_cast<unsigned>(__half_as_ushort(__float2half_rn(high))) << 16;
}
template <>
__device__ inline unsigned pack<__nv_bfloat16>(float low, float high) {
  return __bfloat16_as_ushort(__float2bfloat16_rn(low)) |
         static_cast<unsigned>(__bfloat16_as_ushort(__float2bfloat16_rn(high))) << 16;
}

}  // namespace fusesmith::backends::device
