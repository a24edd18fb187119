"""The PTX in a library that nvcc built: in fatbins, whose members LZ4 compresses."""

import struct

MAGIC = b"\x50\xed\x55\xba"
PTX, LZ4 = 1, 0x2000


def unpacked(packed, size):
    """The bytes of an LZ4 block."""
    out, at = bytearray(), 0

    def length(nibble):
        nonlocal at
        total, more = nibble, nibble == 15
        while more:
            total += packed[at]
            more = packed[at] == 255
            at += 1
        return total

    while at < len(packed):
        token = packed[at]
        at += 1
        count = length(token >> 4)
        out += packed[at:at + count]
        at += count
        if len(out) >= size:
            break
        back = packed[at] | packed[at + 1] << 8
        at += 2
        count, start = length(token & 15) + 4, len(out) - back
        while count > 0:
            part = out[start:start + count]
            out += part
            start += len(part)
            count -= len(part)
    return bytes(out[:size])


def members(library, at):
    """Kind, architecture, flags, unpacked size and bytes of each member of the fatbin at `at`."""
    header, size = struct.unpack_from("<HQ", library, at + 6)
    place, end = at + header, at + header + size
    while place < end:
        kind, _, header, size, packed, _, _, architecture = struct.unpack_from(
            "<HHIQIIII", library, place)
        flags, = struct.unpack_from("<I", library, place + 40)
        whole, = struct.unpack_from("<Q", library, place + 56)
        if not header + size:
            return
        body = library[place + header:place + header + (packed or size)]
        yield kind, architecture, flags, whole, body
        place += header + size


def newest_ptx(library, most):
    """Of each fatbin the text of the newest PTX for an architecture up to `most`."""
    at = library.find(MAGIC)
    while at >= 0:
        found = [(architecture, flags, whole, body)
                 for kind, architecture, flags, whole, body in members(library, at)
                 if kind == PTX and architecture <= most]
        if found:
            _, flags, whole, body = max(found, key=lambda one: one[0])
            yield (unpacked(body, whole) if flags & LZ4 else body).rstrip(b"\0")
        at = library.find(MAGIC, at + 4)
