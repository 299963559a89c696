"""Ways to tell a model without recurrence where in the sentence a token stands."""
