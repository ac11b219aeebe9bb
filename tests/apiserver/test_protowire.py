"""The wire format of protobuf: what its reader yields, and the words with which it refuses bytes (`generated.pb.go`)."""

import pytest

from fakekube.apiserver.wire.messages import Field
from fakekube.apiserver.wire.protowire import Malformed, fields

KNOWN = {
    1: Field("text"),
    2: Field("number", "int"),
    3: Field("half", "double"),
    4: Field("numbers", "int", repeated=True),
    15: Field("last", "int"),
    16: Field("beyond", "int"),
}
LARGEST = b"\xff" * 9 + b"\x01"


def read(*data: bytes | int) -> list[tuple[int, bytes | int]]:
    return list(fields("Thing", KNOWN, b"".join(part if isinstance(part, bytes) else bytes([part]) for part in data)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([], []),
        ([0x0A, 0], [(1, b"")]),
        ([0x0A, 2, b"ab", 0x10, 5], [(1, b"ab"), (2, 5)]),
        ([0x10, 0x80, 1], [(2, 128)]),
        ([0x10, 0xFF, 0x7F], [(2, 16383)]),
        ([0x10, LARGEST], [(2, 2**64 - 1)]),
        ([0x10, b"\xff" * 9, 0x7F], [(2, 2**64 - 1)]),  # bits beyond 64 are dropped
        ([0x19, b"12345678"], [(3, b"12345678")]),
        ([0x78, 1, 0x80, 1, 2], [(15, 1), (16, 2)]),
        # repeated numbers, one by one and packed
        ([0x20, 1, 0x20, 2], [(4, 1), (4, 2)]),
        ([0x22, 3, 1, 0x80, 1], [(4, 1), (4, 128)]),
        ([0x22, 0], []),
        # unknown fields are skipped
        ([0x28, 1, 0x10, 5], [(2, 5)]),
        ([0x29, b"12345678", 0x10, 5], [(2, 5)]),
        ([0x2A, 2, b"ab", 0x10, 5], [(2, 5)]),
        ([0x2D, b"1234", 0x10, 5], [(2, 5)]),
        ([0x2D, b"1234"], []),
        ([0x2B, 0x2B, 0x28, 1, 0x2C, 0x2C, 0x10, 5], [(2, 5)]),
    ],
)
def test_the_fields_of_a_message(data, expected):
    assert read(*data) == expected


EOF = "unexpected EOF"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ([0x0A], EOF),
        ([0x0A, 3, b"ab"], EOF),
        ([0x19, b"1234567"], EOF),
        ([0x10, 0x80], EOF),
        ([0x2D, b"123"], EOF),
        ([0x2B, 0x28, 1], EOF),
        ([0x22, 1, 0x80], EOF),
        ([0x10, b"\x80" * 10, 1], "proto: integer overflow"),
        ([0x10, b"\x80" * 9, 0x80], "proto: integer overflow"),
        ([0x0A, b"\x80" * 9, 1], "proto: negative length found during unmarshaling"),
        ([0x0A, b"\xff" * 8, 0x7F], EOF),  # the largest length
        ([0x00, 1], "proto: Thing: illegal tag 0 (wire type 0)"),
        ([0x06, 1], "proto: Thing: illegal tag 0 (wire type 6)"),
        ([0x80, 0x80, 0x80, 0x80, 0x40, 1], "proto: Thing: illegal tag -2147483648 (wire type 17179869184)"),
        ([0xF8, 0xFF, 0xFF, 0xFF, 0x7F, 1], "proto: Thing: illegal tag -1 (wire type 34359738360)"),
        ([0x0C], "proto: Thing: wiretype end group for non-group"),
        ([0x2E, 1], "proto: illegal wireType 6"),
        ([0x08, 1], "proto: wrong wireType = 0 for field Text"),
        ([0x12, 1, 1], "proto: wrong wireType = 2 for field Number"),
        ([0x21, b"12345678"], "proto: wrong wireType = 1 for field Numbers"),
    ],
)
def test_why_bytes_are_refused(data, why):
    with pytest.raises(Malformed) as raised:
        read(*data)
    assert str(raised.value) == why


def test_the_largest_number_of_a_field_is_accepted():
    assert read(0xF8, 0xFF, 0xFF, 0xFF, 0x3F, 1) == []
