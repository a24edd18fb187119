//! Files that were written for nvcc, with headers and host code.
