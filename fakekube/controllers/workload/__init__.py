"""What the controllers of pods have in common (`pkg/controller/controller_utils.go`)."""
