"""What the fields of a kind are: types, lists and their keys, what may be unknown; of built-in and of custom kinds
alike."""
