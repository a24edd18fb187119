// What nvcc's headers define without being asked.
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
typedef unsigned int uint;
typedef unsigned short ushort;
