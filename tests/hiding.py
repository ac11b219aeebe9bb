"""Removes an attribute of a library for the code of fakekube; the library's own code keeps it.

Tests run it in processes of their own.
"""

import importlib
import sys
import types

#: By module.
HIDDEN = {}


def is_hidden():
    return sys._getframe(2).f_globals.get("__name__", "").startswith("fakekube")


def hide(where, name):
    module, _, kind = where.partition(":")
    module = importlib.import_module(module)
    if kind:
        hide_of_instances(getattr(module, kind), name)
        return

    hidden = HIDDEN.setdefault(module.__name__, set())
    hidden.add(name)

    class Module(types.ModuleType):
        def __getattribute__(self, wanted):
            if wanted == "__module__" or (wanted in hidden and is_hidden()):  # a module has none
                raise AttributeError(wanted)
            return super().__getattribute__(wanted)

    module.__class__ = Module


def hide_of_instances(kind, name):
    before = getattr(kind, name, None)  # that of a slot, or a method

    def read(instance):
        if is_hidden():
            raise AttributeError(name)
        return before.__get__(instance, kind) if before is not None else vars(instance)[name]

    def write(instance, value):
        if before is not None:
            before.__set__(instance, value)
        else:
            vars(instance)[name] = value

    def delete(instance):
        del vars(instance)[name]

    setattr(kind, name, property(read, write, delete))
