"""Options of the runs of pytest that tests make with pytester."""

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
