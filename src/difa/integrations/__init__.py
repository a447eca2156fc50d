"""DiFA where people already work: data frames, scikit-learn, spaCy, assistants. Thin, and each imported only where it is used."""
