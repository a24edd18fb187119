"""What PyTorch takes for the work of the examples `softmax` and `layer-norm`.

    python3 references.py

A line an operation: the median of 30 times in microseconds by CUDA events after five that are not
counted, and the bytes that have to move, a second.
"""

import statistics

import torch


def timed(name, moved, work):
    for _ in range(5):
        work()
    times = []
    for _ in range(30):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    seconds = statistics.median(times)
    print(f"{name:44} {seconds * 1e6:9.1f} us  {moved / seconds / 1e12:6.3f} TB/s")


ROWS, COLUMNS = 64 * 1024, 4096
x = torch.randn(ROWS, COLUMNS, device="cuda")
timed("torch.softmax, 64 Ki rows of 4096 f32", 2 * 4 * x.numel(), lambda: torch.softmax(x, 1))
x = x.half()
weight, bias = (torch.ones(COLUMNS, device="cuda", dtype=torch.float16) for _ in range(2))
timed(
    "torch layer_norm, 64 Ki rows of 4096 f16",
    2 * 2 * x.numel(),
    lambda: torch.nn.functional.layer_norm(x, (COLUMNS,), weight, bias),
)
