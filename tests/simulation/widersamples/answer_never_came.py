"""A mailbox is an account of an outside API, which gives out a new one with each call."""

from tests.simulation.samples.definitions import API, custom, definition, find, report

FAMILY = "a call to an outside API whose answer was lost is made again"
ATOM, ORACLE = "lost", "O2"
CLUSTER = {}
EXPLORE = {"faults": ["lost", "late"]}  # an error of the status shows it, too


class Accounts:
    """An outside API: accounts by number, each with the name of its owner."""

    def __init__(self):
        self._owners = {}

    def __iter__(self):
        return iter(self._owners.values())

    async def create(self, owner):
        number = len(self._owners) + 1
        self._owners[number] = owner
        return number

    async def find(self, owner):
        return next((number for number, one in self._owners.items() if one == owner), None)


def make(bug):
    def build(manager, accounts):
        live = manager.api_reader

        async def reconcile(request, client):
            mailbox = await find(live, API, "Mailbox", request.name, request.namespace)
            if mailbox is None:
                return
            number = (mailbox.get("status") or {}).get("account")
            if number is None and not bug:
                number = await accounts.find(request.name)
            if number is None:
                number = await accounts.create(request.name)
            await report(live, mailbox, account=number)

        manager.controller("mailbox").for_(API, "Mailbox").complete(reconcile)

    return build


def scenario(fakekube, build):
    accounts = fakekube.exploration.external("accounts", Accounts())
    fakekube.apply(definition("Mailbox", size="integer"))
    fakekube.start(lambda manager: build(manager, accounts))
    fakekube.create(custom("Mailbox", size=1))
    fakekube.create(custom("Mailbox", "b", size=1))
    fakekube.advance(60)
    assert sorted(accounts) == ["a", "b"]
