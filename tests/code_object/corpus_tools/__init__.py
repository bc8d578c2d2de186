"""What make_corpus.py is made of."""
