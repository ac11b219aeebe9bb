"""One module for each kind of defect: `DETECTORS` has its detectors, which `knowndetectors` discovers."""
