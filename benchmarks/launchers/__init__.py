"""What bench_launch.py measures, and how."""
