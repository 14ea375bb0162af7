"""How good the pushes are: worlds and sets played back, figures and their statistics, reports, training."""
