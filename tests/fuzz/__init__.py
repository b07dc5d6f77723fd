"""Fuzzing: specs near the committed ones are refused by name, or their kernels equal torch.

hypothesis draws a committed spec, changes one to three of its keys to values that the format
allows, and draws a schedule: a timing policy with its target, a seed, a small problem. A spec that
`gemmgen check` accepts must render, compile and give exact results under that schedule. Anything
else is a fault of the checker, the plan or the templates.

``python -m fuzz`` (with ``tests`` on the path, or ``make fuzz``) runs until it is told to stop;
``pytest tests/fuzz`` runs a fixed part.
"""
