"""Tables: columns, cells and the conversion of objects."""
