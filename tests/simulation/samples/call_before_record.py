"""A tenant has an account at a bank. The bank numbers accounts, and gives a tenant as many as are opened."""

from collections.abc import Callable, Iterator

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "an external call whose result is kept in memory until it is recorded"
NEEDS = "crash after `create external/accounts/a` or `create external/accounts/b`: a second account is opened"

FINALIZER = "samples.example.com/account"


class Accounts:
    """The bank: the owner of each account by its number. Iterating yields the owners."""

    def __init__(self) -> None:
        self._owners: dict[int, str] = {}
        self._numbers = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._owners.values())

    def open(self, owner: str) -> int:
        self._numbers += 1
        self._owners[self._numbers] = owner
        return self._numbers

    def find(self, owner: str) -> int | None:
        return next((number for number, name in self._owners.items() if name == owner), None)

    def close(self, owner: str) -> None:
        self._owners = {number: name for number, name in self._owners.items() if name != owner}


def make(bug: bool) -> Callable[[Manager, Accounts], None]:
    def build(manager: Manager, bank: Accounts) -> None:
        live = manager.api_reader
        opened: dict[str, int] = {}

        def account_of(name: str) -> int:
            """The number of the account, which is opened if there is none."""
            known = opened.get(name) if bug else bank.find(name)
            opened[name] = bank.open(name) if known is None else known
            return opened[name]

        async def reconcile(request):
            name = request.name
            tenant = await find(live, API, "Tenant", name, request.namespace)
            if tenant is None:
                return
            meta = tenant["metadata"]
            others = [one for one in meta.get("finalizers") or [] if one != FINALIZER]
            if "deletionTimestamp" in meta:
                bank.close(name)
                opened.pop(name, None)
                if len(others) < len(meta.get("finalizers") or []):
                    await live.update({**tenant, "metadata": {**meta, "finalizers": others}})
                return
            if FINALIZER not in (meta.get("finalizers") or []):
                tenant = await live.update({**tenant, "metadata": {**meta, "finalizers": [*others, FINALIZER]}})
            number = (tenant.get("status") or {}).get("account") or account_of(name)
            await ensure(live, child(tenant, "ConfigMap", name, data={"plan": tenant["spec"]["plan"]}))
            await report(live, tenant, account=number)

        manager.controller("tenant").for_(API, "Tenant").owns("v1", "ConfigMap").complete(reconcile)

    return build


def scenario(fakekube, build):
    bank = fakekube.exploration.external("accounts", Accounts())
    fakekube.apply(definition("Tenant", plan="string"))
    fakekube.start(lambda manager: build(manager, bank))

    fakekube.create(custom("Tenant", plan="small"))
    fakekube.advance(60)

    fakekube.create(custom("Tenant", "b", plan="small"))
    fakekube.advance(60)

    fakekube.patch(API, "Tenant", "a", {"spec": {"plan": "large"}})
    fakekube.advance(60)

    fakekube.delete(API, "Tenant", "b")
    fakekube.advance(60)

    assert "a" in bank
    assert "b" not in bank
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"plan": "large"}
