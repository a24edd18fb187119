#!/usr/bin/env python3
"""How far estimated times are from measured ones, kernel by kernel.

    cargo gpuprof run --backend emulator --export-json estimated.json …     # GPUEMU_CHIP=h100
    docs/scripts/estimate.py MEASURED ESTIMATED.json …
    docs/scripts/estimate.py --csv MEASURED.json …                          # the times as lines

MEASURED is the export of a run on a GPU, or a CSV file with a line
`package/kernel,configuration,nanoseconds` for each configuration, after comments that name device,
date and commit. Files may be compressed by gzip.

A line a kernel: configurations, median and largest |ln(estimate/measurement)|, the same median of
the largest bound alone and of the roofline alone (device memory), the measured loss of the
configuration with the shortest estimate, Kendall's tau over pairs that differ by more than 2 %, and
how many measurements the interval holds; then the same by the limit that takes most time, and how
many pairs of one series that differ by 10 % or more the estimates put in the right order. If
MEASURED has the metrics limited_by and limited_by_percent, also how often the limits agree.

Kernels of the packages `judged…` judge a version of the model: their times are looked at once, when
the version is finished. `LOOKS` says when. All other kernels may be looked at.
"""
import csv
import gzip
import json
import math
import sys
from collections import defaultdict


LOOKS = [
    "2026-11-28, model 3: 33 kernels on an H100",
    "2026-11-29, model 3: the same on an H200; none of its constants was changed",
    "2026-11-29, model 4: the same on both, with registers by ptxas; no constant was changed",
    "2026-11-29, model 4: 32 other kernels on an H200, by an author who did not know the model",
    "2026-11-30: both sets, with counters of the GPU, to make model 5",
    "2026-11-30, model 5: 28 other kernels on an H200, by an author who did not know the model",
    "2026-11-30: all three sets, to make model 6",
    "2026-11-30, model 6: 24 other kernels on an H200, by an author who did not know the model",
    "2026-11-30: all four sets, to make model 7",
    "2026-11-30, model 7: 36 other kernels on an H200, by an author who did not know the model",
]


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def conformal(errors):
    """The error that nine of ten further kernels do not exceed, if they are like these."""
    rank = math.ceil((len(errors) + 1) * 0.9)
    return sorted(errors)[rank - 1] if rank <= len(errors) else math.inf


