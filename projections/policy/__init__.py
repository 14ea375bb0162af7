"""Who may see what, and what a writer may do: eligibility, readers, mutes, quarantine."""
