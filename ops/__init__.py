"""The operator's side: command line, embedded server, supervisor, replay, bench and evaluation."""
