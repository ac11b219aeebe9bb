"""Fault injection: what a real API server, its network and its proxies may do to a request (`FaultRule`)."""

from fakekube.apiserver.faults.fault import Fault
from fakekube.apiserver.faults.injectederrors import ERRORS, error_of
from fakekube.apiserver.faults.rule import FaultRule, Faults

__all__ = ["ERRORS", "Fault", "FaultRule", "Faults", "error_of"]
