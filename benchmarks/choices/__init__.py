"""What `schemes.py`, `defaults.py` and `quality.py` measure: the tables that choices rest on."""
