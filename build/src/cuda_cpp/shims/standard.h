// A header of the C++ standard library by CUDA's own.
#if __has_include(<cuda/std/HEADER>)
#include <cuda/std/HEADER>
namespace cuda { namespace std {} }
namespace std {
using namespace cuda::std;
}
#endif
