"""Benchmarks: printed, never asserted, since a shared machine decides the figures."""
