"""The face of a cluster as tables: the README, the start page and the pages of the desks have them, a test compares them.

`python -m tests.face` writes them, at the lines `<!-- python -m tests.face: NAME -->`.
"""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from fakekube.clustersettings import SETTINGS, ClusterSettings
from fakekube.harness import desks, face
from fakekube.harness.members import Need, label, members_of

ROOT = Path(__file__).parent.parent

_SECTION = re.compile(r"^    # --- (.*?) -*$")
_METHOD = re.compile(r"^    def ([a-z]\w*)\(")

#: Where a page has a table: the comment with its name, and the lines until an empty one.
_TABLE = re.compile(r"^<!-- python -m tests\.face: (\w+) -->\n\n((?:.+\n)*)", re.M)

#: The pages about the areas of the core.
_AREAS = {
    "time": "concepts/time.md",
    "objects": "howto/read-and-write-objects.md",
    "operators": "howto/start-an-operator.md",
    "what happened": "howto/timeline.md",
    "what must hold": "howto/assertions.md",
    "trouble": "howto/slow-api.md",
}


def public_names(made: type) -> Iterator[str]:
    """The names of a class that a test can use."""
    return (name for name in dir(made) if not name.startswith("_"))


def core() -> dict[str, list[str]]:
    """The members of a cluster by area, in the order of their definition."""
    found: dict[str, list[str]] = {}
    area = "life"
    for line in inspect.getsource(face.Cluster).splitlines():
        if section := _SECTION.match(line):
            area = section[1]
        elif (method := _METHOD.match(line)) and method[1] not in found.setdefault(area, []):
            found[area].append(method[1])
    return found


def desk(name: str) -> type:
    """The class of a desk."""
    return getattr(import_module(f"{desks.__name__}.{name}"), name.capitalize())


def members(name: str) -> list[str]:
    """The members of a desk in the order of their definition."""
    made = desk(name)
    inherited = {one for base in made.__mro__[1:] for one in vars(base)}
    marked = [one for one in members_of(made) if not one.startswith("_")]
    return marked + sorted(set(public_names(made)) - set(marked) - inherited)


def _itself(name: str) -> Iterator[tuple[str, object]]:
    """What can be done with a desk itself, a call or an item, and what documents it."""
    made = desk(name)
    if "__call__" in vars(made):
        yield f"{name}(selector)", made.__call__
    if "__getitem__" in vars(made) and name != "findings":
        yield f'{name}["name"]', made


def _shown(name: str) -> str:
    return ", ".join(f"`{one}`" for one in [*(usage for usage, _ in _itself(name)), *members(name)])


def rows(*, linked: bool = False) -> Iterator[str]:
    """The rows of the table of the whole face; `linked`: with links to the pages of the site."""
    yield "| | |"
    yield "|---|---|"
    for area, names in core().items():
        label = f"[{area}]({_AREAS[area]})" if linked and area in _AREAS else area
        yield f"| {label} | {', '.join(f'`{one}`' for one in names)} |"
    for name in face.DESKS:
        label = f"[`fakekube.{name}`](desks/{name}.md)" if linked else f"`fakekube.{name}`"
        yield f"| {label} | {_shown(name)} |"


# --- desks -----------------------------------------------------------------------------------------------------------


def _first_sentence(member: object) -> str:
    text = " ".join((inspect.getdoc(member) or "").partition("\n\n")[0].split())
    sentence = re.match(r".*?\.(?=\s|$)", text)
    return (sentence[0] if sentence else text).removesuffix(".").removesuffix(":").replace("|", "\\|")


def _usage(name: str, member: object) -> str:
    return name if isinstance(member, property) else f"{name}()"


def _is_awaited(member: object) -> bool:
    return not isinstance(member, property) and "Awaitable" in str(inspect.signature(member).return_annotation)


def desk_rows(name: str) -> Iterator[str]:
    """The rows of the table of a desk's members: the first sentence of each one's documentation."""
    made = desk(name)
    yield "| Member | |"
    yield "|---|---|"
    for usage, documented in _itself(name):
        yield f"| `{usage}` | {_first_sentence(documented)} |"
    for one in members(name):
        member = inspect.getattr_static(made, one)
        awaited = " (`await` it in an async test)" if _is_awaited(member) else ""
        yield f"| `{_usage(one, member)}` | {_first_sentence(member)}{awaited} |"


# --- other backends --------------------------------------------------------------------------------------------------


def need_rows() -> Iterator[str]:
    """The rows of the table of what a real cluster does not have, and of the members that need it."""
    yield "| A real cluster does not have | Members that skip the test |"
    yield "|---|---|"
    for need in (one for one in Need if one is not Need.API):
        names = [
            label(made, name)
            for made in (face.Cluster, *map(desk, face.DESKS))
            for name, mark in members_of(made).items()
            if mark.needs is need and name not in ("__iter__", "__len__")
        ]
        shown = (one.replace(".__getitem__", '["name"]') for one in names)
        yield f"| {need.value} | {', '.join(f'`{one}`' for one in shown)} |"


# --- settings --------------------------------------------------------------------------------------------------------


def setting_rows() -> Iterator[str]:
    """The rows of the table of the settings: the fields of ClusterSettings."""
    yield "| Setting | Default | Meaning (type) | pytest | `fakekube serve` | Other backends |"
    yield "|---|---|---|---|---|---|"
    types = inspect.get_annotations(ClusterSettings)
    for name, field in SETTINGS.items():
        option = f"`--fakekube-{name.replace('_', '-')}`" if field.metadata["ini"] else ""
        flag = f"`{field.metadata['flag']}`" if field.metadata["flag"] else ""
        kind = types[name].replace(" | ", " or ")
        elsewhere = "no effect" if field.metadata["portable"] else "skips the test"
        cells = f"`{name}`", f"`{field.default!r}`", f"{field.metadata['text']} ({kind})", option, flag, elsewhere
        yield f"| {' | '.join(cells)} |"


# --- pages -----------------------------------------------------------------------------------------------------------

#: The pages with tables.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def table(name: str) -> str:
    """A table by its name: "readme", "start", "needs", "settings", or that of a desk."""
    made = {"readme": rows, "start": lambda: rows(linked=True), "settings": setting_rows, "needs": need_rows}
    return "\n".join(made[name]() if name in made else desk_rows(name)) + "\n"


def tables(page: Path) -> dict[str, str]:
    """The tables that a page has, by name."""
    return dict(_TABLE.findall(page.read_text()))


def write(page: Path) -> None:
    """Write the tables of a page anew."""
    text = page.read_text()
    new = _TABLE.sub(lambda found: f"<!-- python -m tests.face: {found[1]} -->\n\n{table(found[1])}", text)
    if new != text:
        page.write_text(new)


if __name__ == "__main__":
    for one in PAGES:
        write(one)
