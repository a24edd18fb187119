// NVRTC has built in what kernels use of it; host code that uses more of it does not compile.
#include <stdint.h>
