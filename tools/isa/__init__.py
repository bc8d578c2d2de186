"""Parts of tools/generate_isa.py that the tests of the tables use too."""
