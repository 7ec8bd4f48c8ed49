"""Tools for authors: conformance checks of models, and studies of metrics."""
