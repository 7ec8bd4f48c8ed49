"""What decides: proposers, revisers, answerers; scripted ones and language models side by side."""
