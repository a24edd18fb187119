#!/usr/bin/env python3
"""How far the forecast of a run against a stored baseline is off, for baselines of few processes.

Simulates normal noise, one comparison with the default limit of 2 %. `passes` repeats the formula
of `Question::passes` in analysis/src/gate/prediction.rs, `judged` the rule of the judge. Prints, by
the processes of the baseline and of the run, the largest excess of the mean forecast over the share
of runs that pass, where that is, and how often the forecast at the upper 90 % bound of the noise is
no higher than that share. Needs numpy and scipy.
"""

import numpy
from scipy import stats

LIMIT = 2.0
RUNS, BASELINES = 40_000, 4_000


def judged(base, head):
    """Which runs pass: Welch's one-sided bound of 95 % ends inside the limit."""
    sides = [side.var(1, ddof=1) / side.shape[1] for side in (base, head)]
    error = numpy.sqrt(sum(sides))
    freedom = sum(sides) ** 2 / sum(
        part**2 / (side.shape[1] - 1) for part, side in zip(sides, (base, head))
    )
    room = LIMIT / 100 * numpy.median(base, 1) - (head.mean(1) - base.mean(1))
    return room / error >= stats.t.ppf(0.95, freedom)


def passes(scatter, base, head):
    """The forecast, for a standard deviation in percent."""
    freedom = (1 / base + 1 / head) ** 2 / (
        1 / (base**2 * (base - 1)) + 1 / (head**2 * (head - 1))
    )
    error = scatter * numpy.sqrt(1 / base + 1 / head)
    return stats.t.cdf(LIMIT / error - stats.t.ppf(0.95, freedom), freedom)


def main():
    random = numpy.random.default_rng(1)
    print("| baseline, run | largest excess | noise | pass | forecast | bound holds, at least |")
    print("|---|---:|---:|---:|---:|---:|")
    for base, head in [(3, 7), (4, 4), (4, 7), (4, 10), (5, 7), (6, 7), (7, 7), (10, 10)]:
        rows, holds = [], []
        for noise in numpy.arange(0.3, 4.01, 0.1):
            draw = lambda count: 100 + noise * random.standard_normal((RUNS, count))
            before = draw(base)
            share = judged(before, draw(head)).mean()
            scatter = before[:BASELINES].std(1, ddof=1)
            told = passes(scatter, base, head).mean()
            rows.append((told - share, noise, share, told))
            upper = scatter * numpy.sqrt((base - 1) / stats.chi2.ppf(0.1, base - 1))
            holds.append((passes(upper, base, head) <= share + 0.005).mean())
        excess, noise, share, told = max(rows)
        figures = [f"{100 * value:.0f} %" for value in (share, told, min(holds))]
        print(f"| {base}, {head} | {100 * excess:.1f} | {noise:.1f} % | {' | '.join(figures)} |")


main()
