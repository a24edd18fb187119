#!/usr/bin/env python3
"""Fits the polynomials of runtime/src/device/math/single.rs. Needs mpmath.

Output: for each polynomial its largest error on its interval and its coefficients, the constant one first, rounded to
f32 and as bits. Each interpolates at Chebyshev's nodes, which is within a small factor of the best fit.
"""

import struct

from mpmath import cos, exp, log, log1p, lu_solve, matrix, mp, mpf, nstr, pi, sin, sqrt, tanh

mp.dps = 80


def rounded(x):
    """The nearest f32."""
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def bits(x):
    """The bit pattern of an f32."""
    return f"0x{struct.unpack('I', struct.pack('f', float(x)))[0]:08x}"


def nodes(low, high, count):
    """Chebyshev's nodes of an interval."""
    return [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def fit(name, function, low, high, degree):
    """Prints the polynomial of `degree` for `function` between `low` and `high`."""
    count = degree + 1
    system, values = matrix(count, count), matrix(count, 1)
    for row, x in enumerate(nodes(low, high, count)):
        values[row] = function(x)
        for power in range(count):
            system[row, power] = x**power
    coefficients = [rounded(c) for c in lu_solve(system, values)]
    points = [low + (high - low) * mpf(i) / 2000 for i in range(2001)]
    error = max(abs(sum(c * x**k for k, c in enumerate(coefficients)) - function(x)) for x in points)
    print(f"{name}: within {nstr(error, 3)}")
    for c in coefficients:
        print(f"    {bits(c)}  {float(c)!r}")


def limit_at_zero(function, near=mpf("1e-15")):
    """`function`, and its limit where it divides by 0."""
    return lambda x: function(x if abs(x) > near else near)


def of_square(function):
    """An even `function` of x as one of x²."""
    return limit_at_zero(lambda square: function(sqrt(square)), mpf("1e-30"))


def parts(name, value):
    """Prints `value` as a sum of three f32."""
    print(name)
    for _ in range(3):
        print(f"    {bits(value)}")
        value -= rounded(value)


half_ln_2 = log(2) / 2 * mpf("1.001")
fit("(e^r - 1 - r) / r²", limit_at_zero(lambda r: (exp(r) - 1 - r) / r**2), -half_ln_2, half_ln_2, 4)
fit("(2^r - 1) / r", limit_at_zero(lambda r: (exp(r * log(2)) - 1) / r), mpf("-0.5"), mpf("0.5"), 6)
fit(
    "(ln(1 + f) - f + f²/2) / f³",
    limit_at_zero(lambda f: (log1p(f) - f + f * f / 2) / f**3),
    sqrt(mpf("0.5")) - 1,
    sqrt(mpf(2)) - 1,
    7,
)
angle = (pi / 4 * mpf("1.01")) ** 2
fit("(sin r - r) / r³ by r²", of_square(lambda r: (sin(r) - r) / r**3), mpf(0), angle, 3)
fit("(cos r - 1 + r²/2) / r⁴ by r²", of_square(lambda r: (cos(r) - 1 + r * r / 2) / r**4), mpf(0), angle, 2)
fit("(tanh x - x) / x³ by x²", of_square(lambda x: (tanh(x) - x) / x**3), mpf(0), mpf("0.36"), 5)
parts("π/2", pi / 2)
parts("ln 2", log(2))
parts("log₂ e", 1 / log(2))
parts("log₁₀ e", 1 / log(10))
parts("log₁₀ 2", log(2) / log(10))
