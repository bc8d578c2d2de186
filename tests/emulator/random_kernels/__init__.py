"""Random kernels, and the host as the truth of what they compute."""
