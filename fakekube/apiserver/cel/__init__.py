"""The Common Expression Language with the libraries of Kubernetes (`cel-go`, `apiserver/pkg/cel`).

`parser` parses expressions, `checker` checks their types, `cost` estimates their cost, `evaluate` compiles them to
Python closures, and `environment` defines the variables of admission expressions. Hostile expressions are limited in
size, depth, estimated cost and actual cost.

The errors of the real server require a type checker over the types of the schema (`undefined field 'b'`, `found no
matching overload for '_>_' applied to '(int, string)'`), a cost estimate over the checked tree, and the functions of
Kubernetes. No package on PyPI provides all of them: `cel-python` has no checker, `cel-expr-python` wraps the C++
runtime, requires protobuf descriptors and hides the tree, and `common-expression-language` wraps a Rust interpreter
without a checker.
"""
