"""The demo: every suite on a small data set, with references that it ranks, and a page that leads to the reports."""
