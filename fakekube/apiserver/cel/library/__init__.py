"""The functions of CEL, by what they are about; `declarations` has them all."""
