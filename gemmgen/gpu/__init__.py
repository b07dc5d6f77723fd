"""Running and timing kernels on the GPU that is here."""
