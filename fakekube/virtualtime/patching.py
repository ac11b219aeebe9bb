"""All patches of a bubble: installed together, started, and undone in reverse order."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.patches.accepting import AcceptingPatches
from fakekube.virtualtime.patches.commands.childprocesses import Children
from fakekube.virtualtime.patches.commands.popens import PopenPatches
from fakekube.virtualtime.patches.commands.subprocesses import SubprocessPatches
from fakekube.virtualtime.patches.endings import EndingPatches
from fakekube.virtualtime.patches.importers import look_for_modules
from fakekube.virtualtime.patches.joins import JoinPatches
from fakekube.virtualtime.patches.locks import LockPatches
from fakekube.virtualtime.patches.patch import PatchSet
from fakekube.virtualtime.patches.pools import PoolPatches
from fakekube.virtualtime.patches.portals import PortalPatches
from fakekube.virtualtime.patches.randomness import RandomnessPatches
from fakekube.virtualtime.patches.schedulers import SchedulerPatches
from fakekube.virtualtime.patches.selects import SelectPatches
from fakekube.virtualtime.patches.signals import SignalPatches
from fakekube.virtualtime.patches.sleep import SleepPatches
from fakekube.virtualtime.patches.sockets import SocketPatches
from fakekube.virtualtime.patches.starts import StartPatches
from fakekube.virtualtime.patches.tasklists import TaskListPatches
from fakekube.virtualtime.patches.taskorder import TaskOrderPatches
from fakekube.virtualtime.patches.tls import TlsPatches
from fakekube.virtualtime.patches.waits import WaitPatches
from fakekube.virtualtime.seeds import Seed


@contextmanager
def patched(
    loop: VirtualTimeLoop,
    blocking: Blocking,
    seed: Seed,
    children: Children,
    report: Callable[[BaseException], None],
) -> Generator[None, None, None]:
    """The standard library is patched for the bubble of `loop`. `report` gets the errors of calls that end processes.

    RuntimeError if another library has patched the same.
    """
    look_for_modules()
    sleeping = SleepPatches(blocking)
    endings = EndingPatches(loop, blocking, report)
    locking = LockPatches(blocking)
    sockets = SocketPatches(loop.network, blocking)
    starts = StartPatches(blocking, loop.threads)
    pools = PoolPatches(loop.threads)
    randomness = RandomnessPatches(seed, blocking)
    patches = PatchSet(
        [
            *sleeping.patches(),
            *locking.patches(),
            *SchedulerPatches(loop.clock, blocking).patches(),
            *sockets.patches(),
            *AcceptingPatches(loop.network.thread_servers, sockets, loop.threads, blocking).patches(),
            *SelectPatches(loop, blocking, sockets).patches(),
            *TlsPatches(loop.network, blocking, sockets).patches(),
            *JoinPatches(blocking, loop.threads).patches(),
            *PopenPatches(blocking, children).patches(),
            *SignalPatches(loop.threads).patches(),
            *starts.patches(),
            *pools.patches(),
            *SubprocessPatches(loop, children).patches(),
            *WaitPatches(loop, blocking).patches(),
            *TaskListPatches(loop).patches(),
            *endings.patches(),
            *randomness.patches(),
            *TaskOrderPatches(loop).patches(),
        ]
    )
    with ExitStack() as undo:
        undo.callback(pools.restore)
        patches.install()
        undo.callback(patches.remove)
        loop.disarm = endings.disarm
        for each in (sleeping, locking, starts, randomness, PortalPatches(blocking, loop.threads)):
            each.start()
            undo.callback(each.stop)
        yield
