"""Wrong programs, each with the whole message that its author sees."""
