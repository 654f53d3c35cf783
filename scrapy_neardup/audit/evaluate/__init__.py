"""How well labelled pairs are told apart."""
