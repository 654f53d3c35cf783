"""What is killed: writers and commands of an index, crawls and audits, a server and its clients."""
