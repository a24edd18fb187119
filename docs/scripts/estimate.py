#!/usr/bin/env python3
"""How far estimated times are from measured ones, kernel by kernel.

    cargo gpuprof run --backend emulator --output-json estimated.json …     # GPUEMU_CHIP=h100
    docs/scripts/estimate.py [--judged] MEASURED.csv ESTIMATED.json …

MEASURED.csv has a line `package/kernel,configuration,nanoseconds` for each configuration, after
comments that name device, date and commit. ESTIMATED.json are runs on the emulated driver.

Kernels are in two halves by a fixed rule, the parity of the CRC-32 of `package/kernel`. The design
half (even) may be looked at while the model changes. The judged half may be looked at once for each
version of the model; add a line to `LOOKS` when you do.

A line a kernel: configurations, median and largest |ln(estimate/measurement)|, the same median of
the largest bound alone and of the roofline alone (device memory), the measured loss of the
configuration with the shortest estimate, Kendall's tau over pairs that differ by more than 2 %, and
how many measurements the interval holds.
"""
import csv
import gzip
import json
import math
import sys
import zlib
from collections import defaultdict


LOOKS = [
    "2026-11-28, model 2: 13 kernels on an H100 (one time of csr_product was seen before, by accident)",
    "2026-11-28, model 2: their largest errors set the interval, so its coverage needs new kernels",
]


def is_judged(kernel):
    return zlib.crc32(kernel.encode()) % 2 == 1


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def measured(path):
    with open(path) as lines:
        rows = csv.reader(line for line in lines if not line.startswith("#"))
        return {(kernel, configuration): float(ns) for kernel, configuration, ns in rows}


def estimated(paths):
    for path in paths:
        with (gzip.open if path.endswith(".gz") else open)(path) as file:
            run = json.load(file)
        for series in run["series"]:
            kernel = f"{series['id']['package']}/{series['id']['kernel']}"
            for row in series["configurations"]:
                if row.get("estimate"):
                    configuration = " ".join(f"{name}={value}" for name, value in row["configuration"])
                    yield (kernel, configuration), row["estimate"]


def bound(estimate, of):
    """The time by the largest of some limits alone, and the launch."""
    shares = {limit["limit"]: limit["share"] for limit in estimate["limits"]}
    longest = max(shares.get(limit, 0) for limit in of)
    return (shares.get("launch", 0) + longest) * estimate["duration_ns"]


THROUGHPUTS = "dispatch issue pipe l1 shared l2 dram atomics".split()


def tau(pairs):
    agree, count = 0, 0
    for at, (time, guess) in enumerate(pairs):
        for other_time, other_guess in pairs[:at]:
            if abs(math.log(time / other_time)) > 0.02:
                product = (time - other_time) * (guess - other_guess)
                agree += (product > 0) - (product < 0)
                count += 1
    return agree / count if count else float("nan")


def main(arguments):
    judged = "--judged" in arguments
    path, *runs = [argument for argument in arguments if not argument.startswith("--")]
    times, kernels = measured(path), defaultdict(list)
    for key, estimate in estimated(runs):
        if key in times and is_judged(key[0]) == judged:
            kernels[key[0]].append((times[key], estimate))
    errors, bounds, roofs, inside, regrets = [], [], [], [], []
    print(f"{'kernel':28} {'n':>2} median largest bounds roofline  loss   tau inside")
    for kernel, rows in sorted(kernels.items()):
        error = [abs(math.log(e["duration_ns"] / ns)) for ns, e in rows]
        of_bounds = [abs(math.log(bound(e, THROUGHPUTS) / ns)) for ns, e in rows]
        of_roof = [abs(math.log(bound(e, ["dram"]) / ns)) for ns, e in rows]
        held = [e["low_ns"] <= ns <= e["high_ns"] for ns, e in rows]
        chosen = min(rows, key=lambda row: row[1]["duration_ns"])[0]
        regret = chosen / min(ns for ns, _ in rows) - 1
        rank = tau([(ns, e["duration_ns"]) for ns, e in rows])
        middle = [quantile(values, 0.5) for values in (error, of_bounds, of_roof)]
        print(f"{kernel:28} {len(rows):2} {middle[0]:6.3f} {max(error):7.3f} {middle[1]:6.3f} "
              f"{middle[2]:8.3f} {regret:5.3f} {rank:5.2f} {sum(held):3}/{len(rows)}")
        errors += error
        bounds += of_bounds
        roofs += of_roof
        inside += held
        regrets.append(regret)
    if not errors:
        sys.exit("no configuration is both measured and estimated")
    for name, values in (("model", errors), ("bounds", bounds), ("roofline", roofs)):
        print(f"{name:9} median {quantile(values, 0.5):.3f}, 90th percentile "
              f"{quantile(values, 0.9):.3f}, of {len(values)} configurations")
    if judged:
        print("the judged half was looked at:", *LOOKS, sep="\n  ")
    print(f"chosen within 5 %: {sum(regret <= 0.05 for regret in regrets)} of {len(regrets)} series; "
          f"the interval holds {sum(inside)} of {len(inside)} measurements")


main(sys.argv[1:])
