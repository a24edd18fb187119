// Kernels with awkward counters. Each takes (out, in), two arrays of 4 MiB: `out` holds zeros, `in[i]` is s after
// s = s * 1664525 + 1013904223, i + 1 times from s = 2.
typedef unsigned u; typedef unsigned long long ull;
#define LANE (threadIdx.x&31u)
__device__ __forceinline__ u sa(const void*p){return (u)__cvta_generic_to_shared(p);}
__device__ __forceinline__ u lds32(u a){u r; asm volatile("ld.volatile.shared.u32 %0,[%1];":"=r"(r):"r"(a):"memory"); return r;}
__device__ __forceinline__ u lds8(u a){u r; asm volatile("ld.volatile.shared.u8 %0,[%1];":"=r"(r):"r"(a):"memory"); return r;}
__device__ __forceinline__ u lds16(u a){unsigned short r; asm volatile("ld.volatile.shared.u16 %0,[%1];":"=h"(r):"r"(a):"memory"); return r;}
__device__ __forceinline__ u lds64(u a){u x,y; asm volatile("ld.volatile.shared.v2.u32 {%0,%1},[%2];":"=r"(x),"=r"(y):"r"(a):"memory"); return x^y;}
__device__ __forceinline__ u lds128(u a){u x,y,z,w; asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(x),"=r"(y),"=r"(z),"=r"(w):"r"(a):"memory"); return x^y^z^w;}
__device__ __forceinline__ void sts8(u a,u v){asm volatile("st.volatile.shared.u8 [%0],%1;"::"r"(a),"r"(v):"memory");}
__device__ __forceinline__ void sts32(u a,u v){asm volatile("st.volatile.shared.u32 [%0],%1;"::"r"(a),"r"(v):"memory");}
__device__ __forceinline__ void sts64(u a,u v){asm volatile("st.volatile.shared.v2.u32 [%0],{%1,%1};"::"r"(a),"r"(v):"memory");}
__device__ __forceinline__ void sts128(u a,u v){asm volatile("st.volatile.shared.v4.u32 [%0],{%1,%1,%1,%1};"::"r"(a),"r"(v):"memory");}
__device__ __forceinline__ u ldg32(const void*p){u r; asm volatile("ld.volatile.global.u32 %0,[%1];":"=r"(r):"l"(p):"memory"); return r;}
__device__ __forceinline__ u ldg8(const void*p){u r; asm volatile("ld.volatile.global.u8 %0,[%1];":"=r"(r):"l"(p):"memory"); return r;}
__device__ __forceinline__ u ldg64(const void*p){u x,y; asm volatile("ld.volatile.global.v2.u32 {%0,%1},[%2];":"=r"(x),"=r"(y):"l"(p):"memory"); return x^y;}
__device__ __forceinline__ u ldg128(const void*p){u x,y,z,w; asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(x),"=r"(y),"=r"(z),"=r"(w):"l"(p):"memory"); return x^y^z^w;}
__device__ __forceinline__ void stg8(void*p,u v){asm volatile("st.volatile.global.u8 [%0],%1;"::"l"(p),"r"(v):"memory");}
__device__ __forceinline__ void stg16(void*p,u v){asm volatile("st.volatile.global.u16 [%0],%1;"::"l"(p),"h"((unsigned short)v):"memory");}
__device__ __forceinline__ void stg64(void*p,u v){asm volatile("st.volatile.global.v2.u32 [%0],{%1,%1};"::"l"(p),"r"(v):"memory");}
__device__ __forceinline__ void stg128(void*p,u v){asm volatile("st.volatile.global.v4.u32 [%0],{%1,%1,%1,%1};"::"l"(p),"r"(v):"memory");}
#define FILL(s,n) for(u i_=threadIdx.x;i_<(n)/4;i_+=blockDim.x) sts32(sa(s)+4*i_,i_*2654435761u); __syncthreads();
extern "C" {
__global__ void t01_sh128_partial(u*out,const u*in){ __shared__ __align__(16) unsigned char s[4096]; FILL(s,4096) u l=LANE,b=sa(s),r=0;
 if(l%3==0) r^=lds128(b+16*l); if(l<5) r^=lds128(b+16*l); if(l&1) r^=lds128(b+16*(l>>1)); r^=lds128(b+32*l); if(l<16) r^=lds128(b+16*(l^1)); r^=lds128(b+(l==31?512:0)); r^=lds128(b+64*(l&7)); r^=lds128(b+16*(l>>2)); r^=lds128(b+16*(l&3)); if(l>=9&&l<23) r^=lds128(b+128*(l&15)); if(l==17) r^=lds128(b+48);
 out[blockIdx.x*blockDim.x+threadIdx.x]=r; }
__global__ void t02_sh64_partial(u*out,const u*in){ __shared__ __align__(16) unsigned char s[8192]; FILL(s,8192) u l=LANE,b=sa(s),r=0;
 if(l%3==0) r^=lds64(b+8*l); if(l<17) r^=lds64(b+8*l); if(l&1) r^=lds64(b+8*(l>>1)); r^=lds64(b+16*l); if(l>=16) r^=lds64(b+8*(l^1)); r^=lds64(b+(l==31?256:0)); r^=lds64(b+128*(l&3)); r^=lds64(b+8*(l>>1)); r^=lds64(b+8*(l&7)); if(l>=5&&l<30) r^=lds64(b+128*l); r^=lds64(b+8*(l%5)); r^=lds64(b+(l<16?8*l:256+8*l)); r^=lds64(b+(l&1?8*l:128+8*l));
 out[blockIdx.x*blockDim.x+threadIdx.x]=r; }
__global__ void t03_sh_bytes(u*out,const u*in){ __shared__ __align__(16) unsigned char s[4096]; FILL(s,4096) u l=LANE,b=sa(s),r=0;
 r^=lds8(b+l); r^=lds8(b+4*l+(l&3)); r^=lds8(b+128*(l&7)+(l>>3)); r^=lds8(b+(l&3)); r^=lds8(b+33*l); r^=lds16(b+2*l); r^=lds16(b+64*l); r^=lds16(b+(l&1)*2); if(l&1) r^=lds8(b+127*l); __syncwarp();
 out[blockIdx.x*blockDim.x+threadIdx.x]=r; }
__global__ void t04_sh_st_wide(u*out,const u*in){ __shared__ __align__(16) unsigned char s[8192]; FILL(s,8192) u l=LANE,b=sa(s)+(threadIdx.x>>5)*4096;
 sts128(b+16*l,l); __syncwarp(); if(l%3==0) sts128(b+16*l,l); __syncwarp(); sts128(b+32*l,l); __syncwarp(); sts64(b+8*l,l); __syncwarp(); if(l>5&&l<29) sts64(b+8*l,l); __syncwarp(); sts64(b+16*l,l); __syncwarp(); sts64(b+128*(l&15),7); __syncwarp(); sts128(b,9); __syncwarp(); sts64(b+8*(l>>2),3); __syncwarp(); sts128(b+16*(l>>1),3); __syncwarp(); sts32(b+4*(l&1),5); __syncwarp(); sts8(b+l,l); __syncwarp(); sts8(b+(l&3),6); __syncwarp(); sts8(b+128*(l&7)+(l&1),6); __syncthreads();
 out[blockIdx.x*blockDim.x+threadIdx.x]=lds32(b+4*l); }
__global__ void t06_sh_atomics(u*out,const u*in){ __shared__ u s[256]; __shared__ ull q[64]; u t=threadIdx.x,l=LANE; s[t]=0; s[t+128]=1; if(t<64) q[t]=0; __syncthreads(); u r=0;
 atomicAdd(&s[0],1u); atomicAdd(&s[l],1u); r+=atomicAdd(&s[t&15],2u); atomicMax(&s[(l*32)&255],t); r+=atomicCAS(&s[l+64],0u,l+1); r+=atomicExch(&s[l+96],l+1); if(l%3==1) atomicAdd(&q[l],5ull); r+=(u)atomicAdd(&q[0],1ull); if(l<7) atomicOr(&s[200],1u<<l); atomicInc(&s[201],77u); __syncthreads();
 out[blockIdx.x*blockDim.x+t]=(r==0xffffffffu)+s[t]; }
__global__ void t11_early_return(u*out,const u*in){ u i=blockIdx.x*blockDim.x+threadIdx.x; u v=in[i]; if((v>>9)%3==0) return; out[i]=v; if(threadIdx.x<40) { if((v>>13)&1) return; out[i+(1<<18)]=in[i+4096]; } __syncwarp(__activemask()); u z=in[(v>>8)&0xffff]; if(z&0x10000) return; out[i+(1<<19)]=z+in[i+1]; }
__global__ void t12_loop_break(u*out,const u*in){ u i=blockIdx.x*blockDim.x+threadIdx.x,s=0;
 #pragma unroll 1
 for(u j=0;j<24;j++){ u v=((const volatile u*)in)[i+j*32]; s+=v; if((v>>10)%7==0) break; if((v>>14)&1) continue; ((volatile u*)out)[i+(1<<18)]=s; }
 out[i]=s; }
__global__ void t14_cp_async(u*out,const u*in){ __shared__ __align__(16) unsigned char s[8192]; FILL(s,8192) u l=LANE,t=threadIdx.x,b=sa(s); const char*p=(const char*)in+blockIdx.x*4096;
 asm volatile("cp.async.ca.shared.global [%0],[%1],4;"::"r"(b+4*t),"l"(p+4*t):"memory"); asm volatile("cp.async.wait_all;":::"memory"); __syncthreads();
 asm volatile("cp.async.ca.shared.global [%0],[%1],8;"::"r"(b+8*t),"l"(p+8+8*t):"memory"); asm volatile("cp.async.wait_all;":::"memory"); __syncthreads();
 if(l%3!=0) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(b+16*t),"l"(p+32*t):"memory"); asm volatile("cp.async.wait_all;":::"memory"); __syncthreads();
 asm volatile("cp.async.ca.shared.global [%0],[%1],16,%2;"::"r"(b+16*t),"l"(p+16*t),"r"(l<8?0:12):"memory"); asm volatile("cp.async.wait_all;":::"memory"); __syncthreads();
 out[blockIdx.x*blockDim.x+t]=lds32(b+4*t); }
__global__ void t18_switch(u*out,const u*in){ u i=blockIdx.x*blockDim.x+threadIdx.x; u v=in[i]>>12; volatile u*o=out; switch(v%6){ case 0: o[i]=1; case 1: o[i+65536]=ldg32(in+i+5); break; case 2: if(v&64) { o[i]=3; break; } case 3: o[i+131072]=ldg32(in+2*i); break; case 4: return; default: o[i]=ldg32(in+(v&1023)); } o[i+196608]=v; }
__global__ void t19_nested(u*out,const u*in){ u i=blockIdx.x*blockDim.x+threadIdx.x,s=0; volatile u*o=out;
 #pragma unroll 1
 for(u a=0;a<5;a++){ u n=(ldg32(in+i+a*7)>>11)&3;
  #pragma unroll 1
  for(u b=0;b<n;b++){ u v=ldg32(in+(i^b)+1000); if((v>>12)%5==0) goto next; if((v>>12)%41==1) return; s+=v; o[i+b*32768]=s; }
  if(s&0x4000) continue; o[i+200000]=s; next:; }
 out[i+300000]=s; }
}
