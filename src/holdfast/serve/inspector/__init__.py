"""The inspector: pages that show what is remembered, why, and how the gates behave, and let a person act on it."""
