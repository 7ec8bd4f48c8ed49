"""What is seen of a scene on the way: the floor explored so far, open headings, and marks of landmarks."""
