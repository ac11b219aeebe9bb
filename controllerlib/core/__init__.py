"""Rules that do not wait: told the time and the chance, they decide; the shells beside this folder act."""
