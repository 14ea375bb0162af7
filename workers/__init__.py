"""The background: RQ jobs and their schedule, and the importers of skills and notes."""
