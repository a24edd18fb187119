// Control flow, and kernels as people write them.
//
// Every kernel takes (out, in, a, b, c), two arrays of 4 MiB: `out` holds zeros, `in[i]` is s after
// s = s * 1664525 + 1013904223, i + 1 times from s = 2.
typedef unsigned u32;
typedef unsigned long long u64;

#define LANE (threadIdx.x & 31u)
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL(name) extern "C" __global__ void name(u32 *out, const u32 *in, u32 a, u32 b, u32 c)
#define ONCE _Pragma("unroll 1")

// Branches.
KERNEL(flow_guard) { u32 i = INDEX; if (i < a) out[i] = in[i]; }
KERNEL(flow_else) { u32 i = INDEX, v = in[i] >> 9; if (v % 3 == 0) { u32 x = in[i + 64]; out[i] = x * x + in[x & 1023]; } else { u32 y = in[i + 4096]; out[i + 65536] = y / 7 + in[y & 2047]; } out[i + 131072] = v; }
KERNEL(flow_nested) { u32 i = INDEX, v = in[i] >> 9; if (v & 1) { u32 x = in[v & 1023]; if (x & 64) { out[i] = in[x & 511] / (v | 1); out[i + 4096] = x; } else { out[i + 8192] = in[x & 255]; out[i + 12288] = x % 77; } out[i + 16384] = x; } out[i + 20480] = v; }
KERNEL(flow_return) { u32 i = INDEX, v = in[i] >> 9; if (v % 3 == 0) return; out[i] = v; if (v & 8) { u32 x = in[v & 8191]; out[i + 65536] = x; if (x & 128) return; out[i + 131072] = in[x & 1023]; } out[i + 196608] = in[v & 63]; }
KERNEL(flow_short_circuit) { u32 i = INDEX, v = in[i] >> 9; if ((v & 1) && (in[v & 1023] & 256) && (in[v & 2047] & 512)) { out[i] = in[i + 5] / 3; out[i + 4096] = in[i + 9]; } else { out[i + 8192] = in[i + 7] / 5; out[i + 12288] = in[i + 11]; } out[i + 16384] = v; }
KERNEL(flow_switch) { u32 i = INDEX, v = in[i] >> 9; switch (v & 7) { case 0: out[i] = in[v & 1023]; break; case 1: out[i + 4096] = in[v & 511] / 3; out[i] = v; break; case 2: out[i + 8192] = in[i + 3]; break; case 3: out[i + 12288] = 5; break; case 5: out[i + 16384] = in[2 * i]; out[i + 77] = 3; break; default: out[i + 20480] = v; } out[i + 24576] = v; }
KERNEL(flow_fall_through) { u32 i = INDEX, v = in[i] >> 9; switch (v % 5) { case 0: out[i] = in[v & 1023]; case 1: out[i + 4096] = in[v & 511] / 3; break; case 2: out[i + 8192] = in[i + 3]; case 3: out[i + 12288] = in[i + 6]; break; default: return; } out[i + 16384] = v; }
KERNEL(flow_select) { u32 i = INDEX, v = in[i]; out[i] = v & 512 ? v / 3 : v * 5; out[v & 1023] = v & 256 ? i : v; }

// Loops without volatile accesses.
KERNEL(loop_uniform) { u32 i = INDEX, s = 0; ONCE for (u32 j = 0; j < a; j++) { u32 v = in[i + 32 * j]; s += v; if (v & 1024) out[i + 4096 * j] = s / 3; } out[i] = s; }
KERNEL(loop_lanes) { u32 i = INDEX, s = 0, n = in[i] >> 28; ONCE for (u32 j = 0; j < n; j++) s += in[i + 32 * j]; out[i] = s; }
KERNEL(loop_do) { u32 i = INDEX, s = in[i] >> 8; ONCE do { s += in[s & 4095]; out[i + (s & 65535)] = s; } while (s & 0x30000); out[i] = s; }
KERNEL(loop_break) { u32 i = INDEX, s = 0; ONCE for (u32 j = 0; j < 24; j++) { u32 v = in[i + j * 32]; s += v; if ((v >> 10) % 7 == 0) break; out[i + 4096 + 4096 * j] = s; } out[i] = s; }
KERNEL(loop_continue) { u32 i = INDEX, s = 0; ONCE for (u32 j = 0; j < 24; j++) { u32 v = in[i + j * 32]; if ((v >> 14) & 1) continue; s += v; out[i + 4096 + 4096 * j] = s / 7; } out[i] = s; }
KERNEL(loop_return) { u32 i = INDEX, s = 0; ONCE for (u32 j = 0; j < 24; j++) { u32 v = in[i + j * 32]; s += v; if ((v >> 12) % 11 == 0) return; out[i + 4096 + 4096 * j] = s; } out[i] = s; }
KERNEL(loop_nested) { u32 i = INDEX, s = 0; ONCE for (u32 j = 0; j < 5; j++) { u32 n = in[i + 7 * j] >> 29; ONCE for (u32 k = 0; k < n; k++) { s += in[(i ^ k) + 1000]; out[i + 4096 * k] = s; } out[i + 65536] = s; } out[i] = s; }
KERNEL(loop_collatz) { u32 i = INDEX, n = 0, v = in[i] >> 20 | 1; ONCE while (v != 1) { v = v & 1 ? 3 * v + 1 : v >> 1; n++; } out[i] = n; }
KERNEL(loop_rows) { u32 i = INDEX, first = i * 11, last = first + (in[i] >> 27), s = 0; for (u32 j = first; j < last; j++) s += in[in[j] & 0xffff]; out[i] = s; }

