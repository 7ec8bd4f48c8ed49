"""What policies that ask a language model share: prompts filled, replies read, pictures drawn, endpoints opened."""
