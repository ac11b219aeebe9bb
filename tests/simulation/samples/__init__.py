"""Sample operators: one module a family of bugs, each with a twin that has the bug and one that does not.

Every module has

- FAMILY: the bug in words
- NEEDS: the fault that exposes it, and where
- make(bug): the function that builds the operator
- scenario(fakekube, build): the test of the operator; it passes without faults, with the bug and without
- EXPLORE, in some: arguments for the exploration
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

#: The sample operators by name.
SAMPLES: dict[str, ModuleType] = {
    found.name: import_module(f"{__name__}.{found.name}")
    for found in iter_modules(__path__)
    if found.name != "definitions"
}