// Loops with volatile accesses or atomics and an exit that depends on the lane.
KERNEL(spin_break) { u32 i = INDEX, s = 0; ONCE for (u32 j = 0; j < 24; j++) { u32 v = ((const volatile u32 *)in)[i + j * 32]; s += v; if ((v >> 10) % 7 == 0) break; out[i + 4096] = s; } out[i] = s; }
KERNEL(spin_lanes) { u32 i = INDEX, s = 0, n = in[i] >> 28; ONCE for (u32 j = 0; j < n; j++) s += ((const volatile u32 *)in)[i + 32 * j]; out[i] = s; }
KERNEL(spin_atomic) { u32 i = INDEX, n = in[i] >> 29, s = 0; ONCE for (u32 j = 0; j < n; j++) s += atomicAdd(out + 65536 + (i & 7), 1u); out[i] = s; }
KERNEL(spin_reduce) { u32 i = INDEX, n = in[i] >> 29; ONCE for (u32 j = 0; j < n; j++) atomicAdd(out + 65536 + (i & 7), 1u); out[i] = n; }
KERNEL(spin_uniform) { u32 i = INDEX, s = 0; ONCE for (u32 j = 0; j < a; j++) s += ((const volatile u32 *)in)[i + 32 * j]; out[i] = s; }

// Accesses that ptxas joins, drops or moves.
KERNEL(join_shared_loads) { __shared__ __align__(16) u32 s[256]; u32 t = threadIdx.x; s[t] = in[t]; __syncthreads(); u32 k = (t & 31) * 4; out[INDEX] = s[k] ^ s[k + 1] * 3 ^ s[k + 2] * 5 ^ s[k + 3] * 7; }
KERNEL(join_shared_stores) { __shared__ __align__(16) u32 s[512]; u32 t = threadIdx.x; s[4 * t] = a; s[4 * t + 1] = b; s[4 * t + 2] = c; s[4 * t + 3] = t; __syncthreads(); out[INDEX] = s[(t * 33) & 255]; }
KERNEL(join_global_loads) { u32 i = 4 * INDEX; out[INDEX] = in[i] ^ in[i + 1] * 3 ^ in[i + 2] * 5 ^ in[i + 3] * 7; }
KERNEL(repeat_loads) { u32 i = INDEX; u32 v, w; asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(in + i)); asm volatile("ld.global.u32 %0, [%1];" : "=r"(w) : "l"(in + i)); out[i] = v + w; }
KERNEL(unused_load) { u32 i = INDEX; u32 v; asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(in + i)); out[i] = i; }
KERNEL(repeat_stores) { u32 i = INDEX; out[i] = a; asm volatile("" ::: "memory"); out[i] = b; }
KERNEL(forward_store) { u32 i = INDEX; out[i] = a * i; asm volatile("" ::: "memory"); out[i + 4096] = out[i] + 1; }

