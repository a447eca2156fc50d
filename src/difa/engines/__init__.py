"""Many documents: engines that read, score and write more than memory holds."""
