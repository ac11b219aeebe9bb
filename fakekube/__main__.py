"""`fakekube` and `python -m fakekube`."""

import signal

from fakekube.pythongarbage import collect_seldom


def main() -> None:
    """Run the command line. Ctrl-C ends the process without a traceback while large modules are imported."""
    collect_seldom()
    is_default = signal.getsignal(signal.SIGINT) == signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from fakekube import cli

    if is_default:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    cli.main()


if __name__ == "__main__":
    main()
