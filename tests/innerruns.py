"""The runs of pytest that tests make with pytester: their options, and what must not be theirs."""

import gc
import warnings

#: Without the plugins of the extra `test`: some import much, report the inner run, change its order, or open sockets.
LEAN = tuple(
    f"-pno:{name}"
    for name in (
        "anyio",
        "asyncio",
        "benchmark",
        "cacheprovider",
        "hypothesispytest",
        "pytest_cov",
        "randomly",
        "rerunfailures",
        "time_machine",
    )
)


def without_garbage_of_others() -> None:
    """Collect what earlier tests have left: an inner run with `-Werror` would fail for what it finds unclosed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
