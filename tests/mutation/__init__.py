"""Mutation tests: do the tests notice when a rule of the code is changed?

A mutant is the source with one small change; a test run that fails kills it, one that passes lets it survive. `python -m
tests.mutation --room controllers --count 50 --seed 7` tries 50 of them. mutmut and cosmic-ray do not fit: mutmut wraps
every function in a trampoline, which the stacks that this project reads would show, and cosmic-ray changes the checkout
and runs one command for all mutants; neither draws by a seed nor chooses single tests by the lines that they reach.
"""