def opened(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def rows(path):
    """Kernel, configuration and row of each configuration of a run."""
    with opened(path) as file:
        run = json.load(file)
    for series in run["series"]:
        kernel = f"{series['id']['package']}/{series['id']['kernel']}"
        for row in series["configurations"]:
            yield kernel, " ".join(f"{name}={value}" for name, value in row["configuration"]), row


def measured(path):
    if ".json" not in path:
        with opened(path) as file:
            lines = csv.reader(line for line in file if not line.startswith("#"))
            return {(kernel, configuration): float(ns) for kernel, configuration, ns in lines}
    times = {}
    for kernel, configuration, row in rows(path):
        if row.get("estimate"):
            sys.exit(f"{path} holds estimates: it is not a run on a GPU")
        if duration := row["metrics"].get("duration"):
            times[kernel, configuration] = duration["value"]
    return times


def estimated(paths):
    for path in paths:
        for kernel, configuration, row in rows(path):
            if row.get("estimate"):
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
    return agree / count if count else math.nan


def in_order(rows):
    """How many pairs that differ by 10 % or more the estimates put in the right order, and of all."""
    pairs = [(one, other) for at, one in enumerate(rows) for other in rows[:at]
             if max(one[0], other[0]) >= 1.1 * min(one[0], other[0])]
    right = [(a[0] - b[0]) * (a[1]["duration_ns"] - b[1]["duration_ns"]) > 0 for a, b in pairs]
    return sum(right), len(right)


def factor(errors):
    """The conformal factor of the errors of kernels: each kernel has the same weight."""
    weighted = sorted((error, 1 / len(of)) for of in errors for error in of)
    left = min(0.9 * (len(errors) + 1), len(errors)) - 1e-9
    for error, weight in weighted:
        left -= weight
        if left <= 0:
            return math.exp(error)


UNITS = {"issue": 0, "pipe": 0, "l1": 1, "shared": 1, "l2": 2, "atomics": 2, "dram": 3}


def agreement(path, runs):
    """Prints how often the model's limit is in the unit that the counters of a GPU name."""
    named = {}
    for kernel, configuration, row in rows(path):
        unit, share = (row["metrics"].get(name) for name in ("limited_by", "limited_by_percent"))
        if unit and share:
            near = share["value"] >= 40
            named[kernel, configuration] = int(unit["value"]) if near else None
    first = either = count = 0
    for key, estimate in estimated(runs):
        if key in named:
            limits = [of["limit"] for of in estimate["limits"] if of["limit"] != "launch"]
            units = [UNITS.get(limit) for limit in limits[:2]]
            first, either = first + (units[0] == named[key]), either + (named[key] in units)
            count += 1
    if count:
        print(f"limited_by: the first limit agrees in {first} of {count}, one of two in {either}")


def compare(times, runs):
    kernels = defaultdict(list)
    for key, estimate in estimated(runs):
        if key in times:
            kernels[key[0]].append((times[key], estimate))
    if not kernels:
        sys.exit("no configuration is both measured and estimated")
    errors, bounds, roofs, largest, inside, regrets, ranks = [], [], [], [], [], [], []
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
        largest.append(max(error))
        inside.append(held)
        regrets.append(regret)
        ranks += [] if math.isnan(rank) else [rank]
    for name, values in (("model", errors), ("bounds", bounds), ("roofline", roofs)):
        print(f"{name:9} median {quantile(values, 0.5):.3f}, 90th percentile "
              f"{quantile(values, 0.9):.3f}, of {len(values)} configurations")
    good = sum(regret <= 0.05 for regret in regrets)
    print(f"chosen within 5 %: {good} of {len(regrets)} series; "
          f"mean tau {sum(ranks) / max(len(ranks), 1):.2f}")
    print(f"the interval holds {sum(map(sum, inside))} of {sum(map(len, inside))} measurements, "
          f"and all of {sum(map(all, inside))} of {len(inside)} kernels; a factor of "
          f"{math.exp(conformal(largest)):.2f} would hold all of nine in ten kernels like these")
    right, pairs = (sum(column) for column in zip(*map(in_order, kernels.values())))
    print(f"pairs that differ by 10 %: {right} of {pairs} in the right order")
    by_limit = defaultdict(lambda: defaultdict(list))
    for kernel, rows in kernels.items():
        for ns, e in rows:
            for limit in ("all", e["limits"][0]["limit"]):
                by_limit[limit][kernel].append((ns, e))
    for limit, of_kernels in sorted(by_limit.items(), key=lambda item: -len(item[1])):
        errors = [[abs(math.log(e["duration_ns"] / ns)) for ns, e in rows]
                  for rows in of_kernels.values()]
        rows = [row for rows in of_kernels.values() for row in rows]
        held = sum(e["low_ns"] <= ns <= e["high_ns"] for ns, e in rows)
        print(f"{limit:9} median {quantile(sum(errors, []), 0.5):.3f}, the interval holds {held} of "
              f"{len(rows)}; {len(errors)} kernels, factor {factor(errors):.2f}")
    if any(kernel.startswith("judged") for kernel in kernels):
        print("the judged kernels were looked at:", *LOOKS, sep="\n  ")


def main(arguments):
    if arguments[:1] == ["--csv"]:
        for path in arguments[1:]:
            for (kernel, configuration), ns in measured(path).items():
                print(f"{kernel},{configuration},{ns:.1f}")
    elif len(arguments) < 2:
        sys.exit(__doc__)
    else:
        compare(measured(arguments[0]), arguments[1:])
        if ".json" in arguments[0]:
            agreement(*arguments[:1], arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
