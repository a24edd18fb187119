#!/usr/bin/env python3
"""Forms of PTX instructions that ptxas refuses and the emulated driver accepts, and the reverse.

    pip download --no-deps nvidia-cuda-nvcc==13.0.88     # unzip; it has bin/ptxas
    cargo gpuprof emulate -- python3 docs/scripts/forms.py PTXAS [FILE]

The forms are the legal ones of emulator/tests/fixtures/forms.txt, and each of them with one change:
another operand, one more or fewer, or another, missing, doubled or swapped dot-word. FILE takes the
differences: `+` before a form that ptxas alone accepts, `-` before one that it alone refuses, then
the message. Needs Python and libcuda.so.1; 3 min.
"""
import ctypes
import pathlib
import random
import re
import subprocess
import sys
import tempfile

FIXTURE = pathlib.Path(__file__).resolve().parents[2] / "emulator/tests/fixtures/forms.txt"
OPERANDS = """%h6 %r7 %d6 %f6 %e6 %p6 %fh6 %fx6 %o0 %sh1 %ud1 %sd1 %u1 %s1 %q1 5 -1 0f3F800000
    0d3FF0000000000000 1.5 _ g %tid.x %laneid %clock %clock64 %lanemask_lt %tid !%p1 -%r1 [%d0]
    {%r1,%r2} 0x123456789ABCDEF""".split()
TYPES = """b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 tf32 pred
    u16x2 s16x2 e4m3x2""".split()
WORDS = """rn rz rni rzi sat ftz approx full lo hi wide cc NaN relu abs xorsign satfinite global
    shared local const volatile relaxed acquire release gpu cta sys cluster v2 v4 nc ca cg cs cv wb
    L2::128B L1::no_allocate sync aligned lt eq and or x1 x4 trans row col uni noftz weak acq_rel
    any all popc idx bfly clamp wrap""".split()
HEAD = """.version 8.8
.target sm_90
.address_size 64
.global .align 16 .b8 g[64];
.visible .entry k(.param .u64 out) {
.reg .pred %p<8>; .reg .b8 %o<2>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %d<8>;
.reg .f32 %f<8>; .reg .f64 %e<8>; .reg .u16 %uh<4>; .reg .s16 %sh<4>; .reg .u32 %u<8>;
.reg .s32 %s<8>; .reg .u64 %ud<4>; .reg .s64 %sd<4>; .reg .f16 %fh<8>; .reg .f16x2 %fx<8>;
.reg .b128 %q<4>;
"""
MOST, PER_RUN = 140, 400


def operands(text):
    """The operands: what commas outside of braces and brackets divide."""
    return [each.strip() for each in re.split(r",(?![^{\[]*[}\]])", text) if each.strip()]


def changed(form):
    """The form with one change, in every way or in MOST."""
    name, _, rest = form.partition(" ")
    words, given, found = name.split("."), operands(rest), set()

    def put(words, given):
        found.add((".".join(words) + " " + ", ".join(given)).strip())

    for at, operand in enumerate(given):
        before, after = given[:at], given[at + 1:]
        for other in OPERANDS:
            put(words, before + [other] + after)
        for inner in sorted(set(re.findall(r"%[a-z]+\d+", operand)) - {operand}):
            for other in random.sample(OPERANDS, 8):
                put(words, before + [operand.replace(inner, other, 1)] + after)
        put(words, before + after)
    for more in ["%r7", "%p7", "%d5", "5"]:
        put(words, given + [more])
    for at in range(1, len(words)):
        before, word, after = words[:at], words[at], words[at + 1:]
        put(before + after, given)
        put(before + [word, word] + after, given)
        if after:
            put(before + [after[0], word] + after[1:], given)
        for other in TYPES if word in TYPES else random.sample(WORDS, 10):
            put(before + [other] + after, given)
        for other in random.sample(WORDS, 3):
            put(before + [other] + words[at:], given)
    found.discard(form)
    return random.sample(sorted(found), min(MOST, len(found)))


def refused_by_ptxas(ptxas, folder, forms):
    """The messages of ptxas by form. It stops at the first error of some kinds, so it runs until
    it accepts the rest."""
    messages, left, file = {}, list(forms), folder / "forms.ptx"
    first = HEAD.count("\n") + 1
    while left:
        file.write_text(HEAD + "".join(f"{form};\n" for form in left) + "ret;\n}\n")
        command = [ptxas, "-arch=sm_90", "-O0", "-o", "/dev/null", file]
        ran = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if ran.returncode == 0:
            break
        errors = re.findall(r"line (\d+)[;,]\s*(?:error|fatal)\s*:\s*([^\n]*)", ran.stderr)
        wrong = {int(line) - first: text for line, text in errors if int(line) >= first}
        wrong = {at: text for at, text in wrong.items() if at < len(left)}
        if not wrong and len(left) > 1:
            half = len(left) // 2
            for part in [left[:half], left[half:]]:
                messages |= refused_by_ptxas(ptxas, folder, part)
            break
        messages |= {left[at]: text for at, text in (wrong or {0: "ptxas crashes"}).items()}
        left = [form for form in left if form not in messages]
    return messages


class Loader:
    """Loads modules by the driver."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.driver.cuInit(0)
        self.driver.cuDeviceGet(ctypes.byref(device), 0)
        self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self.driver.cuCtxSetCurrent(context)
        self.log = ctypes.create_string_buffer(2000)

    def refusal(self, form):
        """The driver's message; none if the form loads."""
        module, self.log.value = ctypes.c_void_p(), b""
        keys = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(self.log), len(self.log))
        text = (HEAD + f"{form};\nret;\n}}\n").encode() + b"\0"
        code = self.driver.cuModuleLoadDataEx(ctypes.byref(module), text, 2, keys, values)
        if code == 0:
            self.driver.cuModuleUnload(module)
            return None
        return self.log.value.decode().partition("\n")[0] or f"error {code}"


def main(ptxas, file=None):
    random.seed(36)
    legal = [line[2:] for line in FIXTURE.read_text().splitlines() if line.startswith("+ ")]
    forms = sorted(set(legal).union(*map(changed, legal)))
    messages, loader, lines = {}, Loader(), []
    with tempfile.TemporaryDirectory() as folder:
        for at in range(0, len(forms), PER_RUN):
            part = forms[at:at + PER_RUN]
            messages |= refused_by_ptxas(ptxas, pathlib.Path(folder), part)
    for form in forms:
        refusal = loader.refusal(form)
        if form in messages and refusal is None:
            lines.append(f"- {form} | {messages[form]}")
        if form not in messages and refusal is not None:
            lines.append(f"+ {form} | {refusal}")
    if file:
        pathlib.Path(file).write_text("\n".join(lines) + "\n")
    accepted = sum(line.startswith("-") for line in lines)
    print(f"ptxas refuses {len(messages)} forms, of which the driver accepts {accepted}; ptxas "
          f"accepts {len(forms) - len(messages)}, of which the driver refuses "
          f"{len(lines) - accepted}")


if __name__ == "__main__":
    main(*sys.argv[1:])
