"""Reads what `ncu --csv` printed."""
import csv
import io

# ncu prints values in the unit that suits them; ours are in the unit itself.
SCALE = {'us': 1e3, 'ms': 1e6, 's': 1e9, 'Kbyte': 1e3, 'Mbyte': 1e6, 'Gbyte': 1e9, 'Tbyte': 1e12,
         'Kbyte/s': 1e3, 'Mbyte/s': 1e6, 'Gbyte/s': 1e9, 'Tbyte/s': 1e12, 'Khz': 1e3, 'Mhz': 1e6,
         'Ghz': 1e9, 'cycle/usecond': 1e6, 'cycle/nsecond': 1e9, 'Kbyte/block': 1e3}


def launches(path):
    """A dictionary of metrics for each profiled launch, in their order; what went wrong as text."""
    text = open(path).read()
    at = text.find('"ID"')
    if at < 0:
        return [], text[-400:]
    rows = {}
    for r in csv.DictReader(io.StringIO(text[at:])):
        try:
            value = float(r['Metric Value'].replace(',', ''))
            rows.setdefault(int(r['ID']), {})[r['Metric Name']] = value * SCALE.get(r['Metric Unit'], 1)
        except (ValueError, TypeError, AttributeError):
            pass  # a text, or `n/a`
    return [rows[k] for k in sorted(rows)], ''
