"""The ways of moving rows; each says what it needs of a device."""
