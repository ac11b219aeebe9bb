"""The desks of a cluster: one small object for each special thing that a test does."""

from fakekube.harness.desks.access import Access
from fakekube.harness.desks.controllers import Controllers
from fakekube.harness.desks.exploration import Exploration
from fakekube.harness.desks.faults import Faults
from fakekube.harness.desks.findings import Findings
from fakekube.harness.desks.nodes import Nodes
from fakekube.harness.desks.pods import Pods
from fakekube.harness.desks.processes import Processes
from fakekube.harness.desks.state import State
from fakekube.harness.desks.webhooks import Webhooks

__all__ = [
    "Access",
    "Controllers",
    "Exploration",
    "Faults",
    "Findings",
    "Nodes",
    "Pods",
    "Processes",
    "State",
    "Webhooks",
]
