"""What was done before: uses, links between what was used together, and requests that point back."""
