"""CEL as the API server has it: rules of custom resources (`x-kubernetes-validations`), with Kubernetes' libraries.

Why an evaluator of our own. What the server says of a rule comes from three places that no package on PyPI has
together: a type checker over the schema's own types (`undefined field 'b'`, `found no matching overload for '_>_'
applied to '(int, string)'`), an estimate of a rule's worst cost over the checked tree, and the server's own functions
(lists, regular expressions, URLs, quantities, addresses, versions, formats). `cel-python` is pure, but has no checker
and takes 400 µs for a rule of two comparisons; `cel-expr-python` wraps the C++ runtime, types objects by protobuf
descriptors and shows no tree; `common-expression-language` wraps a Rust interpreter without a checker. A rule here
compiles to Python closures and runs in microseconds.

`syntax` parses, `checker` gives types, `cost` estimates, `evaluate` makes a function of it, `rules` applies it to a
schema's values. Nothing here waits, and hostile expressions meet limits: size, depth, estimated cost, actual cost.
"""
