//! Kernels with a planted fault, and sound kernels that look like them, as users of gpuprof write
//! them. `../../faults.py` describes the comment above each kernel and how a kernel is launched.

pub mod faulty;
pub mod sound;
