"""Time from a changed line of a .cu file to PTX by nvcc, and to a result by CuPy's RawModule.

    peers.py FILE.cu [TIMES]

Every repetition changes a constant of the file, so that no cache knows it. CuPy runs in a process of
its own each time, as a script that somebody starts again does. It launches the kernel `jacobi` and
copies the result back, for which it needs a GPU; without nvidia-smi it is left out.
"""
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LAUNCH = """
import sys, time
began = time.perf_counter()
import cupy
imported = time.perf_counter()
code = open(sys.argv[1]).read()
n = 256
before = cupy.random.random(n * n, dtype=cupy.float32)
cupy.cuda.Device().synchronize()
ready = time.perf_counter()
module = cupy.RawModule(code=code, options=('--std=c++17',), name_expressions=['jacobi'])
after = cupy.zeros(n * n, dtype=cupy.float32)
module.get_function('jacobi')((8, 32), (32, 8), (cupy.uint32(n), before, after))
after.get()
print(imported - began, time.perf_counter() - ready)
"""


def timed(command):
    began = time.perf_counter()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return time.perf_counter() - began, output


def main():
    source = pathlib.Path(sys.argv[1]).read_text()
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'changed.cu')
        script = pathlib.Path(folder, 'launch.py')
        script.write_text(LAUNCH)
        for i in range(times):
            file.write_text(source.replace('0.25f', f'0.25{i}{time.time_ns()}f'))
            assert file.read_text() != source, 'the file has no 0.25f to change'
            if shutil.which('nvcc'):
                command = ['nvcc', '-ptx', '-arch=compute_90', '-std=c++17', '-o', '/dev/null']
                seconds.setdefault('nvcc -ptx', []).append(timed([*command, file])[0])
            if shutil.which('nvidia-smi'):
                whole, said = timed([sys.executable, script, file])
                imported, compiled = map(float, said.split())
                seconds.setdefault('CuPy, process', []).append(whole)
                seconds.setdefault('CuPy, import', []).append(imported)
                seconds.setdefault('CuPy, compile, load, launch, copy', []).append(compiled)
    for what, taken in seconds.items():
        print(f'{what}: {min(taken):.2f} {statistics.median(taken):.2f} {max(taken):.2f} s')


main()
