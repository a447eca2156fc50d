"""Results -> what people look at."""