// Kernels as people write them.
KERNEL(plain_saxpy) { u32 i = INDEX; const float *x = (const float *)in; float *y = (float *)out; if (i < a) y[i] = 2.5f * x[i] + y[i]; }
KERNEL(plain_stride_loop) { float s = 0; for (u32 i = INDEX; i < a; i += gridDim.x * blockDim.x) s += ((const float *)in)[i]; ((float *)out)[INDEX] = s; }
KERNEL(plain_reduce) { __shared__ u32 s[128]; u32 t = threadIdx.x; s[t] = in[INDEX]; __syncthreads(); for (u32 d = blockDim.x / 2; d > 0; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); } if (t == 0) atomicAdd(out, s[0]); }
KERNEL(plain_reduce_doubles) { __shared__ double s[128]; u32 t = threadIdx.x; s[t] = in[INDEX]; __syncthreads(); for (u32 d = blockDim.x / 2; d > 0; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); } if (t == 0) ((double *)out)[blockIdx.x] = s[0]; }
KERNEL(plain_shuffle) { u32 v = in[INDEX]; for (u32 d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d); if (LANE == 0) atomicAdd(out, v); }
KERNEL(plain_transpose) { __shared__ u32 s[32][32]; u32 x = threadIdx.x & 31, y = threadIdx.x >> 5; s[y][x] = in[blockIdx.x * 1024 + threadIdx.x]; for (u32 k = y + 4; k < 32; k += 4) s[k][x] = in[blockIdx.x * 1024 + 32 * k + x]; __syncthreads(); for (u32 k = y; k < 32; k += 4) out[blockIdx.x * 1024 + 32 * k + x] = s[x][k]; }
KERNEL(plain_padded) { __shared__ u32 s[32][33]; u32 x = threadIdx.x & 31, y = threadIdx.x >> 5; for (u32 k = y; k < 32; k += 4) s[k][x] = in[blockIdx.x * 1024 + 32 * k + x]; __syncthreads(); for (u32 k = y; k < 32; k += 4) out[blockIdx.x * 1024 + 32 * k + x] = s[x][k]; }
KERNEL(plain_bodies) { __shared__ float4 s[128]; float4 me = ((const float4 *)in)[INDEX]; float f = 0; for (u32 tile = 0; tile < a; tile++) { s[threadIdx.x] = ((const float4 *)in)[tile * 128 + threadIdx.x]; __syncthreads(); for (u32 j = 0; j < 128; j++) { float4 o = s[j]; float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z; f += o.w * (dx * dx + dy * dy + dz * dz); } __syncthreads(); } ((float *)out)[INDEX] = f; }
KERNEL(plain_matmul) { __shared__ float s[16][16], t[16][16]; u32 x = threadIdx.x & 15, y = threadIdx.x >> 4; float f = 0; for (u32 k = 0; k < a; k++) { s[y][x] = ((const float *)in)[(blockIdx.x * 16 + y) * 64 + 16 * k + x]; t[y][x] = ((const float *)in)[4096 + (16 * k + y) * 64 + x]; __syncthreads(); for (u32 j = 0; j < 16; j++) f += s[y][j] * t[j][x]; __syncthreads(); } ((float *)out)[(blockIdx.x * 16 + y) * 64 + x] = f; }
KERNEL(plain_stencil) { u32 i = INDEX + 64; const float *x = (const float *)in; ((float *)out)[i] = 0.25f * (x[i - 1] + x[i + 1] + x[i - 64] + x[i + 64]) + x[i]; }
KERNEL(plain_histogram) { __shared__ u32 s[64]; u32 t = threadIdx.x; if (t < 64) s[t] = 0; __syncthreads(); for (u32 i = INDEX; i < a; i += gridDim.x * blockDim.x) atomicAdd(&s[in[i] >> 26], 1u); __syncthreads(); if (t < 64) atomicAdd(out + t, s[t]); }
KERNEL(plain_histogram_floats) { __shared__ float s[64]; u32 t = threadIdx.x; if (t < 64) s[t] = 0; __syncthreads(); for (u32 i = INDEX; i < a; i += gridDim.x * blockDim.x) atomicAdd(&s[in[i] >> 26], 1.0f); __syncthreads(); if (t < 64) atomicAdd((float *)out + t, s[t]); }
KERNEL(plain_scan) { __shared__ u32 s[128]; u32 t = threadIdx.x, v = in[INDEX]; s[t] = v; __syncthreads(); for (u32 d = 1; d < 128; d *= 2) { u32 w = t >= d ? s[t - d] : 0; __syncthreads(); v += w; s[t] = v; __syncthreads(); } out[INDEX] = v; }
KERNEL(plain_compact) { u32 i = INDEX, v = in[i]; if (v & 0x10000) out[4096 + atomicAdd(out, 1u)] = v; }
KERNEL(plain_columns) { __shared__ double s[32][32]; u32 x = threadIdx.x & 31, y = threadIdx.x >> 5; for (u32 k = y; k < 32; k += 4) s[k][x] = in[32 * k + x]; __syncthreads(); double f = 0; for (u32 k = y; k < 32; k += 4) f += s[x][k]; ((double *)out)[INDEX] = f; }
KERNEL(plain_gather) { u32 i = INDEX; out[i] = in[in[i] & 0xfffff]; }
KERNEL(plain_scatter) { u32 i = INDEX; out[in[i] & 0xfffff] = i; }
KERNEL(plain_bytes) { u32 i = INDEX; ((unsigned char *)out)[i] = ((const unsigned char *)in)[i] + 1; }
KERNEL(plain_float4) { u32 i = INDEX; float4 v = ((const float4 *)in)[i]; v.x += 1; v.w *= 2; ((float4 *)out)[i] = v; }
KERNEL(plain_mandel) { u32 i = INDEX, n = 0; float x = (i & 31) * 0.1f - 2, y = (i >> 5) * 0.02f - 1, u = 0, v = 0; ONCE while (u * u + v * v < 4 && n < 50) { float w = u * u - v * v + x; v = 2 * u * v + y; u = w; n++; } out[i] = n; }
KERNEL(plain_search) { u32 i = INDEX, key = in[i] >> 12, low = 0, high = 4096; while (low < high) { u32 mid = (low + high) / 2; if (in[mid] >> 12 < key) low = mid + 1; else high = mid; } out[i] = low; }
