"""Time in questions: what a question asks for besides its words. docs/when.md tells how it is used."""

from __future__ import annotations

from holdfast.recall.when.asked import Anchor, Asked, Order, Recency, Relation, Window
from holdfast.recall.when.question import read_question

__all__ = ["Anchor", "Asked", "Order", "Recency", "Relation", "Window", "read_question"]
