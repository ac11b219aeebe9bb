"""Sample operators for the faults of nodes and outside APIs, and for generated changes; each has a correct twin.

Every module has FAMILY, make(bug) and scenario(fakekube, build) as those of `tests.simulation.samples`, and

- CLUSTER: the arguments of its cluster
- EXPLORE: arguments for the exploration
- ATOM: the name of the atom that exposes the bug, and ORACLE, which notices it
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

#: The sample operators by name.
WIDER: dict[str, ModuleType] = {
    found.name: import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)
}
