"""Reads the files of ranges-against-ncu.sh: counts that differ, elapsed times, metrics by mode."""

import csv
import json
import sys

TIME = "gpu__time_duration.sum"
NAMES = ["concurrent", "graph", "threads", "own_stream", "cublas", "candle", "training", "cubecl"]
METRICS = [
    "smsp__inst_executed.sum",
    "l1tex__t_sector_hit_rate.pct",
    "dram__bytes.sum.per_second",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "smsp__sass_inst_executed.sum",
    "duration",
    "launch__grid_size",
    "launch__registers_per_thread",
]
EXTENTS = ["launch", "closure", "graph", "launches"]


def ours(path):
    """The first configuration of a run."""
    with open(path) as file:
        return json.load(file)["series"][0]["configurations"][0]


def value(metrics, name):
    """The value of a metric, if it has one."""
    metric = metrics.get(name)
    return metric.get("value") if isinstance(metric, dict) else metric


def span(found):
    """How long the work of a call took while activity was recorded, in nanoseconds."""
    times = [work["time"] for work in (found.get("timeline") or {}).get("work", [])]
    return max(t["end_ns"] for t in times) - min(t["start_ns"] for t in times) if times else None


def sampled(found):
    """How long a call took while its counters were sampled, in nanoseconds."""
    samples = found.get("over_time", {}).get("samples")
    return samples[-1]["end_ns"] if samples else None


def microseconds(time):
    """A time in nanoseconds as text."""
    return "-" if time is None else f"{time / 1e3:.1f}"


def ncu(path):
    """The values of a range by metric; empty if ncu refused it."""
    with open(path) as file:
        lines = file.readlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    rows = csv.DictReader(lines[start:])
    return {row["Metric Name"]: float(row["Metric Value"].replace(",", "")) for row in rows}


def compare():
    """Prints a line for each operation. Output: whether all counts are equal."""
    equal = differ = 0
    print("operation    launches  duration  activity  samples  gpuprof     range  app-range  [us]")
    for name in NAMES:
        found = ours(f"ours-{name}.json")
        metrics, times = found["metrics"], []
        for mode in ["range", "app-range"]:
            theirs = ncu(f"{mode}-{name}.csv")
            times.append(microseconds(theirs.pop(TIME, None)))
            for metric, count in theirs.items():
                if value(metrics, metric) == count:
                    equal += 1
                else:
                    differ += 1
                    print(f"  {mode}: {metric} is {value(metrics, metric)}, ncu: {count}")
        own = [value(metrics, "duration"), span(found), sampled(found), value(metrics, TIME)]
        own = [microseconds(time) for time in own]
        row = [f"{name:11}", f"{len(found['launches']):9}", f"{own[0]:>9}", f"{own[1]:>9}"]
        row += [f"{own[2]:>8}", f"{own[3]:>8}", f"{times[0]:>9}", f"{times[1]:>10}"]
        print(" ".join(row))
    print(f"{equal} of {equal + differ} counts are equal")
    return differ == 0


def modes():
    """Prints for each metric in which replay modes it has a value, by extent."""
    table = {}
    for mode in ["application", "range", "kernel"]:
        for extent in EXTENTS:
            found = ours(f"{mode}-{extent}.json")
            columns = {extent: found["metrics"]}
            if extent == "launches":
                part = next(part for part in found["parts"] if part.get("launch") == 0)
                columns["each"] = part["metrics"]
            for column, metrics in columns.items():
                for metric in METRICS:
                    has = value(metrics, metric) is not None
                    table.setdefault(metric, {}).setdefault(column, []).append("yes" if has else "no")
    for metric, columns in table.items():
        cells = [f"{column}: {'/'.join(cells)}" for column, cells in columns.items()]
        print(f"{metric}\n    {'  '.join(cells)}")
    return True


if sys.argv[1:] == ["metrics"]:
    print(",".join(METRICS))
    sys.exit()
sys.exit(0 if (modes() if sys.argv[1:] == ["modes"] else compare()) else 1)
