"""Where all threads are, for an error message."""

import faulthandler
import tempfile


def dump() -> str:
    """Every thread's stack, as faulthandler writes it.

    Only faulthandler: walking the frames of a thread that runs, with `traceback`, is suspected to crash CPython 3.11.
    """
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file=file, all_threads=True)
        file.seek(0)
        return file.read().decode(errors="replace")
