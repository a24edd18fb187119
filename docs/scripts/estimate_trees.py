#!/usr/bin/env python3
"""How far boosted trees are from measured times, for comparison with the model of estimated times.

    docs/scripts/estimate_trees.py KNOWN.csv KNOWN.json MEASURED.csv ESTIMATED.json

The trees see all that a run on the emulated driver counts, of kernels whose times are KNOWN, and
estimate the times of others. Files are those of estimate.py. Wants scikit-learn.
"""
import math
import sys

from sklearn.ensemble import GradientBoostingRegressor

from estimate import measured, quantile, rows

ESTIMATED = ("duration", "throughput", "_rate")


def counted(row):
    """The values of a row that do not depend on its estimated time."""
    values = {name: metric["value"] for name, metric in row["metrics"].items()
              if metric.get("value") is not None and not name.endswith(ESTIMATED)}
    launch = row["launches"][0]
    return values | {"blocks": math.prod(launch["grid"]), "threads": math.prod(launch["block"])}


def read(times, run):
    """The counts and the logarithm of the time of each configuration."""
    times = measured(times)
    return [(counted(row), math.log(times[kernel, configuration]))
            for kernel, configuration, row in rows(run) if (kernel, configuration) in times]


def main(arguments):
    if len(arguments) != 4:
        sys.exit(__doc__)
    known, judged = read(*arguments[:2]), read(*arguments[2:])
    names = sorted({name for values, _ in known + judged for name in values})
    features = lambda all: [[math.log1p(abs(values.get(name, 0))) for name in names]
                            for values, _ in all]
    trees = GradientBoostingRegressor(n_estimators=400, max_depth=3, learning_rate=0.05,
                                      subsample=0.7, random_state=0)
    trees.fit(features(known), [time for _, time in known])
    guesses = trees.predict(features(judged))
    errors = [abs(guess - time) for guess, (_, time) in zip(guesses, judged)]
    print(f"trees     median {quantile(errors, 0.5):.3f}, 90th percentile "
          f"{quantile(errors, 0.9):.3f}, of {len(errors)} configurations")


main(sys.argv[1:])
