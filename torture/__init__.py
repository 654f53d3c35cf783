"""A harness that tries to make the package lose or damage something, and counts how often it failed to.

`python -m torture --help` says how to run it; `torture/exercise.py` says what an exercise is.
"""
