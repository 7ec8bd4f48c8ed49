"""Voting between agents on builds for the same brief.

`vote` holds the vote, `ballots` that on one brief; the Swiss tournament and its scores are `metrics.tournament`.
"""
