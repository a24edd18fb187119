// Whether a declaration fits a kernel. Every name has a prefix: it stands before the user's source,
// and is used behind it, where a macro may be called `N` or `list`.
#pragma once
template <class T, bool = __is_enum(T)> struct gpuprof_integer {
    static constexpr int code = 0;
};
template <class T> struct gpuprof_integer<T, true> {
    static constexpr int code = gpuprof_integer<__underlying_type(T)>::code;
};
#define GPUPROF_INTEGER(type, number) \
    template <> struct gpuprof_integer<type, false> { \
        static constexpr int code = number; \
    };
GPUPROF_INTEGER(signed char, -1)
GPUPROF_INTEGER(short, -2)
GPUPROF_INTEGER(int, -4)
GPUPROF_INTEGER(long, -8)
GPUPROF_INTEGER(long long, -8)
GPUPROF_INTEGER(unsigned char, 1)
GPUPROF_INTEGER(unsigned short, 2)
GPUPROF_INTEGER(unsigned int, 4)
GPUPROF_INTEGER(unsigned long, 8)
GPUPROF_INTEGER(unsigned long long, 8)
#undef GPUPROF_INTEGER
// A struct whose size and alignment in Rust are known.
template <class T, int Size, int Align> struct gpuprof_sized {};
template <class D, class C> struct gpuprof_alike {
    static constexpr bool value =
        gpuprof_integer<D>::code != 0 && gpuprof_integer<D>::code == gpuprof_integer<C>::code;
};
template <class T> struct gpuprof_alike<T, T> {
    static constexpr bool value = true;
};
// A char is what its bytes are.
template <> struct gpuprof_alike<signed char, char> {
    static constexpr bool value = true;
};
template <> struct gpuprof_alike<unsigned char, char> {
    static constexpr bool value = true;
};
template <class T, int Size, int Align> struct gpuprof_alike<gpuprof_sized<T, Size, Align>, T> {
    static constexpr bool value = sizeof(T) == Size && alignof(T) == Align;
};
template <class T> struct gpuprof_bare {
    using type = T;
    static constexpr bool constant = false;
};
template <class T> struct gpuprof_bare<const T> {
    using type = T;
    static constexpr bool constant = true;
};
template <class T> struct gpuprof_bare<volatile T> : gpuprof_bare<T> {};
template <class T> struct gpuprof_bare<const volatile T> : gpuprof_bare<const T> {};
// A class may consist of the declared numbers, by its size and its alignment, where those are known.
template <unsigned long Size> struct gpuprof_known {
    using type = void;
};
template <class D, class C, class = void> struct gpuprof_consists {
    static constexpr bool value = false;
};
template <class D, class C>
struct gpuprof_consists<D, C, typename gpuprof_known<sizeof(C)>::type> {
    static constexpr bool value = !__is_class(D) && (__is_class(C) || __is_union(C)) &&
                                  sizeof(C) % sizeof(D) == 0 && alignof(C) == alignof(D);
};
template <class D, class C> struct gpuprof_converts {
    static constexpr bool value = gpuprof_alike<D, C>::value || gpuprof_consists<D, C>::value;
};
// Bytes may be those of structs.
template <class C> struct gpuprof_converts<unsigned char, C> {
    static constexpr bool value =
        gpuprof_alike<unsigned char, C>::value || __is_class(C) || __is_union(C);
};
template <class C> struct gpuprof_converts<void, C> {
    static constexpr bool value = true;
};
// As in C, what is passed as `void *` may point to anything.
template <class D> struct gpuprof_converts<D, void> {
    static constexpr bool value = true;
};
template <> struct gpuprof_converts<unsigned char, void> {
    static constexpr bool value = true;
};
template <> struct gpuprof_converts<void, void> {
    static constexpr bool value = true;
};
template <class D, class C> struct gpuprof_pointee {
    static constexpr bool value =
        gpuprof_bare<D>::constant == gpuprof_bare<C>::constant &&
        gpuprof_converts<typename gpuprof_bare<D>::type, typename gpuprof_bare<C>::type>::value;
};
template <class D, class C> struct gpuprof_alike<D*, C*> : gpuprof_pointee<D, C> {};
template <class T> struct gpuprof_alike<T*, T*> {
    static constexpr bool value = true;
};
// A failure shows all arguments: the size of what the kernel takes too.
template <int Instance, int Index, int Size, int Align, class Declared, class Actual>
struct gpuprof_parameter {
    static_assert(gpuprof_alike<Declared, Actual>::value, "gpuprof");
    static constexpr bool checked = true;
};
template <int Instance, int Declared, int Actual> struct gpuprof_count {
    static_assert(Declared == Actual, "gpuprof");
    static constexpr bool checked = true;
};
template <class... Types> struct gpuprof_list {};
template <int Instance, int Index, class D, class C> struct gpuprof_walk {
    static constexpr bool checked = true;
};
template <int Instance, int Index, class D, class... Ds, class C, class... Cs>
struct gpuprof_walk<Instance, Index, gpuprof_list<D, Ds...>, gpuprof_list<C, Cs...>> {
    static constexpr bool checked =
        gpuprof_parameter<Instance, Index, sizeof(C), alignof(C), D, C>::checked &&
        gpuprof_walk<Instance, Index + 1, gpuprof_list<Ds...>, gpuprof_list<Cs...>>::checked;
};
template <int Instance, class... Ds> struct gpuprof_declared {
    template <class... Cs> static __device__ constexpr bool gpuprof_fits(void (*)(Cs...)) {
        return gpuprof_count<Instance, sizeof...(Ds), sizeof...(Cs)>::checked &&
               gpuprof_walk<Instance, 0, gpuprof_list<Ds...>, gpuprof_list<Cs...>>::checked;
    }
};
