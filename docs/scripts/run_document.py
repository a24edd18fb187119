"""Reads the JSON document of a run."""
import json


def rows(path):
    """Each series with each of its rows, whose metrics are told in full.

    A document says once for all rows of a series what they have in common.
    """
    for series in json.load(open(path))['series']:
        common = series.get('metrics', {})
        for row in series['configurations']:
            row['metrics'] = {k: {**common.get(k, {}), **v} for k, v in row['metrics'].items()}
            yield series, row


def by_configuration(path):
    """The metrics of each configuration, by its kernel and its values as pairs."""
    return {(series['id']['kernel'], tuple(map(tuple, row['configuration']))): row['metrics']
            for series, row in rows(path)}
