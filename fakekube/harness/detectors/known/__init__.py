"""The detectors in groups, one module for each kind of defect; `knowndetectors` discovers its `DETECTORS`."""
