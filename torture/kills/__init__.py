"""What is killed: writers and commands of an index, crawls and audits, a server and its clients."""

#: A round begins nothing new after so many seconds.
BUDGET = 60.0
