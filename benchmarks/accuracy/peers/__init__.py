"""Other libraries, each as a user would call it: ``run(problem, log_prob, budget, seed)`` returns 200 points."""
