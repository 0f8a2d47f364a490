"""A family for each column of a table: facts about its values, candidates, and how well each predicts."""
