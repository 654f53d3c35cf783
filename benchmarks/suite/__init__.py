"""The rows of the benchmark: each module measures one kind of work by a function ``measure(form)``."""
