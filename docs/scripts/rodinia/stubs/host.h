// What Rodinia's host code names of the C library, which NVRTC has not: none of it is called.
#pragma once
struct timeval {
    long tv_sec, tv_usec;
};
#define EXIT_SUCCESS 0
int gettimeofday(timeval *, void *);
int rand();
void srand(unsigned);
