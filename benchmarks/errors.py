"""The one error that benchmarks raise on purpose."""


class BenchmarkError(Exception):
    """A benchmark that cannot run here; its text says what to do."""
