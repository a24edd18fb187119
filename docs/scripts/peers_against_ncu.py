"""Reads the files of peers-against-ncu.sh: the bytes of each operation next to what it moves."""

import csv
import json
import sys

BYTES = 64 << 20
RECEIVED, SENT = "nvlrx__bytes", "nvltx__bytes"
METRICS = [f"{unit}{kind}.sum" for unit in [RECEIVED, SENT] for kind in ["", "_data_user"]]
# What goes over NVLink, received and sent.
MOVED = {"own": (0, 0), "read": (BYTES, 0), "write": (0, BYTES), "copy": (0, BYTES)}


def ours(name):
    """The first configuration of a run."""
    with open(f"ours-{name}.json") as file:
        return json.load(file)["series"][0]["configurations"][0]


def value(row, name):
    """The value of a metric, if it has one."""
    return row["metrics"].get(name, {}).get("value")


def ncu(name):
    """The values of a range by metric; empty if ncu gave none."""
    with open(f"ncu-{name}.csv") as file:
        lines = file.readlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    rows = csv.DictReader(lines[start:])
    return {row["Metric Name"]: float(row["Metric Value"].replace(",", "")) for row in rows}


class Checks:
    """Counts what is as expected, and prints what is not."""

    def __init__(self):
        self.right = self.wrong = 0

    def equal(self, what, found, expected):
        """Checks one value."""
        if found == expected:
            self.right += 1
        else:
            self.wrong += 1
            print(f"  {what} is {found}, expected {expected}")


def nvlink(checks):
    """User data by tool, mode and direction, and all bytes relative to it."""
    for name, moved in MOVED.items():
        tools = {mode: ours(f"{mode}-{name}") for mode in ["application", "range", "kernel"]}
        tools = {mode: {m: value(row, m) for m in METRICS} for mode, row in tools.items()}
        tools["ncu"] = ncu(name)
        for tool, found in tools.items():
            for unit, expected in zip([RECEIVED, SENT], moved):
                user, total = found.get(f"{unit}_data_user.sum"), found.get(f"{unit}.sum")
                checks.equal(f"{name} {tool} {unit} user data", user, expected)
                print(f"{name:5} {tool:11} {unit}: {user} user data of {total} bytes")


def others(checks):
    """PCIe, managed memory, and the work of the second GPU."""
    for name in ["upload", "pinned"]:
        read = value(ours(name), "pcie__read_bytes.sum")
        print(f"{name}: {read} bytes read over PCIe, {100 * read / BYTES:.1f} % of those moved")
        checks.equal(f"{name} is 1.0 to 1.2 times the bytes", 1.0 <= read / BYTES < 1.2, True)
    managed = ours("managed")
    checks.equal("managed to the device", value(managed, "unified_bytes_to_device"), BYTES)
    faults = {m: value(managed, f"unified_{m}_faults") for m in ["gpu", "cpu"]}
    print(f"managed: to the host {value(managed, 'unified_bytes_to_host')}, faults {faults}")
    work = {name: ours(name)["timeline"]["work"] for name in ["pooled", "elsewhere"]}
    print(f"pooled: {work['pooled']}")
    devices = sorted(piece.get("device", 0) for piece in work["elsewhere"])
    checks.equal("devices of elsewhere", devices, [0, 1])
    warps = BYTES / 16 / 32
    checks.equal("warps of one of two GPUs", value(ours("counted"), "smsp__warps_launched.sum"), warps)
    checks.equal("unjoined", ours("unjoined")["status"]["status"], "failed")


if sys.argv[1:] == ["metrics"]:
    print(",".join(METRICS))
    sys.exit()
CHECKS = Checks()
nvlink(CHECKS)
others(CHECKS)
print(f"{CHECKS.right} of {CHECKS.right + CHECKS.wrong} values are as expected")
sys.exit(CHECKS.wrong > 0)
