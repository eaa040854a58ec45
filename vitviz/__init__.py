"""vitviz: see, touch and train Vision Transformers. Importing it loads nothing heavy."""
