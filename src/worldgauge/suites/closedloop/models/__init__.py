"""World models of the suite's own: references and deliberately wrong ones."""
