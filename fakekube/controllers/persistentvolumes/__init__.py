"""The controllers of volumes and claims (`pkg/controller/volume`)."""
