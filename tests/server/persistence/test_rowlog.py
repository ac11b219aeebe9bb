"""The mapped file with the newest rows: what is read is what was added since it was cleared, wherever it was torn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.server.persistence.rowlog import SIZE, Row, RowLog


@pytest.fixture
def file(tmp_path):
    return tmp_path / "newest.log"


@pytest.fixture
def log(file):
    made = RowLog(file)
    yield made
    made.close(remove=False)


def row(number, value=b"{}"):
    return Row(number, "configmaps", f"default/a{number}", not value, "v1" if value else "", value)


def read(file):
    again = RowLog(file)
    try:
        return list(again.rows())
    finally:
        again.close(remove=False)


ROWS = st.builds(
    Row,
    st.integers(1, 2**62),
    st.text("abc.é", max_size=9),
    st.text("abc/\n", max_size=9),
    st.booleans(),
    st.sampled_from(["", "v1", "v1beta1"]),
    st.binary(max_size=60),
)


@given(rounds=st.lists(st.lists(ROWS, max_size=6), min_size=1, max_size=4))
def test_another_process_reads_what_was_added_since_the_last_clear(tmp_path_factory, rounds):
    file = tmp_path_factory.mktemp("log") / "newest.log"
    log = RowLog(file)
    for number, added in enumerate(rounds):
        if number:
            log.clear()
        assert all(map(log.add, added))
        assert read(file) == list(log.rows()) == added
    log.close(remove=True)
    assert not file.exists()


def test_rows_before_a_clear_do_not_follow_one_of_the_same_length(file, log):
    for number in range(3):
        log.add(row(number))
    log.clear()
    log.add(row(7))
    assert read(file) == [row(7)]


def test_a_process_goes_on_with_the_generation_of_the_one_before(file, log):
    log.clear()
    log.add(row(1))
    again = RowLog(file)
    again.clear()
    again.add(row(2))
    again.close(remove=False)
    assert read(file) == [row(2)]


@pytest.mark.parametrize("wrong", range(-20, 0))
def test_a_row_of_which_a_part_is_not_written_ends_the_file(file, log, wrong):
    log.add(row(1))
    end = len(file.read_bytes().rstrip(b"\0"))
    log.add(row(2))
    data = bytearray(file.read_bytes())
    data[len(data.rstrip(b"\0")) + wrong] ^= 1
    file.write_bytes(data)
    assert end < len(data)
    assert read(file) == [row(1)]


def test_a_row_for_which_there_is_no_room_changes_nothing(file, log):
    log.add(row(1))
    assert not log.add(row(2, bytes(SIZE)))
    assert log.add(row(3))
    assert read(file) == [row(1), row(3)]


def test_the_file_may_be_filled_to_its_last_byte(file, log):
    size = SIZE - len(b"fakekube") - 4 - 8 - len(b'[1,"configmaps","default/a1",false,"v1"]\n')
    assert not log.add(row(1, b"a" * (size + 1)))
    assert log.add(row(1, b"a" * size))
    assert not log.add(row(2, b"a"))
    assert read(file) == [row(1, b"a" * size)]


def test_a_file_that_was_not_made_to_its_end_is_a_new_one(file):
    file.write_bytes(bytes(100))
    assert read(file) == []
    assert file.stat().st_size == SIZE


def test_another_file_is_refused_and_stays_as_it_is(file):
    file.write_bytes(b"something else")
    with pytest.raises(ValueError, match="not a file of fakekube"):
        RowLog(file)
    assert file.read_bytes().startswith(b"something else")


def test_only_its_user_may_read_it(file, log):
    assert file.stat().st_mode & 0o777 == 0o600
