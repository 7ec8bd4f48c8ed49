"""Single files that run published policies of an arm in the policies' own environments."""
